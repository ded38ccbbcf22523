"""What Anthropic's Messages API refuses.

Follows the Messages reference (read 2026-11-20); what it says about thoughts that come back is in `anthropic_thoughts.py`.
Before changing this file, know that it must accept whatever the real API accepted: `tests/test_simulator_peers.py` feeds it
every recorded request.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from ...errors import ErrorFacts
from . import schemas
from .anthropic_thoughts import THOUGHTS, finished, forged
from .anthropic_turns import Group, groups_of, latest
from .plain import Plain, rows, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...server.handler import Context

__all__ = ["finished", "problems", "refusal", "unknown_model", "wrong_key"]

VERSIONS = ("2023-06-01", "2026-10-21")

FIELDS = set(
    """
    model max_tokens messages system stream stop_sequences temperature top_p top_k tools tool_choice thinking
    output_config metadata cache_control service_tier speed inference_geo container diagnostics
    """.split()
)
"""What a request may hold without a beta header."""

BETA = {
    "mcp_servers": ("mcp-client-",),
    "context_management": ("context-management-", "compact-2026-01"),
    "compaction": ("compact-",),
    "fallbacks": ("server-side-fallback-",),
    "fallback_credit_token": ("fallback-credit-",),
    "thread": ("message-threads-",),
    "output_format": ("structured-outputs-",),
    "billing_policy": ("",),
}
"""Fields that need one of these names in `anthropic-beta`."""

PREFILL = re.compile(r"claude-[23]|claude-instant|(opus|sonnet|haiku)-4(-[015])?(-\d{8}|-latest|@.*)?$")
"""Models that continue a last message of the assistant's."""

NEVER_FORCED = re.compile(r"(opus|sonnet)-5[.-]5|(fable|mythos)-5[.-][12]|mythos-preview")
"""Models that cannot be made to call a tool."""

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def _invalid(message: str) -> ErrorFacts:
    return ErrorFacts(status=400, message=message, type="invalid_request_error")


def unknown_model(model: str) -> ErrorFacts:
    """The error for a model that does not exist."""
    return ErrorFacts(status=404, message=f"model: {model}", type="not_found_error")


def wrong_key(key: str) -> ErrorFacts:
    """The error for a key that is not valid."""
    return ErrorFacts(status=401, message="invalid x-api-key", type="authentication_error")


def refusal(document: Plain, context: Context) -> ErrorFacts | None:
    """Why the API would refuse this request."""
    wrong = map(_invalid, forged(document, context.dialect.issuer))
    return next(chain(problems(document, context), wrong, _unsimulated(document)), None)


def _unsimulated(document: Plain) -> Iterator[ErrorFacts]:
    """What the API has and the simulator, which remembers nothing, has not."""
    if document.get("thread"):
        message = "thread: the simulator keeps no threads"
        code = "thread_unsupported_request"
        yield ErrorFacts(status=400, message=message, type="invalid_request_error", code=code)


def problems(document: Plain, context: Context) -> Iterator[ErrorFacts]:
    """Everything wrong with a request, leaving signatures aside."""
    yield from _options(document, context)
    yield from _tools(document)
    yield from _messages(document)


# --- options and tools ----------------------------------------------------------------------------------------------


