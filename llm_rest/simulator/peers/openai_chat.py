"""What OpenAI's Chat Completions API and the hosts that speak its dialects refuse.

Follows the Chat Completions reference (read 2026-11-20) and the facts of the dialect; reasoning that comes back is judged in
`chat_reasoning.py`. Before changing this file, know that it must accept whatever the real API accepted:
`tests/test_simulator_peers.py` feeds it every recorded request.
"""

from __future__ import annotations

import re
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, cast

from ...errors import ErrorFacts
from ...vendors.dialects import OPENAI
from ...vendors.models import capabilities
from . import schemas
from .chat_reasoning import altered, finished
from .plain import Plain, rows, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...server.handler import Context
    from ...vendors.dialects import ChatDialect

__all__ = ["finished", "problems", "refusal", "unknown_model", "wrong_key"]

PARAMETERS = set(
    """
    model messages max_completion_tokens max_tokens temperature top_p frequency_penalty presence_penalty stop n seed
    logit_bias logprobs top_logprobs stream stream_options tools tool_choice parallel_tool_calls functions function_call
    response_format reasoning_effort verbosity modalities audio prediction web_search_options service_tier store metadata
    prompt_cache_key prompt_cache_retention prompt_cache_options safety_identifier user moderation
    """.split()
)
"""The parameters of the API itself; its dialects have more."""

