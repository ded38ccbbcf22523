"""The options of a request: sampling, thinking, the form of the answer, and the choice among the tools.

Each option has its way there and back side by side. An option that one field of ours cannot spell exactly (a thinking budget,
say) is also kept as it was, under `spelling` in the leftovers, and used again as long as it still says what the field says.
Before changing this file, know that an option a model does not take fails the whole request, so it stays behind and is
reported. Follows the references of `GenerationConfig` and `ToolConfig` and the guide to thinking (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET

from ...responses.request import JsonObjectFormat, JsonSchemaFormat, ReasoningOptions, Request, TextFormat, TextOptions
from ...responses.tools import ChooseAllowed, ChooseCustom, ChooseFunction, ChooseMcp, ToolChoice
from ...unknown import Unknown, given
from . import types
from .carried import plain, restored
from .names import wire_name
from .schema import fitted, from_openapi

if TYPE_CHECKING:
    from ...unknown import Opt
    from .media import Context
    from .tools import Offer

JSON = "application/json"
ENUM = "text/x.enum"
LOGPROBS = "message.output_text.logprobs"
INCLUDED = frozenset({"reasoning.encrypted_content", "web_search_call.action.sources", "code_interpreter_call.outputs"})
"""What can be asked to be included and always is."""

BUDGETS = {"minimal": 512, "low": 1024, "medium": 8192, "high": 24_576, "xhigh": 28_672, "max": 32_768}
"""Tokens to think with by effort, for models that are told a number."""
DYNAMIC = -1
DYNAMIC_EFFORT = "medium"
"""What is said for a model that decides itself how much to think."""

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Efforts from little to much; the last is spelled `XHIGH` too."""

MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
"""Words of the tool choice, ours on the left."""
MODES_BACK = {theirs: ours for ours, theirs in MODES.items()}


# --- sampling and limits --------------------------------------------------------------------------------------------

SAMPLING = {"temperature": "temperature", "top_p": "top_p", "top_k": "top_k"}
PENALTIES = {"presence_penalty": "presence_penalty", "frequency_penalty": "frequency_penalty"}


def encode_sampling(request: Request, config: types.GenerationConfig, spelled: types.Json, context: Context) -> None:
    """Set the numbers of a request that the model takes."""
    for names, taken in ((SAMPLING, context.model.sampling), (PENALTIES, context.model.penalties)):
        for name in names:
            value = getattr(request, name)
            if not given(value):
                continue
            if taken:
                written = spelled.get(name)
                setattr(config, name, written if written == value else value)
            elif name in SAMPLING or value:
                context.lost.dropped(name, "this model takes no such option")
    if given(request.max_output_tokens):
        config.max_output_tokens = request.max_output_tokens
    if given(request.seed):
        config.seed = request.seed
    if given(request.stop):
        config.stop_sequences = [request.stop] if isinstance(request.stop, str) else list(request.stop)


def decode_sampling(config: types.GenerationConfig, request: Request, spelled: types.Json) -> None:
    """Set on a request the numbers that a document gives."""
    for name in (*SAMPLING, *PENALTIES, "max_output_tokens", "seed"):
        value = getattr(config, name)
        if value is UNSET:
            continue
        if name == "top_k" and isinstance(value, float):
            spelled[name] = value
            value = int(value)
        setattr(request, name, value)
    request.stop = config.stop_sequences


def encode_logprobs(request: Request, config: types.GenerationConfig, context: Context) -> None:
    """Ask for probabilities, and report what else should be included."""
    include = request.include or ()
    if LOGPROBS in include or request.top_logprobs:
        config.response_logprobs = True
        if LOGPROBS not in include:
            context.lost.emulated("top_logprobs", "probabilities, which are also asked for")
        if given(request.top_logprobs):
            config.logprobs = request.top_logprobs
    elif given(request.top_logprobs):
        context.lost.dropped("top_logprobs", "no alternatives of probabilities nobody asked for")
    for j, name in enumerate(include):
        if name != LOGPROBS and name not in INCLUDED:
            context.lost.dropped(f"include[{j}]", f"{name!r}, which this wire cannot include")


def decode_logprobs(config: types.GenerationConfig, request: Request, left: types.Json) -> None:
    """Set on a request which probabilities a document asks for."""
    request.top_logprobs = config.logprobs
    if config.response_logprobs:
        request.include = [LOGPROBS]
    elif config.response_logprobs is not UNSET:
        left["responseLogprobs"] = config.response_logprobs


# --- thinking -------------------------------------------------------------------------------------------------------


