"""What the Gemini API refuses.

Follows the reference of `generateContent` and the guide to function calling (read 2026-11-20); signatures are judged in
`gemini_thoughts.py`. Before changing this file, know that it must accept whatever the real API accepted:
`tests/test_simulator_peers.py` feeds it every recorded request.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...errors import ErrorFacts
from . import gemini_thoughts
from .gemini_turns import Group, camel, groups_of, many
from .plain import Plain, table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ...responses import Response
    from ...server.handler import Context

__all__ = ["finished", "problems", "refusal", "unknown_model", "wrong_key"]

FIELDS = set(
    """
    contents systemInstruction tools toolConfig safetySettings cachedContent generationConfig labels serviceTier store
    continuationToken modelArmorConfig model
    """.split()
)
CONFIG = set(
    """
    temperature topP topK candidateCount maxOutputTokens stopSequences seed presencePenalty frequencyPenalty
    responseLogprobs logprobs responseMimeType responseSchema responseJsonSchema responseFormat responseModalities
    thinkingConfig mediaResolution speechConfig imageConfig audioTranscriptionConfig enableEnhancedCivicAnswers
    audioTimestamp routingConfig modelSelectionConfig modelConfig enableAffectiveDialog
    """.split()
)
DATA = (
    "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse"
).split()
"""What a part may hold, one of them."""
ABOUT = set(
    """
    thought thoughtSignature videoMetadata audioMetadata documentMetadata spreadsheetMetadata mediaResolution mediaProcessing
    speechMetadata audioTranscription partMetadata
    """.split()
)
"""What a part may say beside that."""
MODES = ("AUTO", "ANY", "NONE", "VALIDATED")

OLD = re.compile(r"(.*/)?gemini-(1|2)\b")
"""Models that take no schema and no tools of the vendor beside functions."""
PREFILL = re.compile(r"(.*/)?gemini-(1|2|3-|3\.1-|3\.5-flash(?!-lite))")
"""Models that continue a last content of the model's."""

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")


def _invalid(message: str, param: str | None = None) -> ErrorFacts:
    return ErrorFacts(status=400, message=message, type="INVALID_ARGUMENT", param=param)


def unknown_model(model: str) -> ErrorFacts:
    """The error for a model that does not exist."""
    message = f"models/{model} is not found for API version v1beta, or is not supported for generateContent."
    return ErrorFacts(status=404, message=message, type="NOT_FOUND")


def wrong_key(key: str) -> ErrorFacts:
    """The error for a key that is not valid, which this API calls a bad request."""
    message = f"API key not valid: {key}. Please pass a valid API key."
    return ErrorFacts(status=400, message=message, type="INVALID_ARGUMENT", code="API_KEY_INVALID")


def refusal(document: Plain, context: Context) -> ErrorFacts | None:
    """Why the API would refuse this request."""
    groups = groups_of(_asked(document))
    wrong = map(_invalid, gemini_thoughts.altered(groups, context.dialect.issuer))
    return next(chain(problems(document, context), wrong, _unsimulated(_asked(document))), None)


def _asked(document: Plain) -> Plain:
    """The request in its usual spelling. A request to count may hold it whole."""
    whole: Plain = camel(document)
    return table(whole.get("generateContentRequest")) or whole


def _unsimulated(document: Plain) -> Iterator[ErrorFacts]:
    """What the API has and the simulated model has not."""
    config = table(document.get("generationConfig"))
    if config.get("candidateCount") not in (None, 1):
        yield _invalid("The simulator gives one candidate, not more: leave out `candidateCount`.")
    if "AUDIO" in (config.get("responseModalities") or ()):
        yield _invalid("The simulator does not speak: ask for text only.")
    if document.get("cachedContent"):
        message = "CachedContent not found (or permission denied)"
        yield ErrorFacts(status=403, message=message, type="PERMISSION_DENIED")


