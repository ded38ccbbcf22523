"""Writes `docs/clients.md` from the tests' own data: which client works in front of which wire, and why not where it does not.

python -m tests.clients.page            writes the page
python -m tests.clients.page --check    writes nothing; fails where the page is not what it would write
"""

from __future__ import annotations

import argparse
import inspect
import sys
from pathlib import Path

from llm_rest import wires

from .cases import CANNOT, CASES, ONLY
from .world import CLIENTS

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"

SDKS = {
    "openai.responses": 'openai.OpenAI(base_url=f"{url}/v1", api_key=token).responses',
    "openai.chat": 'openai.OpenAI(base_url=f"{url}/v1", api_key=token).chat.completions',
    "anthropic": "anthropic.Anthropic(base_url=url, api_key=token).messages",
    "google-genai": 'genai.Client(api_key=token, http_options={"base_url": url}).models',
    "ollama": 'ollama.Client(host=url, headers={"Authorization": f"Bearer {token}"})',
}
"""How each client is pointed at a gateway; the async ones likewise."""

INTRODUCTION = """\
# Clients

The official Python clients of the vendors work in front of [the gateway](gateway.md), unmodified, whatever wire the vendor behind
it speaks. This page is written by `python -m tests.clients.page` from the data of `tests/clients`, which plays every case below
with every client whose API has it in front of every wire, sync and async, whole and streamed (`make test-whole`; `make test`
takes all pairs of client, wire, case and way), against simulated vendors that reject what the real ones reject.
[Scripts](#other-clients) play clients that are not Python packages of a vendor.

| client | pointed at a gateway by |
|---|---|
"""

STATE = """\
## Loops and chats

Anthropic's tool runner requests a thread stored on the server; the gateway has none and answers with the error after which
the runner sends the whole conversation. Google's chats, with functions that they run themselves, and `previous_response_id`
of OpenAI's Responses work in front of every wire (`tests/clients/test_loops.py`).

## Other clients

These scripts install a client and test it in front of the gateway, with a simulated vendor on each of the five wires behind it.
They are not part of the test suite, because they download packages. Each prints a table and exits with 1 where something failed.

- `python tests/clients/vercel_ai.py` plays the Vercel AI SDK: two turns with a tool, whole and streamed, and an error in the
  middle of a stream, which the SDK has to raise, through its providers for OpenAI (Responses and Chat), Anthropic and Google.
  On 2026-11-22 all passed in front of every wire, with `ai` 6.0.326, `@ai-sdk/openai` 3.0.141, `@ai-sdk/anthropic` 3.0.139 and
  `@ai-sdk/google` 3.0.141. The default provider for OpenAI sends `item_reference` in its second turn; the one for Chat does not
  notice an error in a chunk that has `choices`, so the gateway sends it without.
- `python tests/clients/litellm_sdk.py` plays LiteLLM: two turns with a tool, whole and streamed, through its providers `openai`,
  `openai/responses`, `anthropic`, `gemini` and `ollama_chat`. On 2026-11-22 all passed in front of every wire, with 1.106.2.
  Through Ollama's API it sends results with ids that no call has. Streaming through `openai/responses` needs
  `litellm.register_model` with `supports_native_streaming` for the gateway's names: of a model that it does not know LiteLLM
  requests no stream, and imitates one in which the arguments of calls come twice.
- `python tests/clients/codex.py` plays the Codex command line: a task with a shell command.

## Opaque state

Thinking models sign their reasoning, and reject the results of their calls without it. Clients of Responses and Messages
return it, and so do clients of Chat Completions that return messages whole, with `reasoning_details`. For all others the
gateway stores it, separately for each caller, and restores it when the turn is sent back, identified by the ids of its calls,
else by its text and the messages before it. Where the gateway has deleted it, or stores nothing, the vendor gets the calls
under other ids and without reasoning, like those of another vendor; it does not reject them.

Reasoning is valid only in its place. It is omitted where the question before it has changed; for Anthropic's models also
where anything before it has changed, the system prompt included. A request is not rejected for a signature that the client
never got.

On the client's own wire calls keep their ids: a client of Chat Completions that drops `reasoning_details` which its vendor
requires is rejected by that vendor, as without a gateway, unless the gateway still has them.
"""


def page() -> str:
    """The page."""
    reasons = {reason: number for number, reason in enumerate(dict.fromkeys(CANNOT.values()), 1)}
    lines = [INTRODUCTION.rstrip("\n")]
    lines += [f"| `{name}` | `{SDKS[name]}` |" for name in CLIENTS]
    lines += ["", f"| in front of | {' | '.join(f'`{wire}`' for wire in wires.NAMES)} |", "|---" * 6 + "|"]
    for client in CLIENTS:
        cells = [_cell(client, behind, reasons) for behind in wires.NAMES]
        lines.append(f"| `{client}` | {' | '.join(cells)} |")
    lines += ["", *(f"{number}. {reason}" for reason, number in reasons.items())]
    lines += ["", f"The {len(CASES)} cases are these; where a client is named, only its API supports it:", ""]
    for case, played in CASES.items():
        name, _, told = (inspect.getdoc(played) or "").partition(": ")
        client = f" (`{ONLY[case]}`)" if case in ONLY else ""
        lines.append(f"- **{name}**{client}: {told}")
    return "\n".join([*lines, "", STATE])


def _cell(client: str, behind: str, reasons: dict[str, int]) -> str:
    """Whether everything works there, with the numbers of the reasons for what does not."""
    missing: list[str] = []
    for case, played in CASES.items():
        reason = CANNOT.get((client, behind, case))
        if reason:
            name = (inspect.getdoc(played) or "").partition(":")[0]
            missing.append(f"{name} ({reasons[reason]})")
    return f"all but {', '.join(missing)}" if missing else "all"


def main() -> int:
    """Write the page or check it, as the command line says."""
    parser = argparse.ArgumentParser(description="The page of clients.")
    parser.add_argument("--check", action="store_true", help="fail where the page is not up to date")
    if not parser.parse_args().check:
        PAGE.write_text(page())
    elif not PAGE.exists() or PAGE.read_text() != page():
        sys.stderr.write("docs/clients.md is out of date; run python -m tests.clients.page\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