def encode_thinking(request: Request, spelled: types.Json, context: Context) -> Opt[types.ThinkingConfig]:
    """`thinkingConfig`: as it was spelled, where that still says what the request says."""
    written = spelled.get("thinkingConfig")
    if written is not None:
        found = restored(types.ThinkingConfig, written)
        if found is not None and decode_thinking(found) == request.reasoning:
            return found
    asked = request.reasoning
    if not given(asked):
        return UNSET
    lost, config = context.lost, types.ThinkingConfig()
    for name in ("generate_summary", "context", "mode"):
        if given(getattr(asked, name)):
            lost.dropped(f"reasoning.{name}", "this wire has no such option")
    if given(asked.effort):
        _effort(asked.effort, config, context)
    if given(asked.summary):
        if not (context.model.levels or context.model.budgets):
            lost.dropped("reasoning.summary", "this model does not think")
        else:
            config.include_thoughts = True
            if asked.summary != "auto":
                lost.changed("reasoning.summary", "this wire has one kind of summary")
    return UNSET if config == types.ThinkingConfig() else config


def _effort(effort: str, config: types.ThinkingConfig, context: Context) -> None:
    lost, model = context.lost, context.model
    if not (model.levels or model.budgets):
        lost.dropped("reasoning.effort", "this model does not think")
    elif model.budgets:
        least, most = model.budgets
        if effort == "none" and not model.always_thinks:
            config.thinking_budget = 0
            return
        wanted = BUDGETS.get(effort, 0 if effort == "none" else BUDGETS[DYNAMIC_EFFORT])
        config.thinking_budget = min(max(wanted, least), most)
        if decode_budget(config.thinking_budget) != effort:
            lost.changed("reasoning.effort", f"the nearest this model has is {config.thinking_budget} tokens")
    else:
        level = nearest(effort, model.levels)
        config.thinking_level = level.upper()
        if level != effort:
            lost.changed("reasoning.effort", f"this model has no effort {effort!r}; it is asked for {level!r}")


def nearest(effort: str, levels: tuple[str, ...]) -> str:
    """The level of a model that is next to an effort: itself, else the next one above, else the highest."""
    if effort in levels or effort not in EFFORTS:
        return effort
    above = [level for level in levels if EFFORTS.index(level) >= EFFORTS.index(effort)]
    return above[0] if above else levels[-1]


def decode_thinking(config: types.ThinkingConfig) -> Opt[ReasoningOptions]:
    """What a thinking configuration asks of reasoning."""
    found = ReasoningOptions()
    if given(config.thinking_level):
        found.effort = config.thinking_level.lower()
    elif given(config.thinking_budget):
        found.effort = decode_budget(config.thinking_budget)
    if config.include_thoughts:
        found.summary = "auto"
    return UNSET if found == ReasoningOptions() else found


def decode_budget(budget: int) -> str:
    """The effort that a number of tokens to think with means."""
    if budget == DYNAMIC:
        return DYNAMIC_EFFORT
    if budget <= 0:
        return "none"
    return next((effort for effort, most in BUDGETS.items() if budget <= most), "max")


# --- the form of the answer -----------------------------------------------------------------------------------------


def encode_format(
    request: Request, config: types.GenerationConfig, offer: Offer, spelled: types.Json, context: Context
) -> None:
    """Ask for JSON, with a schema where there is one."""
    lost, text = context.lost, request.text
    written = spelled.get("format")
    if written is not None:
        found = restored(types.GenerationConfig, written)
        if found is not None and decode_format(found) == text:
            for name in ("response_mime_type", "response_schema", "response_json_schema"):
                setattr(config, name, getattr(found, name))
            return
    if not given(text):
        return
    if given(text.verbosity):
        lost.dropped("text.verbosity", "this wire has no such option")
    match text.format:
        case JsonSchemaFormat(schema=dict(schema)) as asked:
            config.response_mime_type = JSON
            config.response_json_schema = fitted(schema, lost, "text.format.schema")
            if given(asked.description):
                lost.dropped("text.format.description", "a schema of this wire is not described")
            if asked.strict is False:
                lost.changed("text.format.strict", "a schema of this wire is always enforced")
        case JsonSchemaFormat():
            config.response_mime_type = JSON
            lost.changed("text.format", "a schema that is not there; any JSON is asked for")
        case JsonObjectFormat():
            config.response_mime_type = JSON
        case Unknown():
            lost.refused("text.format", f"the format {text.format.type!r}, which this wire does not know")
        case _:
            return
    if offer.tools and not context.model.mixes_tools:
        lost.refused("text.format", "this model takes tools or a form for the answer, not both")


def decode_format(config: types.GenerationConfig) -> Opt[TextOptions]:
    """The form of the answer that a document asks for."""
    schema: Any = config.response_json_schema
    if given(config.response_schema):
        schema = from_openapi(config.response_schema)
    if isinstance(schema, dict):
        named = cast("types.Json", schema).get("title")
        plainly = isinstance(named, str) and named.isidentifier() and named.isascii() and len(named) <= 64
        name = cast("str", named) if plainly else "answer"
        return TextOptions(format=JsonSchemaFormat(name=name, schema=cast("types.Json", schema), strict=True))
    if config.response_mime_type == JSON:
        return TextOptions(format=JsonObjectFormat())
    if config.response_mime_type == "text/plain":
        return TextOptions(format=TextFormat())
    return UNSET