def finished(response: Response, document: Plain, context: Context) -> Response:
    """`response` with its id as the vendor makes them, and with its signatures."""
    asked = _asked(document)
    return gemini_thoughts.finished(response, groups_of(asked), table(asked.get("generationConfig")), context)


def problems(document: Plain, context: Context) -> Iterator[ErrorFacts]:
    """Everything wrong with a request, leaving aside signatures that came back altered."""
    asked = _asked(document)
    model = context.model or asked.get("model") or ""
    yield from _unknown(asked, FIELDS - set(context.dialect.lacks), "")
    yield from _config(table(asked.get("generationConfig")))
    yield from _tools(asked, model)
    yield from _contents(asked)
    groups = groups_of(asked)
    yield from _turns(groups, model)
    yield from map(_invalid, gemini_thoughts.missing(groups, model))


def _unknown(found: Plain, known: Collection[str], path: str) -> Iterator[ErrorFacts]:
    for name in found:
        if name not in known:
            at = f" at '{path}'" if path else ""
            yield _invalid(f'Invalid JSON payload received. Unknown name "{name}"{at}: Cannot find field.', name)


# --- options and tools ----------------------------------------------------------------------------------------------


def _config(config: Plain) -> Iterator[ErrorFacts]:
    yield from _unknown(config, CONFIG, "generation_config")
    thinking = table(config.get("thinkingConfig"))
    if "thinkingBudget" in thinking and "thinkingLevel" in thinking:
        yield _invalid("You can only set only one of thinking budget and thinking level.")
    if "logprobs" in config and not config.get("responseLogprobs"):
        yield _invalid("logprobs may only be set when response_logprobs is true.")
    if len(config.get("stopSequences") or ()) > 5:
        yield _invalid("The number of stop sequences must be at most 5.")
    schemas = [name for name in ("responseSchema", "responseJsonSchema") if config.get(name) is not None]
    if len(schemas) == 2:
        yield _invalid("Only one of response_schema and response_json_schema may be set.")
    if schemas and config.get("responseMimeType") not in ("application/json", "text/x.enum"):
        yield _invalid("A response schema is supported only with the response mime type 'application/json'.")


def _tools(asked: Plain, model: str) -> Iterator[ErrorFacts]:
    tools = many(asked.get("tools"))
    functions = [one for tool in tools for one in many(tool.get("functionDeclarations"))]
    hosted = sorted({name for tool in tools for name in tool if name != "functionDeclarations"})
    names: set[str] = set()
    for function in functions:
        name = function.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            yield _invalid(f"Invalid function name {name!r}: it begins with a letter or an underscore.", "tools")
            continue
        if name in names:
            yield _invalid(f"Duplicate function declaration found: {name}", "tools")
        names.add(name)
        if "parameters" in function and "parametersJsonSchema" in function:
            yield _invalid(f"{name}: only one of parameters and parameters_json_schema may be set.", "tools")
        kind = table(function.get("parametersJsonSchema", function.get("parameters"))).get("type", "object")
        if str(kind).lower() != "object":
            yield _invalid(f"{name}: functionDeclaration parameters schema should be of type OBJECT.", "tools")
    config = table(asked.get("generationConfig"))
    if OLD.match(model) and functions and hosted:
        yield _invalid(f"Built-in tools ({', '.join(hosted)}) and Function Calling cannot be combined in one request.")
    if OLD.match(model) and tools and config.get("responseMimeType") == "application/json":
        yield _invalid("Function calling with a response mime type: 'application/json' is unsupported")
    if asked.get("cachedContent") and (tools or "systemInstruction" in asked or "toolConfig" in asked):
        yield _invalid("CachedContent can not be used with system_instruction, tools or tool_config.")
    calling = table(table(asked.get("toolConfig")).get("functionCallingConfig"))
    mode = str(calling.get("mode") or "AUTO").upper()
    allowed: Any = calling.get("allowedFunctionNames") or []
    if mode not in MODES:
        yield _invalid(f"Invalid value at 'tool_config.function_calling_config.mode': {mode!r}")
    if mode in ("ANY", "VALIDATED") and not functions and not hosted:
        yield _invalid("Function calling config is set without function_declarations.")
    if allowed and mode not in ("ANY", "VALIDATED"):
        yield _invalid("allowed_function_names may only be set when the mode is ANY or VALIDATED.")
    for name in allowed:
        if name not in names:
            yield _invalid(f"allowed_function_names holds {name!r}, no tool named so is declared.")


