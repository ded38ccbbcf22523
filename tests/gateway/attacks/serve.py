"""`python -m tests.gateway.attacks.serve URL CANNED`: two gateways to the vendor at that URL, of which the one with tokens keeps
conversations in a file, two with the default limits to the vendor at the other URL (one keeps conversations in a file), and a
simulator, until stdin ends.

A process of its own, so that its memory is its own. Prints where they are; its log, as verbose as it gets, is on stderr.
"""

from __future__ import annotations

import json
import logging
import sys
from tempfile import TemporaryDirectory
from typing import Any

from llm_rest import wires
from llm_rest.server.access import AccessControl, Limits
from llm_rest.server.app import serve_in_thread
from llm_rest.server.config import Config, Keep, Upstream
from llm_rest.server.gateway import Gateway
from llm_rest.server.logs import JSONLines
from llm_rest.simulator import Simulator

MiB = 1024 * 1024
LIMITS = Limits(
    body=8 * MiB, entries=40_000, bodies=24 * MiB, body_seconds=1.5, head_seconds=1.5, stall=4, concurrent=200
)


TOKENS = {"alice": "ATTACKED_ALICE", "bob": "ATTACKED_BOB"}

BEHIND = {
    "openai_responses": "openai",
    "openai_chat": "openai",
    "anthropic_messages": "anthropic",
    "gemini_generate_content": "google",
    "ollama_chat": "ollama",
}
"""The vendor whose key and dialect are used for each wire."""


def config(url: str, tokens: dict[str, str], keep: Keep) -> Config:
    """Models named after the wires, on which the vendor at that URL is asked, and one that never comes to an end."""

    def way(model: str, wire: str) -> Upstream:
        vendor = BEHIND[wire]
        base_url = f"{url}/v1" if vendor == "openai" else url
        return Upstream(model=f"{vendor}/{model}", base_url=base_url, wire=wire, key_env="ATTACKED_KEY")

    models: dict[str, Any] = {wire: way("x", wire) for wire in wires.NAMES}
    return Config(models={**models, "endless": way("endless", "openai_chat")}, tokens=tokens, limits=LIMITS, keep=keep)


def usual(canned: str, keep: Keep | None = None) -> Config:
    """The same models with the limits that a gateway has unless told otherwise, `calls-...`, which answer with many calls, and
    `large-...`."""
    models = dict(config(canned, {}, Keep()).models)
    for kind in ("calls", "large"):
        models |= {f"{kind}-{name}": model for name, model in config(f"{canned}/{kind}", {}, Keep()).models.items()}
    return Config(models=models, keep=keep or Keep())


def main(url: str, canned: str) -> None:
    out = logging.StreamHandler(sys.stderr)
    out.setFormatter(JSONLines())
    logging.basicConfig(level=logging.DEBUG, handlers=[out])
    with (
        TemporaryDirectory() as folder,
        serve_in_thread(Gateway(config(url, {}, Keep()))) as gateway,
        serve_in_thread(Gateway(config(url, TOKENS, Keep(path=f"{folder}/kept.sqlite")))) as guarded,
        serve_in_thread(Gateway(usual(canned))) as default,
        serve_in_thread(Gateway(usual(canned, Keep(path=f"{folder}/more.sqlite")))) as filed,
        serve_in_thread(Simulator(), access=AccessControl.at("127.0.0.1", limits=LIMITS)) as simulator,
    ):
        there = {"gateway": gateway, "guarded": guarded, "default": default, "filed": filed, "simulator": simulator}
        print(json.dumps(there), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:3])