def _options(document: Plain, context: Context) -> Iterator[ErrorFacts]:
    version = context.headers.get("anthropic-version")
    if version is None:
        yield _invalid("anthropic-version: header is required")
    elif version not in VERSIONS:
        yield _invalid(f"anthropic-version: {version!r} is not a valid version")
    betas = [name.strip() for name in context.headers.get("anthropic-beta", "").split(",")]
    for field in document:
        asked = any(beta.startswith(BETA.get(field, "-")) for beta in betas)
        newer = version == "2026-10-21" and field in ("temperature", "top_p", "top_k")
        if newer or (field not in FIELDS and not asked):
            yield _invalid(f"{field}: Extra inputs are not permitted")
    for i, stop in enumerate(document.get("stop_sequences") or ()):
        if not stop.strip():
            yield _invalid(f"stop_sequences.{i}: each stop sequence must contain non-whitespace")
    marks = sum(1 for _ in _marked(document))
    if marks > 4:
        yield _invalid(f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")
    schema = table(table(document.get("output_config")).get("format")).get("schema")
    if schema is not None:
        yield from map(_invalid, schemas.anthropic(schema, "output_config.format.schema"))
    yield from _thinking(document)


def _thinking(document: Plain) -> Iterator[ErrorFacts]:
    thinking = table(document.get("thinking"))
    choice = table(document.get("tool_choice"))
    model, forced = document.get("model", ""), choice.get("type") in ("any", "tool")
    if forced and NEVER_FORCED.search(model):
        yield _invalid('tool_choice: type "tool" and "any" are not supported for this model.')
    if thinking.get("type") != "enabled":
        return
    budget = thinking.get("budget_tokens")
    if not isinstance(budget, int):
        yield _invalid("thinking.enabled.budget_tokens: Field required")
    elif budget < 1024:
        yield _invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    elif budget >= document.get("max_tokens", 0):
        yield _invalid("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if forced:
        yield _invalid("Thinking may not be enabled when tool_choice forces tool use.")


def _marked(value: Any) -> Iterator[None]:
    """One entry for every block that asks to be cached."""
    if isinstance(value, dict):
        block = cast("Plain", value)
        if block.get("cache_control"):
            yield None
        for name, inner in block.items():
            # What a tool is given and how it describes itself is the caller's own JSON.
            if name not in ("input", "input_schema"):
                yield from _marked(inner)
    elif isinstance(value, list):
        for inner in cast("Any", value):
            yield from _marked(inner)


def _tools(document: Plain) -> Iterator[ErrorFacts]:
    names: set[str] = set()
    strict = 0
    for i, tool in enumerate(rows(document.get("tools"))):
        name = tool.get("name")
        if name in names:
            yield _invalid("tools: Tool names must be unique.")
        if isinstance(name, str):
            names.add(name)
        if tool.get("type", "custom") != "custom":
            continue
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            yield _invalid(f"tools.{i}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        schema = tool.get("input_schema")
        if schema is None:
            yield _invalid(f"tools.{i}.custom.input_schema: Field required")
        elif table(schema).get("type") != "object":
            yield _invalid(f"tools.{i}.custom.input_schema.type: Input should be 'object'")
        if tool.get("strict"):
            strict += 1
            yield from map(_invalid, schemas.anthropic(schema, f"tools.{i}.custom"))
    if strict > 20:
        yield _invalid(f"Too many strict tools ({strict}). The maximum number of strict tools supported is 20.")
    choice = table(document.get("tool_choice"))
    if choice and not names and choice.get("type") in ("any", "tool") and not document.get("tools"):
        yield _invalid("tool_choice: may only be specified while providing tools.")
    if choice.get("type") == "tool" and names and choice.get("name") not in names:
        yield _invalid(f"Tool '{choice.get('name')}' not found in provided tools")


# --- messages -------------------------------------------------------------------------------------------------------


def _messages(document: Plain) -> Iterator[ErrorFacts]:
    messages = rows(document["messages"])
    if not messages:
        yield _invalid("messages: at least one message is required")
        return
    for i, message in enumerate(messages):
        if message["role"] not in ("user", "assistant", "system"):
            yield _invalid(f"messages.{i}.role: Input should be 'user', 'assistant' or 'system'")
        if not message["content"] and not (i == len(messages) - 1 and message["role"] == "assistant"):
            yield _invalid(
                f"messages.{i}: all messages must have non-empty content except for the optional final assistant message"
            )
    groups = groups_of(document)
    if groups[0].role != "user":
        yield _invalid('messages: first message must use the "user" role')
    yield from _blocks(groups)
    yield from _placement(groups)
    yield from _results(groups)
    yield from _end(groups, document)


def _blocks(groups: list[Group]) -> Iterator[ErrorFacts]:
    called: set[str] = set()
    for group in groups:
        # Models say blank text before a call, and recorded requests that send it back were accepted.
        calls = group.role == "assistant" and any(block.get("type") == "tool_use" for _, block in group.blocks)
        for path, block in group.blocks:
            kind = block.get("type")
            if kind == "text" and not block["text"]:
                yield _invalid(f"{path}.text: text content blocks must be non-empty".replace(".text:", ":"))
            elif kind == "text" and not block["text"].strip() and not calls:
                yield _invalid("messages: text content blocks must contain non-whitespace text")
            elif kind in THOUGHTS and block.get("cache_control"):
                yield _invalid(f"{path}.{kind}.cache_control: Extra inputs are not permitted")
            elif kind == "tool_use":
                if not _ID.fullmatch(block["id"]):
                    yield _invalid(f"{path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
                if block["id"] in called:
                    yield _invalid("messages: `tool_use` ids must be unique")
                if not isinstance(block.get("input"), dict):
                    yield _invalid(f"{path}.tool_use.input: Input should be an object")
                called.add(block["id"])
            elif kind == "image":
                yield from _image(path, table(block.get("source")))
            if kind in (*THOUGHTS, "tool_use") and group.role != "assistant":
                yield _invalid(f"{path}: `{kind}` blocks can only be in `assistant` messages")
            if kind == "tool_result" and group.role != "user":
                yield _invalid(f"{path}: `tool_result` blocks can only be in `user` messages")


def _image(path: str, source: Plain) -> Iterator[ErrorFacts]:
    allowed = ("image/jpeg", "image/png", "image/gif", "image/webp")
    if source.get("type") == "base64" and source.get("media_type") not in allowed:
        words = ", ".join(f"'{kind}'" for kind in allowed[:-1])
        yield _invalid(f"{path}.image.source.base64.media_type: Input should be {words} or '{allowed[-1]}'")


def _placement(groups: list[Group]) -> Iterator[ErrorFacts]:
    """A system message in the conversation stands after a user's turn and before the assistant's, or last."""
    for i, group in enumerate(groups):
        if group.role != "system" or i == 0:
            continue
        before, after = groups[i - 1], groups[i + 1] if i + 1 < len(groups) else None
        ended = before.blocks[-1][1].get("type", "") if before.blocks else ""
        if before.role != "user" and not ended.endswith("_tool_result"):
            yield _invalid("messages: a `system` message must follow a `user` message")
        elif after is not None and after.role != "assistant":
            yield _invalid("messages: a `system` message must be followed by an `assistant` message or be the last one")


def _results(groups: list[Group]) -> Iterator[ErrorFacts]:
    """Every call is answered at the start of the very next message, and nothing else is."""
    asked: list[str] = []
    for i, group in enumerate(groups):
        kinds = [block.get("type") for _, block in group.blocks]
        results = [(path, block["tool_use_id"]) for path, block in group.blocks if block.get("type") == "tool_result"]
        for path, answered in results:
            if answered not in asked:
                yield _invalid(
                    f"{path}: unexpected `tool_use_id` found in `tool_result` blocks: {answered}. Each `tool_result` "
                    "block must have a corresponding `tool_use` block in the previous message."
                )
        if len({answered for _, answered in results}) < len(results):
            yield _invalid("messages: each tool_use must have a single result. Found multiple `tool_result` blocks")
        open_ids = [one for one in asked if one not in {answered for _, answered in results}]
        late = kinds[: len(results)] != ["tool_result"] * len(results)
        if open_ids or (late and asked):
            yield _invalid(
                f"messages.{i - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(open_ids or asked)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )
        asked = [block["id"] for _, block in group.blocks if block.get("type") == "tool_use"]
    if asked:
        yield _invalid(
            f"messages.{len(groups) - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(asked)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
        )


def _end(groups: list[Group], document: Plain) -> Iterator[ErrorFacts]:
    """What the last message may be, and how the last turn of the assistant begins."""
    last = groups[-1]
    thinking = table(document.get("thinking")).get("type")
    if last.role == "assistant" and last.blocks:
        kinds = {block.get("type", "") for _, block in last.blocks}
        paused = any(kind in ("server_tool_use", "mcp_tool_use") for kind in kinds)
        if not paused and not PREFILL.search(document.get("model", "")):
            yield _invalid(
                "This model does not support assistant message prefill. The conversation must end with a user message."
            )
        final = last.blocks[-1][1]
        if final.get("type") == "text" and final["text"] != final["text"].rstrip():
            yield _invalid("messages: final assistant content cannot end with trailing whitespace")
    if thinking == "enabled" and _answering(groups):
        path, first = groups[latest(groups)].blocks[0]
        if first.get("type") not in THOUGHTS:
            yield _invalid(
                f"{path}.type: Expected `thinking` or `redacted_thinking`, but found `{first.get('type')}`. When `thinking` "
                "is enabled, a final `assistant` message must start with a thinking block (preceding the lastmost set of "
                "`tool_use` and `tool_result` blocks)."
            )


def _answering(groups: list[Group]) -> bool:
    return groups[-1].role == "user" and latest(groups) >= 0