# --- contents -------------------------------------------------------------------------------------------------------


def _contents(asked: Plain) -> Iterator[ErrorFacts]:
    contents = many(asked.get("contents"))
    if not contents:
        yield _invalid("* GenerateContentRequest.contents: contents is not specified", "contents")
    for i, content in enumerate(contents):
        path = f"contents[{i}]"
        yield from _unknown(content, {"role", "parts"}, path)
        if content.get("role") not in (None, "user", "model", "function"):
            yield _invalid("Please use a valid role: user, model.", f"{path}.role")
        if not many(content.get("parts")):
            yield _invalid(f"* GenerateContentRequest.{path}.parts: {path}.parts must not be empty.", path)
    for group in groups_of(asked):
        for path, part in group.parts:
            yield from _part(path, part, group.role)


def _part(path: str, part: Plain, role: str) -> Iterator[ErrorFacts]:
    yield from _unknown(part, {*DATA, *ABOUT}, path)
    held = [name for name in DATA if name in part]
    if len(held) > 1:
        yield _invalid(f"Invalid value at '{path}' (oneof), oneof field 'data' is already set. Cannot set '{held[1]}'")
    if not held and "videoMetadata" not in part:
        yield _invalid(f"{path}.data: required oneof field 'data' must have one initialized field", path)
    for name, inner, owner in (("functionCall", "args", "model"), ("functionResponse", "response", "user")):
        if name not in part:
            continue
        value = table(part[name])
        if role != owner:
            yield _invalid(f"{path}: a {name} stands in a content of the role {owner!r}.", path)
        if not value.get("name"):
            yield _invalid(f"{path}.{name}.name: Name cannot be empty.", path)
        if not isinstance(value.get(inner, {}), dict):
            yield _invalid(f"Invalid value at '{path}.{name}.{inner}' (type.googleapis.com/google.protobuf.Struct)")
    if "inlineData" in part and not table(part["inlineData"]).get("mimeType"):
        yield _invalid(f"{path}.inline_data.mime_type: must be set", path)


def _turns(groups: list[Group], model: str) -> Iterator[ErrorFacts]:
    """Calls come after the user's turn, and their results, as many as they are, in the very next one."""
    for i, group in enumerate(groups):
        calls = group.having("functionCall")
        results = group.having("functionResponse")
        before = groups[i - 1].having("functionCall") if i else []
        if calls and i == 0:
            yield _invalid(
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
            )
        if group.role == "user" and len(results) != len(before):
            yield _invalid(
                "Please ensure that the number of function response parts is equal to the number of function call parts "
                "of the function call turn."
            )
        elif results and not _answer(results, before) and not OLD.match(model):
            yield _invalid("Please ensure that each function response has the name and the id of its function call.")
    if groups and groups[-1].role == "model" and not PREFILL.match(model):
        yield _invalid("This model does not take a conversation that ends with a content of the role 'model'.")


def _answer(results: list[Plain], calls: list[Plain]) -> bool:
    """Whether the results are those of the calls. The vendor's own client, where it runs functions itself, sends no ids."""
    named = any(result.get("id") for result in results)
    return sorted(_asks(one, named) for one in results) == sorted(_asks(one, named) for one in calls)


def _asks(call: Plain, named: bool) -> tuple[str, str]:
    return str(call.get("name")), str(call.get("id") or "") if named else ""