def spells_format(config: types.GenerationConfig) -> bool:
    """Whether a document asks for the form of its answer in another way than we would."""
    told, schema = config.response_mime_type, cast("Any", config.response_json_schema)
    if isinstance(schema, dict) and config.response_schema is UNSET:
        return told != JSON
    return told not in (JSON, UNSET) or config.response_schema is not UNSET or schema is not UNSET


# --- the choice among the tools -------------------------------------------------------------------------------------


def encode_choice(
    request: Request, offer: Offer, spelled: types.Json, context: Context
) -> Opt[types.FunctionCallingConfig]:
    """How the model chooses: as it was spelled, where that still says what the request says."""
    choice = request.tool_choice
    written = spelled.get("functionCallingConfig")
    if written is not None:
        found = restored(types.FunctionCallingConfig, written)
        if found is not None and decode_choice(found) == choice and is_strict(found) == offer.strict:
            return found
    if not offer.functions:
        if choice not in (UNSET, None, "auto"):
            context.lost.dropped("tool_choice", "a choice among functions where there are none")
        return UNSET
    config = _chosen(choice, context)
    if offer.strict and config.mode in (UNSET, "AUTO"):
        config.mode = "VALIDATED"
    held = is_strict(config)
    for path, strict in offer.held.items():
        if strict is not UNSET and strict is not held:
            context.lost.changed(f"{path}.strict", "with this choice all functions are held to their schemas, or none")
    return UNSET if config == types.FunctionCallingConfig() else config


def _chosen(choice: Opt[ToolChoice], context: Context) -> types.FunctionCallingConfig:
    match choice:
        case str() if choice in MODES:
            return types.FunctionCallingConfig(mode=MODES[choice])
        case ChooseFunction(name=name) | ChooseCustom(name=name):
            if isinstance(choice, ChooseCustom):
                context.lost.emulated("tool_choice", "a custom tool is chosen as a function")
            return types.FunctionCallingConfig(mode="ANY", allowed_function_names=[wire_name(name)])
        case ChooseAllowed():
            return _allowed(choice, context)
        case ChooseMcp() | Unknown() | str():
            context.lost.dropped("tool_choice", "a choice this wire does not have; the model chooses")
        case _:
            pass
    return types.FunctionCallingConfig()


def _allowed(choice: ChooseAllowed, context: Context) -> types.FunctionCallingConfig:
    lost, names = context.lost, list[str]()
    for j, entry in enumerate(choice.tools):
        if entry.get("type") in ("function", "custom") and isinstance(entry.get("name"), str):
            names.append(wire_name(entry["name"]))
        else:
            lost.dropped(f"tool_choice.tools[{j}]", "only functions can be chosen on this wire")
    mode = choice.mode if given(choice.mode) else "auto"
    if mode == "required" and len(names) == 1:
        lost.changed("tool_choice", "the one allowed function is asked for by its name")
    if mode == "none":
        return types.FunctionCallingConfig(mode="NONE")
    if not names:
        lost.refused("tool_choice.tools", "none of the allowed tools can be named on this wire")
    # Without enforced schemas the model cannot be kept to some functions: only VALIDATED and ANY take names.
    return types.FunctionCallingConfig(mode="ANY" if mode == "required" else "VALIDATED", allowed_function_names=names)


def decode_choice(config: types.FunctionCallingConfig) -> Opt[ToolChoice]:
    """The choice in Responses."""
    mode = config.mode.upper() if given(config.mode) else "AUTO"
    names = config.allowed_function_names
    if mode in ("ANY", "VALIDATED") and names:
        if mode == "ANY" and len(names) == 1:
            return ChooseFunction(name=names[0])
        tools = [{"type": "function", "name": name} for name in names]
        return ChooseAllowed(mode="required" if mode == "ANY" else "auto", tools=tools)
    if mode == "VALIDATED" or config.mode is UNSET:
        return UNSET
    return MODES_BACK.get(mode, "auto")


def is_strict(config: types.FunctionCallingConfig) -> bool:
    """Whether calls are held to the schemas of their functions without being forced."""
    return given(config.mode) and config.mode.upper() == "VALIDATED"


def spells_choice(config: types.FunctionCallingConfig) -> bool:
    """Whether a configuration says in another way than we would, or beyond what a choice says."""
    said = plain(config)
    if not said or said.keys() - {"mode", "allowedFunctionNames"}:
        return True
    names = said.get("allowedFunctionNames")
    if config.mode in ("ANY", "VALIDATED"):
        return names == [] or (names is None and "allowedFunctionNames" in said)
    return config.mode not in ("AUTO", "NONE") or "allowedFunctionNames" in said