PARTS = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
    "function": ("text",),
}
"""The parts a message of a role may hold."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def _invalid(message: str, param: str | None = None, code: str | None = None) -> ErrorFacts:
    return ErrorFacts(status=400, message=message, type="invalid_request_error", param=param, code=code)


def unknown_model(model: str) -> ErrorFacts:
    """The error for a model that does not exist."""
    message = f"The model `{model}` does not exist or you do not have access to it."
    return ErrorFacts(status=404, message=message, type="invalid_request_error", code="model_not_found")


def wrong_key(key: str) -> ErrorFacts:
    """The error for a key that is not valid."""
    message = f"Incorrect API key provided: {key}."
    return ErrorFacts(status=401, message=message, type="invalid_request_error", code="invalid_api_key")


def refusal(document: Plain, context: Context) -> ErrorFacts | None:
    """Why the API would refuse this request."""
    judged = (problems(document, context), map(_invalid, altered(document, context.dialect)), _unsimulated(document))
    return next(chain(*judged), None)


def _unsimulated(document: Plain) -> Iterator[ErrorFacts]:
    """What the API has and the simulated model has not."""
    if document.get("n") not in (None, 1):
        yield _invalid("The simulator gives one choice, not more: leave out `n`.", "n", "unsupported_value")
    if "audio" in (document.get("modalities") or ()):
        yield _invalid("The simulator does not speak: ask for text only.", "modalities", "unsupported_value")


def problems(document: Plain, context: Context) -> Iterator[ErrorFacts]:
    """Everything wrong with a request, leaving aside reasoning that came back."""
    yield from _options(document, context)
    yield from _tools(document, context.dialect)
    if "messages" not in document:
        yield _invalid("Missing required parameter: 'messages'.", "messages", "missing_required_parameter")
        return
    messages = rows(document["messages"])
    if not messages:
        wrong = "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array."
        yield _invalid(wrong, "messages", "empty_array")
    for i, message in enumerate(messages):
        yield from _message(message, f"messages.[{i}]", context.dialect)
    yield from _pairs(messages, context.dialect)
    roles = [message.get("role") for message in messages]
    if context.dialect.alternates and any(one == two == "user" for one, two in pairwise(roles)):
        yield _invalid("After the (optional) system message(s), user and assistant roles should alternate.", "messages")


# --- options and tools ----------------------------------------------------------------------------------------------


def _options(document: Plain, context: Context) -> Iterator[ErrorFacts]:
    dialect: ChatDialect = context.dialect
    strange = [name for name in document if _strange(name, dialect)]
    if strange:
        many = "s" if len(strange) > 1 else ""
        yield _invalid(f"Unrecognized request argument{many} supplied: {', '.join(sorted(strange))}")
    if "max_tokens" in document and dialect.issuer == OPENAI and capabilities(str(document.get("model"))).reasoning:
        yield _invalid(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        )
    if document.get("stream_options") and not document.get("stream"):
        yield _invalid("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    if document.get("parallel_tool_calls") is not None and not document.get("tools"):
        yield _invalid(
            "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
            "parallel_tool_calls",
        )
    if document.get("top_logprobs") and not document.get("logprobs"):
        message = "Invalid value for 'top_logprobs': only allowed when 'logprobs' is enabled."
        yield _invalid(message, "top_logprobs", "invalid_value")
    stop = document.get("stop")
    if isinstance(stop, list) and len(cast("Any", stop)) > 4:
        yield _invalid(
            "Invalid 'stop': array too long. Expected an array with maximum length 4.", "stop", "array_above_max_length"
        )
    if dialect.metadata_needs_store and document.get("metadata") and not document.get("store"):
        yield _invalid("The 'metadata' parameter is only allowed when 'store' is enabled.", "metadata")
    format = table(document.get("response_format"))
    if format.get("type") == "json_schema":
        wanted = table(format.get("json_schema"))
        if not _NAME.fullmatch(wanted.get("name") or ""):
            name = "response_format.json_schema.name"
            yield _invalid(f"Missing required parameter: '{name}'.", name, "missing_required_parameter")
        if wanted.get("strict"):
            for wrong in schemas.openai(wanted.get("schema")):
                yield _invalid(f"Invalid schema for response_format '{wanted.get('name')}': {wrong}", "response_format")
    elif format.get("type") == "json_object" and "json" not in str(document["messages"]).lower():
        yield _invalid(
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
            "messages",
        )


def _strange(name: str, dialect: ChatDialect) -> bool:
    """Whether the host has no such parameter. Other hosts than OpenAI have parameters of their own."""
    if name in dialect.lacks or (name not in PARAMETERS and dialect.issuer == OPENAI):
        return True
    return name == "max_completion_tokens" != dialect.max_tokens_field


def _tools(document: Plain, dialect: ChatDialect) -> Iterator[ErrorFacts]:
    names: set[str] = set()
    for i, tool in enumerate(rows(document.get("tools"))):
        if tool.get("type", "function") not in ("function", "custom"):
            continue
        inner = table(tool.get(tool.get("type", "function")))
        name = inner.get("name")
        path = f"tools[{i}].{tool.get('type', 'function')}"
        if not name:
            yield _invalid(f"Missing required parameter: '{path}.name'.", f"{path}.name", "missing_required_parameter")
            continue
        if not _NAME.fullmatch(name):
            message = f"Invalid '{path}.name': string does not match pattern. Expected '^[a-zA-Z0-9_-]+$'."
            yield _invalid(message, f"{path}.name", "invalid_value")
        if name in names:
            yield _invalid(f"Duplicate function name: '{name}'.", "tools", "invalid_value")
        names.add(name)
        if dialect.needs_parameters and "parameters" not in inner:
            yield _invalid(f"{path}.parameters: Field required", f"{path}.parameters")
        if inner.get("strict") and dialect.issuer == OPENAI:
            for wrong in schemas.openai(inner.get("parameters")):
                message = f"Invalid schema for function '{name}': {wrong}"
                yield _invalid(message, f"{path}.parameters", "invalid_function_parameters")
    choice = document.get("tool_choice")
    if choice not in (None, "none") and not names:
        yield _invalid(
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.", "tool_choice"
        )
    word = choice if isinstance(choice, str) else table(choice).get("type")
    if word is not None and word not in (*dialect.tool_choices, "any"):
        yield _invalid(
            f"Invalid value: '{word}'. Supported values are: {', '.join(dialect.tool_choices)}.", "tool_choice"
        )
    kind = table(choice).get("type")
    chosen = table(table(choice).get(kind)).get("name") if kind in ("function", "custom") else None
    if chosen is not None and chosen not in names:
        yield _invalid(f"Invalid value for 'tool_choice': no tool named '{chosen}'.", "tool_choice")


# --- messages -------------------------------------------------------------------------------------------------------


def _message(message: Plain, path: str, dialect: ChatDialect) -> Iterator[ErrorFacts]:
    role, content = message.get("role"), message.get("content")
    known = [name for name in PARTS if name != "developer" or dialect.system_role == "developer"]
    if role not in known:
        roles = ", ".join(f"'{name}'" for name in known)
        yield _invalid(f"Invalid value: '{role}'. Supported values are: {roles}.", f"{path}.role", "invalid_value")
        return
    called = message.get("tool_calls") or message.get("function_call") or message.get("audio") or message.get("refusal")
    if content is None and not (role == "assistant" and called) and role != "function":
        yield _invalid("Invalid value for 'content': expected a string, got null.", f"{path}.content")
    if isinstance(content, list) and role in dialect.plain_text:
        yield _invalid(
            f"Invalid type for '{path}.content': expected a string, but got an array instead.", f"{path}.content"
        )
    elif isinstance(content, list):
        for j, part in enumerate(rows(content)):
            if part.get("type") not in PARTS[role] and dialect.issuer == OPENAI:
                named = ", ".join(f"'{one}'" for one in PARTS[role])
                text = f"Invalid value: '{part.get('type')}'. Supported values are: {named}."
                yield _invalid(text, f"{path}.content[{j}]", "invalid_value")
            elif part.get("type") == "image_url" and not isinstance(part.get("image_url"), dict):
                text = f"Invalid type for '{path}.content[{j}].image_url': expected an object."
                yield _invalid(text, f"{path}.content[{j}].image_url", "invalid_type")
    if message.get("tool_calls") == [] and dialect.issuer == OPENAI:
        text = f"Invalid '{path}.tool_calls': empty array. Expected an array with minimum length 1."
        yield _invalid(text, f"{path}.tool_calls", "empty_array")


def _pairs(messages: list[Plain], dialect: ChatDialect) -> Iterator[ErrorFacts]:
    """Every call is answered by the tool messages right after it, and nothing else is."""
    asked: list[str] = []
    since = 0
    for i, message in enumerate([*messages, {"role": "end"}]):
        if message.get("role") == "tool":
            id = message.get("tool_call_id")
            if id not in asked:
                yield _invalid(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
                    f"messages.[{i}].role",
                )
            asked = [one for one in asked if one != id]
            continue
        if asked:
            yield _invalid(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
                f"The following tool_call_ids did not have response messages: {', '.join(asked)}",
                f"messages.[{since}].role",
            )
        calls = rows(message.get("tool_calls"))
        asked, since = [call["id"] for call in calls], i
        for j, one in enumerate(asked):
            path = f"messages[{i}].tool_calls[{j}].id"
            if dialect.exact_call_id and not re.fullmatch(f"[a-zA-Z0-9]{{{dialect.longest_call_id}}}", one):
                yield _invalid(
                    f"Tool call id was {one} but must be a-z, A-Z, 0-9, with a length of {dialect.longest_call_id}.",
                    path,
                )
            elif len(one) > dialect.longest_call_id and dialect.issuer == OPENAI:
                text = f"Invalid '{path}': string too long. Expected a maximum length of {dialect.longest_call_id}"
                yield _invalid(f"{text}, but got {len(one)} instead.", path, "string_above_max_length")
