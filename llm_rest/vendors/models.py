"""The capabilities of models, by the longest prefix of the name, and the check of a request against them.

A row has only known facts, with its source; `None` is "unknown" and passes. Before changing the table, know that a
prefix ends where a word of the name ends (`gpt-5` covers `gpt-5-mini`, not `gpt-5.1`), that a row is complete for
its models (rows do not inherit), and that a wrong restriction is worse than a missing one, since the vendor validates too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from ..errors import CapabilityError
from ..losses import Losses
from ..responses.items import CustomToolCall, CustomToolCallOutput, FunctionCall, FunctionCallOutput, Message, Reasoning
from ..responses.parts import InputAudio, InputFile, InputImage
from ..responses.request import JsonObjectFormat, JsonSchemaFormat, ReasoningOptions
from ..responses.tools import ChooseAllowed, CustomTool, FunctionTool
from ..unknown import given

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..losses import Loss
    from ..responses.request import Request

When = bool | Literal["without_reasoning"] | None
"""Whether an option is supported: `True`, `False`, only in requests without reasoning, or `None` for unknown."""


class Capabilities(Struct, frozen=True, kw_only=True):
    """The capabilities of a model. `None` means unknown, and such an option is sent."""

    tools: bool | None = None
    """Whether function tools and custom tools are supported; independent of the vendor's hosted tools."""
    parallel_tools: bool | None = None
    """Whether `parallel_tool_calls=True` is supported."""
    chat_tools: When = None
    """Whether function tools are supported on the wire `openai_chat`, by a model with `tools` on `openai_responses`."""
    forced_tools: When = None
    """Whether `tool_choice` may force a call: `required`, or a named tool."""
    instructions: bool | None = None
    """Whether `instructions`, and messages of the roles system and developer, are supported."""
    vision: bool | None = None
    """Whether images are supported as input (multimodal)."""
    pdf: bool | None = None
    """Whether files (PDF and others) are supported as input."""
    audio: bool | None = None
    """Whether audio is supported as input."""
    json_mode: bool | None = None
    """Whether the text format `json_object` is supported: any JSON object, without a schema."""
    json_schema: bool | None = None
    """Whether the text format `json_schema` is supported (structured output)."""
    reasoning: bool | Literal["always"] | None = None
    """Whether the model can reason; `"always"` where it cannot be turned off."""
    efforts: tuple[str, ...] | None = None
    """The supported values of `reasoning.effort`; empty where the option itself is rejected."""
    default_effort: str | None = None
    """The reasoning effort of a request that sets none; `"none"` where the model does not reason by default."""
    encrypted_reasoning: bool | None = None
    """Whether `include` may ask for `reasoning.encrypted_content`."""
    nearest_effort: bool = False
    """Whether another effort is sent as the nearest one of `efforts`, instead of being rejected."""
    sampling: When = None
    """Whether `temperature`, `top_p` and `top_k` may be set to anything but their defaults."""
    temperatures: tuple[float, float] | None = None
    """The lowest and the highest `temperature`, where `sampling` is supported."""
    penalties: When = None
    """Whether `presence_penalty` and `frequency_penalty` may be set to anything but 0."""
    logprobs: When = None
    """Whether `top_logprobs` may be set to anything but 0."""
    stop: When = None
    """Whether `stop` may be set."""
    context_window: int | None = None
    """The most tokens of input and output together."""
    max_output: int | None = None
    """The most output tokens of one answer, those of reasoning included."""
    whole_output: int | None = None
    """The largest `max_output_tokens` of a request that is not streamed; larger ones are streamed internally."""
    source: str = ""
    """The sources of these facts, and the date when they were read."""


UNKNOWN = Capabilities()
"""The capabilities of an unknown model: every option is sent."""


def capabilities(model: str, vendor: str | None = None) -> Capabilities:
    """The known capabilities of `model` at `vendor`; the vendor's own facts take precedence over general ones.

    Without a vendor the facts of the model's maker apply. The model may have segments before its name, as with hosts and
    routers (`meta-llama/llama-3.3-70b`).
    """
    name = model.rpartition("/")[2].lower()
    best: Row | None = None
    for row in ROWS:
        if (row.at is None or (vendor or "") in row.at) and _begins(name, row.prefix):
            rank = (row.at is not None, len(row.prefix))
            if best is None or rank > (best.at is not None, len(best.prefix)):
                best = row
    return UNKNOWN if best is None else best.facts


def _begins(name: str, prefix: str) -> bool:
    following = name[len(prefix) : len(prefix) + 1]
    return name.startswith(prefix) and (not prefix or following in ("", "-", ":", "@", "_"))


# --- checking a request -----------------------------------------------------------------------------------------------


class Problem(Struct, frozen=True, kw_only=True):
    """An unsupported option or part of a request.

    `path` is its place in the request, `option` the field to change, and `what` the problem with a remedy. `instead` is
    the closest supported value, where there is one.
    """

    path: str
    what: str
    option: str
    instead: Any = None
    fact: str = ""
    """The field of `Capabilities` for it, where `dialects.REFUSALS` has the vendor's message."""

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


ENCRYPTED = "reasoning.encrypted_content"
"""The value of `include` that requests encrypted reasoning."""
CHAT = "openai_chat"

_KIND: dict[str, str] = {
    "temperature": "sampling",
    "top_p": "sampling",
    "top_k": "sampling",
    "presence_penalty": "penalties",
    "frequency_penalty": "penalties",
    "top_logprobs": "logprobs",
    "stop": "stop",
}
"""The capability that decides about each option of a request."""

# Vendors accept a value without effect, also where they reject the option as such.
_HARMLESS: dict[str, Callable[[Any], bool]] = {
    "temperature": lambda value: value == 1,
    "top_p": lambda value: 0.95 <= value <= 1,
    "presence_penalty": lambda value: value == 0,
    "frequency_penalty": lambda value: value == 0,
    "top_logprobs": lambda value: value == 0,
    "stop": lambda value: not value,
}


def check(request: Request, known: Capabilities, wire: str | None = None, start: int = 0) -> list[Problem]:
    """Everything in `request` that these capabilities do not support on `wire`.

    The items before `start` were checked before.
    """
    if known is UNKNOWN:
        return []
    found = [*_options(request, known), *_tools(request, known, wire), *_content(request, known, start)]
    return [*found, *_instructions(request, start)] if known.instructions is False else found


def _reasons(request: Request, known: Capabilities) -> bool:
    """Whether the model reasons for this request; false where that is unknown."""
    requested = request.reasoning.effort if given(request.reasoning) else None
    effort = requested if given(requested) else known.default_effort
    return bool(known.reasoning) and (effort not in (None, "none") or known.reasoning == "always")


def _refusal(when: When, reasons: bool) -> str | None:
    """Why an option is rejected, as text; `None` where it is supported."""
    if when is False:
        return "is not supported by this model; omit it"
    if when == "without_reasoning" and reasons:
        return "is not supported while this model reasons; omit it, or set the reasoning effort to none where it can be"
    return None


def _options(request: Request, known: Capabilities) -> Iterator[Problem]:
    reasons = _reasons(request, known)
    for option, kind in _KIND.items():
        value = getattr(request, option)
        if not given(value) or (option in _HARMLESS and _HARMLESS[option](value)):
            continue
        refusal = _refusal(getattr(known, kind), reasons)
        if refusal is not None:
            yield Problem(path=option, what=f"{option} {refusal}", option=option)
        elif option == "temperature" and known.temperatures is not None:
            low, high = known.temperatures
            if not low <= value <= high:
                what = f"this model takes a temperature from {low:g} to {high:g}; set one in this range"
                yield Problem(path=option, what=what, option=option, instead=min(max(value, low), high))
    effort = request.reasoning.effort if given(request.reasoning) else None
    if given(effort):
        yield from _effort(effort, known)
    limit = known.max_output
    if limit is not None and given(request.max_output_tokens) and request.max_output_tokens > limit:
        what = f"this model gives at most {limit} tokens; ask for no more"
        yield Problem(path="max_output_tokens", what=what, option="max_output_tokens", instead=limit)
    if known.encrypted_reasoning is False and given(request.include) and ENCRYPTED in request.include:
        what = f"this model does not reason and rejects {ENCRYPTED}; omit it"
        others = [name for name in request.include if name != ENCRYPTED]
        yield Problem(path="include", what=what, option="include", instead=others or None, fact="encrypted_reasoning")
    if given(request.text):
        match request.text.format:
            case JsonSchemaFormat() if known.json_schema is False:
                what = "this model cannot be held to a JSON schema; ask for JSON in words and check the answer"
                yield Problem(path="text.format", what=what, option="text")
            case JsonObjectFormat() if known.json_mode is False:
                what = "this model has no JSON mode; ask for JSON in words and check the answer"
                yield Problem(path="text.format", what=what, option="text")
            case _:
                pass


def _effort(effort: str, known: Capabilities) -> Iterator[Problem]:
    path = "reasoning.effort"
    if known.reasoning is False and effort != "none":
        yield Problem(path=path, what="this model does not reason; omit it", option="reasoning")
    elif known.efforts is not None and not known.nearest_effort and effort not in known.efforts:
        takes = ", ".join(known.efforts) if known.efforts else "no effort at all"
        yield Problem(
            path=path, what=f"{effort!r} is not supported by this model; it supports {takes}", option="reasoning"
        )


def _tools(request: Request, known: Capabilities, wire: str | None) -> Iterator[Problem]:
    others = [tool for tool in request.tools or () if not isinstance(tool, FunctionTool | CustomTool)]
    if known.tools is False and len(request.tools or ()) > len(others):
        what = "this model takes no tools; leave them out"
        yield Problem(path="tools", what=what, option="tools", instead=others or None, fact="tools")
        return
    if wire == CHAT and any(isinstance(tool, FunctionTool) for tool in request.tools or ()):
        if known.chat_tools is False:
            what = f'this model takes no function tools on the wire {CHAT}; use wire="openai_responses"'
            yield Problem(path="tools", what=what, option="tools", fact="chat_tools")
            return
        if known.chat_tools == "without_reasoning" and _reasons(request, known):
            what = (
                f"this model takes function tools on the wire {CHAT} only with the effort none; set "
                'reasoning={"effort": "none"}, or use wire="openai_responses"'
            )
            yield Problem(path="reasoning.effort", what=what, option="reasoning", instead="none", fact="chat_tools")
    if given(request.tool_choice) and _forces(request.tool_choice):
        refusal = _refusal(known.forced_tools, _reasons(request, known))
        if refusal is not None:
            what = f"a forced call {refusal}, or use auto"
            yield Problem(path="tool_choice", what=what, option="tool_choice", instead="auto")
    if request.parallel_tool_calls is True and known.parallel_tools is False:
        what = "this model makes one call at a time; leave it out or set it to false"
        yield Problem(path="parallel_tool_calls", what=what, option="parallel_tool_calls", instead=False)


def _forces(choice: object) -> bool:
    if isinstance(choice, str):
        return choice not in ("auto", "none")
    return not isinstance(choice, ChooseAllowed) or choice.mode == "required"


def _content(request: Request, known: Capabilities, start: int) -> Iterator[Problem]:
    if known.vision is not False and known.pdf is not False and known.audio is not False:
        return
    for path, part in _parts(request, start):
        match part:
            case InputImage() if known.vision is False:
                yield Problem(path=path, what="this model does not support images", option="input")
            case InputFile() if known.pdf is False:
                yield Problem(path=path, what="this model does not support files; send their text", option="input")
            case InputAudio() if known.audio is False:
                yield Problem(path=path, what="this model does not support audio; send a transcript", option="input")
            case _:
                pass


def _instructions(request: Request, start: int) -> Iterator[Problem]:
    what = "this model takes no instructions; say them in the first message of the user"
    if given(request.instructions) and request.instructions:
        yield Problem(path="instructions", what=what, option="instructions", fact="instructions")
    for i, item in _items(request, start):
        if isinstance(item, Message) and item.role in ("system", "developer"):
            yield Problem(path=f"input[{i}]", what=what, option="input", fact="instructions")


def _items(request: Request, start: int) -> Iterator[tuple[int, object]]:
    items = request.input if isinstance(request.input, list) else []
    return ((i, items[i]) for i in range(start, len(items)))


def _parts(request: Request, start: int = 0) -> Iterator[tuple[str, object]]:
    """Every content part of the input with its path."""
    for i, item in _items(request, start):
        match item:
            case Message(content=list(parts)):
                field = "content"
            case FunctionCallOutput(output=list(parts)) | CustomToolCallOutput(output=list(parts)):
                field = "output"
            case _:
                continue
        for j, part in enumerate(parts):
            yield f"input[{i}].{field}[{j}]", part


# --- removing unsupported options -------------------------------------------------------------------------------------


def capability_error(problems: list[Problem], *, model: str, vendor: str | None = None) -> CapabilityError:
    """The error with every problem and its remedy."""
    return CapabilityError(
        f"{model} does not support this request: {'; '.join(map(str, problems))}",
        vendor=vendor,
        model=model,
    )


def without(request: Request, problems: list[Problem]) -> tuple[Request, list[Loss]]:
    """The request without the unsupported options, or with the closest supported value, and the losses.

    Content that is new in this turn is never left out: an answer about an image that the model did not see would mislead, so it
    is a refused loss. Content of earlier turns, which a model has answered, is dropped: else a conversation could not continue.
    """
    lost = Losses()
    fields: dict[str, Any] = {}
    paths: set[str] = set()
    answered = max((i for i, item in _items(request, 0) if _of_model(item)), default=-1)
    for problem in problems:
        match problem.path:
            case "reasoning.effort":
                reasoning = request.reasoning if given(request.reasoning) else ReasoningOptions()
                fields["reasoning"] = replace(reasoning, effort=problem.instead)
            case "text.format" if given(request.text):
                fields["text"] = replace(request.text, format=None)
            case "tools":
                fields |= {"tools": problem.instead, "tool_choice": None, "parallel_tool_calls": None}
            case path if path.startswith("input[") and not problem.fact and _position(path) > answered:
                lost.refused(path, problem.what)
                continue
            case path if path.startswith("input["):
                paths.add(path)
            case option:
                fields[option] = problem.instead
        if problem.instead is None or problem.path == "tools":
            lost.dropped(problem.path, problem.what)
        else:
            lost.changed(problem.path, f"{problem.what}; sent as {problem.instead}")
    if paths:
        fields["input"] = _input_without(request, paths)
    return replace(request, **fields), lost


def _of_model(item: object) -> bool:
    return isinstance(item, FunctionCall | CustomToolCall | Reasoning) or getattr(item, "role", "") == "assistant"


def _position(path: str) -> int:
    return int(path[len("input[") : path.index("]")])


def _input_without(request: Request, paths: set[str]) -> list[Any]:
    """The input items without those at `paths`, items or parts; a message that only held such parts goes with them."""
    kept: list[Any] = []
    for i, item in _items(request, 0):
        match item:
            case _ if f"input[{i}]" in paths:
                pass
            case Message(content=list(parts)):
                left = [part for j, part in enumerate(parts) if f"input[{i}].content[{j}]" not in paths]
                if left or not parts:
                    kept.append(item if len(left) == len(parts) else replace(item, content=left))
            case FunctionCallOutput(output=list(parts)) | CustomToolCallOutput(output=list(parts)):
                left = [part for j, part in enumerate(parts) if f"input[{i}].output[{j}]" not in paths]
                # An output is never dropped: every call needs one.
                kept.append(item if len(left) == len(parts) else replace(item, output=left or ""))
            case _:
                kept.append(item)
    return kept


# --- the table ------------------------------------------------------------------------------------------------------

# The sources. models.dev is a public database of model facts, here as of 2026-07-02. What a vendor answered in recorded
# traffic (the effort it echoes, options it accepted) was compared with every row.
_OPENAI = (
    "https://developers.openai.com/api/docs/guides/reasoning, https://community.openai.com/t/1371738 (efforts by model); "
    "limits from models.dev 2026-07-02; read 2026-11-20"
)
# The range of `temperature`: OpenAI's API reference, and Google's reference of GenerationConfig; read 2026-11-23.
_TEMPERATURES = (0.0, 2.0)
_OPENAI_AUTUMN = (
    "OpenAI's deployment checklist and deprecation page, LiteLLM's notes on new models (#51436, #50970, #52347), answers "
    "reported in inspect_ai#5254, bolna#1019, experiential#764, onyx#15008; read 2026-11-22"
)
_CLAUDE = "https://platform.claude.com/docs/en/about-claude/models/overview, read 2026-11-20"
_CLAUDE_OLD = (
    "https://platform.claude.com/docs, thinking and effort; limits from models.dev 2026-07-02; read 2026-11-20"
)
_GEMINI = "https://ai.google.dev/gemini-api/docs/thinking; limits from models.dev 2026-07-02; read 2026-11-20"
_GEMINI_AUTUMN = "Google's changelog, its page on long decode and its guides to each model; read 2026-11-22"
_GEMMA = (
    "github.com/0xPlaygrounds/rig/issues/788 (instructions) and github.com/BerriAI/litellm/issues/10313 (tools); "
    "read 2026-11-22"
)
_GEMINI_LONG = "Google's page on long decode and the client code of google-genai 3.4.0, read 2026-11-22"
_XAI = "https://docs.x.ai/docs/guides/reasoning, https://docs.x.ai/developers/grok-4-5, models.dev; read 2026-11-20"
_GROQ = "https://console.groq.com/docs/reasoning and /docs/openai; limits from models.dev 2026-07-02; read 2026-11-20"
_DEEPSEEK = "https://api-docs.deepseek.com/guides/thinking_mode; limits from models.dev 2026-07-02; read 2026-11-20"
_META = "the Model API's reference, read 2026-11-20"
_HOSTS = "models.dev 2026-07-02, read 2026-11-20"


class Row(Struct, frozen=True):
    """Facts about the models whose names begin with `prefix`: at these vendors (`""`: no vendor named), or anywhere."""

    prefix: str
    at: tuple[str, ...] | None
    facts: Capabilities


def _rows(at: tuple[str, ...] | None, prefixes: str, facts: Capabilities, **changes: Any) -> list[Row]:
    """One row for each of the prefixes."""
    facts = replace(facts, **changes)
    return [Row(prefix, at, facts) for prefix in prefixes.split()]


_AT_OPENAI, _AT_ANTHROPIC, _AT_GOOGLE, _AT_XAI = (
    ("openai", ""),
    ("anthropic", ""),
    ("google", "vertex", ""),
    ("xai", ""),
)

_K, _M = 1_000, 1_000_000

_GPT_4 = Capabilities(
    tools=True,
    vision=True,
    json_mode=True,
    json_schema=True,
    reasoning=False,
    efforts=(),
    encrypted_reasoning=False,
    sampling=True,
    temperatures=_TEMPERATURES,
    penalties=True,
    logprobs=True,
    stop=True,
    context_window=128 * _K,
    max_output=16_384,
    source=_OPENAI,
)
_GPT_SPECIAL = Capabilities(temperatures=_TEMPERATURES, reasoning=False, encrypted_reasoning=False, source=_OPENAI)
_O = Capabilities(
    tools=True,
    vision=True,
    json_schema=True,
    reasoning="always",
    efforts=("low", "medium", "high"),
    default_effort="medium",
    sampling=False,
    temperatures=_TEMPERATURES,
    penalties=False,
    logprobs=False,
    context_window=200 * _K,
    max_output=100 * _K,
    source=_OPENAI,
)
_GPT_5 = replace(_O, efforts=("minimal", "low", "medium", "high"), context_window=400 * _K, max_output=128 * _K)
# From 5.1 on reasoning can be switched off, and sampling options are accepted then.
_GPT_5_1 = replace(
    _GPT_5,
    reasoning=True,
    efforts=("none", "low", "medium", "high"),
    default_effort="none",
    sampling="without_reasoning",
    penalties="without_reasoning",
    logprobs="without_reasoning",
)
_GPT_5_2 = replace(_GPT_5_1, efforts=("none", "low", "medium", "high", "xhigh"))
_GPT_5_4 = replace(_GPT_5_2, chat_tools="without_reasoning")
_GPT_5_6 = replace(
    _GPT_5_4,
    efforts=("none", "low", "medium", "high", "xhigh", "max"),
    default_effort="medium",
    context_window=1_050_000,
    source=_OPENAI_AUTUMN,
)
# Reasoning cannot be switched off for these, so tools on the Chat wire are never accepted.
_GPT_6_ALWAYS = replace(
    _GPT_5_6,
    reasoning="always",
    efforts=("low", "medium", "high", "xhigh", "max"),
    chat_tools=False,
    sampling=False,
    penalties=False,
    logprobs=False,
)
_CHAT_LATEST = replace(_GPT_5, efforts=("medium",), context_window=128 * _K, max_output=16_384)

_CLAUDE_3 = Capabilities(
    tools=True,
    vision=True,
    audio=False,
    json_schema=False,
    reasoning=False,
    sampling=True,
    logprobs=False,
    context_window=200 * _K,
    max_output=4096,
    source=_CLAUDE_OLD,
)
# Thinking with a budget of tokens: every effort reaches the model as a budget, and sampling and forced calls exclude it.
_CLAUDE_BUDGET = replace(
    _CLAUDE_3,
    pdf=True,
    reasoning=True,
    efforts=("none", "low", "medium", "high", "max"),
    default_effort="none",
    nearest_effort=True,
    sampling="without_reasoning",
    forced_tools="without_reasoning",
    max_output=64 * _K,
)
_CLAUDE_4_5 = replace(_CLAUDE_BUDGET, json_schema=True)
_CLAUDE_ADAPTIVE = replace(_CLAUDE_4_5, forced_tools=True, context_window=_M, max_output=128 * _K)
_CLAUDE_5 = replace(
    _CLAUDE_ADAPTIVE,
    efforts=("none", "low", "medium", "high", "xhigh", "max"),
    default_effort="high",
    sampling=False,
    source=_CLAUDE,
)
_CLAUDE_ALWAYS = replace(
    _CLAUDE_5, reasoning="always", efforts=("low", "medium", "high", "xhigh", "max"), forced_tools=False
)

_GEMINI_2 = Capabilities(
    tools=True,
    vision=True,
    pdf=True,
    audio=True,
    json_mode=True,
    json_schema=True,
    reasoning=False,
    sampling=True,
    temperatures=_TEMPERATURES,
    context_window=1_048_576,
    max_output=8192,
    source=_GEMINI,
)
_GEMINI_25 = replace(
    _GEMINI_2,
    reasoning=True,
    efforts=("none", "minimal", "low", "medium", "high"),
    nearest_effort=True,
    max_output=65_536,
)
_GEMINI_3 = replace(_GEMINI_25, reasoning="always", efforts=("minimal", "low", "medium", "high"))
# Input, thoughts and output share one window. Sampling options are accepted and ignored: the wire leaves them out with a loss.
_GEMINI_4 = replace(
    _GEMINI_3,
    efforts=("low", "medium", "high"),
    default_effort="medium",
    temperatures=None,
    penalties=False,
    max_output=None,
    whole_output=32_768,
    source=_GEMINI_AUTUMN,
)

_GROK = Capabilities(tools=True, vision=True, json_mode=True, json_schema=True, source=_XAI)
_GROK_REASONS = replace(_GROK, reasoning="always", efforts=(), penalties=False, stop=False)

_GROQ_TEXT = Capabilities(
    tools=True, vision=False, json_mode=True, reasoning=False, efforts=(), logprobs=False, source=_GROQ
)
_GROQ_LLAMA = replace(_GROQ_TEXT, context_window=131_072)
_GROQ_OSS = replace(
    _GROQ_LLAMA, json_schema=True, reasoning="always", efforts=("low", "medium", "high"), max_output=65_536
)

_TEXT_ONLY = Capabilities(vision=False, audio=False, source=_HOSTS)

ROWS: list[Row] = [
    # --- OpenAI ---
    *_rows(
        _AT_OPENAI, "gpt-3.5-turbo", _GPT_4, vision=False, json_schema=False, context_window=16_385, max_output=4096
    ),
    *_rows(_AT_OPENAI, "gpt-4-turbo", _GPT_4, json_schema=False, max_output=4096),
    *_rows(_AT_OPENAI, "gpt-4-turbo-preview", _GPT_4, vision=False, json_schema=False, max_output=4096),
    *_rows(_AT_OPENAI, "gpt-4o", _GPT_4, pdf=True),
    *_rows(_AT_OPENAI, "gpt-4o-2024-05-13", _GPT_4, pdf=True, json_schema=False, max_output=4096),
    *_rows(_AT_OPENAI, "gpt-4o-audio gpt-4o-mini-audio", _GPT_SPECIAL, audio=True),
    *_rows(
        _AT_OPENAI,
        "gpt-4o-search gpt-4o-mini-search gpt-4o-realtime gpt-4o-mini-realtime gpt-4o-transcribe gpt-4o-mini-transcribe",
        _GPT_SPECIAL,
    ),
    *_rows(_AT_OPENAI, "gpt-4.1", _GPT_4, pdf=True, context_window=1_047_576, max_output=32_768),
    *_rows(_AT_OPENAI, "o1 o1-pro", _O),
    *_rows(_AT_OPENAI, "o1-mini o1-preview", Capabilities(reasoning="always", sampling=False, source=_OPENAI)),
    *_rows(_AT_OPENAI, "o3 o4-mini", _O, pdf=True, stop=False),
    *_rows(_AT_OPENAI, "o3-pro", _O),
    *_rows(_AT_OPENAI, "o3-mini", _O, vision=False),
    *_rows(_AT_OPENAI, "o3-deep-research o4-mini-deep-research", _O, efforts=("medium",), json_schema=None),
    *_rows(_AT_OPENAI, "gpt-5", _GPT_5, pdf=True),
    *_rows(_AT_OPENAI, "gpt-5-codex", _GPT_5, efforts=("low", "medium", "high")),
    *_rows(_AT_OPENAI, "gpt-5-pro", _GPT_5, efforts=("high",), default_effort="high", max_output=272 * _K),
    *_rows(
        _AT_OPENAI,
        "gpt-5-chat gpt-5-search-api",
        _GPT_SPECIAL,
        vision=True,
        efforts=(),
    ),
    *_rows(_AT_OPENAI, "gpt-5.1", _GPT_5_1),
    *_rows(_AT_OPENAI, "gpt-5.1-codex", _GPT_5, efforts=("low", "medium", "high")),
    *_rows(_AT_OPENAI, "gpt-5.1-codex-max", _GPT_5, efforts=("low", "medium", "high", "xhigh")),
    *_rows(_AT_OPENAI, "gpt-5.1-chat gpt-5.2-chat gpt-5.3-chat", _CHAT_LATEST),
    *_rows(_AT_OPENAI, "gpt-5.2 gpt-5.3-codex", _GPT_5_2),
    *_rows(
        _AT_OPENAI,
        "gpt-5.2-codex",  # the sources disagree about `none`
        _GPT_5_2,
        efforts=None,
        default_effort=None,
        sampling=None,
        penalties=None,
        logprobs=None,
    ),
    *_rows(
        _AT_OPENAI,
        "gpt-5.2-pro",
        _GPT_5,
        efforts=("medium", "high", "xhigh"),
        default_effort=None,
        json_schema=None,
    ),
    *_rows(_AT_OPENAI, "gpt-5.4", _GPT_5_4, pdf=True, context_window=1_050_000),
    *_rows(_AT_OPENAI, "gpt-5.4-mini gpt-5.4-nano", _GPT_5_4),
    *_rows(_AT_OPENAI, "gpt-5.5", _GPT_5_4, pdf=True, default_effort="medium", context_window=1_050_000),
    *_rows(
        _AT_OPENAI,
        "gpt-5.4-pro gpt-5.5-pro",
        _GPT_5,
        efforts=("medium", "high", "xhigh"),
        default_effort=None,
        json_schema=None,
        context_window=1_050_000,
    ),
    *_rows(_AT_OPENAI, "gpt-5.6 gpt-6-sol gpt-6-luna", _GPT_5_6),
    *_rows(_AT_OPENAI, "gpt-6-astra gpt-6.1-sol", _GPT_6_ALWAYS),
    *_rows(
        _AT_OPENAI, "gpt-6.1-terra", _GPT_5_6, efforts=None, default_effort=None
    ),  # it supports `none`; no source has more
    *_rows(_AT_OPENAI, "gpt-6.2-astra gpt-6.2-sol gpt-6.2-astra-law", _GPT_6_ALWAYS, default_effort=None),
    # --- Anthropic ---
    *_rows(_AT_ANTHROPIC, "claude-3-haiku claude-3-opus claude-3-sonnet", _CLAUDE_3),
    *_rows(_AT_ANTHROPIC, "claude-3-5-sonnet claude-3-5-haiku", _CLAUDE_3, pdf=True, max_output=8192),
    *_rows(
        _AT_ANTHROPIC,
        "claude-3-7-sonnet",
        _CLAUDE_BUDGET,
        max_output=128 * _K,  # with the beta for long output; 64,000 without
    ),
    *_rows(_AT_ANTHROPIC, "claude-sonnet-4-0 claude-sonnet-4-20250514", _CLAUDE_BUDGET),
    *_rows(_AT_ANTHROPIC, "claude-opus-4-0 claude-opus-4-20250514", _CLAUDE_BUDGET, max_output=32 * _K),
    *_rows(_AT_ANTHROPIC, "claude-opus-4-1", _CLAUDE_BUDGET, json_schema=None, max_output=32 * _K),
    *_rows(_AT_ANTHROPIC, "claude-opus-4-5 claude-sonnet-4-5 claude-haiku-4-5", _CLAUDE_4_5),
    *_rows(_AT_ANTHROPIC, "claude-opus-4-6", _CLAUDE_ADAPTIVE),
    *_rows(_AT_ANTHROPIC, "claude-sonnet-4-6", _CLAUDE_ADAPTIVE, max_output=None),  # 64,000 and 128,000 are both stated
    *_rows(_AT_ANTHROPIC, "claude-opus-4-7 claude-opus-4-8", _CLAUDE_5, default_effort="none", source=_CLAUDE_OLD),
    *_rows(_AT_ANTHROPIC, "claude-opus-5 claude-sonnet-5", _CLAUDE_5),
    *_rows(_AT_ANTHROPIC, "claude-haiku-5-5", _CLAUDE_5, default_effort="medium"),
    *_rows(
        _AT_ANTHROPIC, "claude-sonnet-5-5", _CLAUDE_ALWAYS, efforts=("none", "low", "medium", "high", "xhigh", "max")
    ),
    *_rows(_AT_ANTHROPIC, "claude-opus-5-5", _CLAUDE_ALWAYS, default_effort="medium"),
    *_rows(_AT_ANTHROPIC, "claude-fable-5 claude-mythos-5", _CLAUDE_ALWAYS, forced_tools=None),
    *_rows(
        _AT_ANTHROPIC,
        "claude-fable-5-1 claude-fable-5-2 claude-mythos-5-1 claude-mythos-5-2",
        _CLAUDE_ALWAYS,
    ),
    *_rows(_AT_ANTHROPIC, "claude-mythos-preview", _CLAUDE_ALWAYS, context_window=None, max_output=None),
    # --- Google ---
    *_rows(_AT_GOOGLE, "gemini-2.0-flash gemini-2.0-flash-lite", _GEMINI_2),
    *_rows(_AT_GOOGLE, "gemini-2.5-flash", _GEMINI_25),
    *_rows(_AT_GOOGLE, "gemini-2.5-flash-lite", _GEMINI_25, default_effort="none"),
    *_rows(_AT_GOOGLE, "gemini-2.5-pro", _GEMINI_25, reasoning="always", efforts=("minimal", "low", "medium", "high")),
    *_rows(_AT_GOOGLE, "gemini-3-flash", _GEMINI_3, default_effort="high"),
    *_rows(
        _AT_GOOGLE, "gemini-3-pro gemini-3.1-pro", _GEMINI_3, efforts=("low", "medium", "high"), default_effort="high"
    ),
    *_rows(_AT_GOOGLE, "gemini-3.1-flash-lite", _GEMINI_3, default_effort="minimal"),
    *_rows(_AT_GOOGLE, "gemini-3.5-flash", _GEMINI_3, default_effort="medium"),
    *_rows(_AT_GOOGLE, "gemini-3.5-flash-lite", _GEMINI_3, default_effort="minimal", sampling=False),
    *_rows(_AT_GOOGLE, "gemini-3.6-flash", _GEMINI_3, default_effort="medium", sampling=False, max_output=None),
    # Since 2026-10-08 requests for 3.7 are routed to 3.8, so it is the same row by another name.
    *_rows(
        _AT_GOOGLE,
        "gemini-3.8-flash gemini-3.7-flash",
        _GEMINI_3,
        efforts=("low", "medium", "high"),
        default_effort="medium",
        sampling=False,
        max_output=None,
    ),
    *_rows(_AT_GOOGLE, "gemini-4-argon gemini-4-carbon", _GEMINI_4),
    *_rows(
        _AT_GOOGLE,
        "gemini-4-hydrogen gemini-4-neon",
        _GEMINI_4,
        efforts=("low", "medium", "high", "xhigh"),
        default_effort="high",
    ),
    *_rows(_AT_GOOGLE, "gemini-4", Capabilities(whole_output=32_768, source=_GEMINI_LONG)),
    # Models that generate images or speech share the names of the text models.
    *_rows(
        _AT_GOOGLE,
        "gemini-2.5-flash-image gemini-3-pro-image gemini-3.1-flash-image gemini-2.5-flash-preview-tts "
        "gemini-2.5-pro-preview-tts",
        Capabilities(tools=False, source=_GEMINI),
    ),
    *_rows(("google", ""), "gemma-3 gemma-3n", Capabilities(instructions=False, tools=False, source=_GEMMA)),
    *_rows(("google", ""), "gemma-4-31b-it gemma-4-26b-a4b-it", Capabilities(source=_GEMINI_AUTUMN)),
    # --- xAI ---
    *_rows(_AT_XAI, "grok-3-mini", _GROK_REASONS, vision=None, efforts=("low", "high")),
    *_rows(_AT_XAI, "grok-4", _GROK_REASONS, context_window=256 * _K),
    *_rows(_AT_XAI, "grok-4-fast grok-4-1-fast", _GROK),
    *_rows(
        _AT_XAI,
        "grok-4.3",
        _GROK_REASONS,
        reasoning=True,
        efforts=("none", "low", "medium", "high"),
        penalties="without_reasoning",
        stop="without_reasoning",
        context_window=_M,
    ),
    *_rows(
        _AT_XAI,
        "grok-4.5",
        _GROK_REASONS,
        efforts=("low", "medium", "high"),
        default_effort="high",
        context_window=500 * _K,
    ),
    # --- DeepSeek; the server maps every effort to one it has, and rejects forced calls in thinking mode only ---
    *_rows(
        ("deepseek", ""),
        "deepseek-v4-flash deepseek-v4-pro",
        _TEXT_ONLY,
        pdf=False,
        tools=True,
        json_mode=True,
        reasoning=True,
        efforts=("none", "low", "high", "max"),
        default_effort="high",
        nearest_effort=True,
        forced_tools="without_reasoning",
        context_window=_M,
        max_output=384 * _K,
        source=_DEEPSEEK,
    ),
    *_rows(("deepseek", ""), "deepseek-chat deepseek-reasoner", _TEXT_ONLY, pdf=False, tools=True, source=_DEEPSEEK),
    # --- Groq rejects log probabilities for every model ---
    *_rows(("groq",), "llama-3.3-70b-versatile", _GROQ_LLAMA, max_output=32_768),
    *_rows(("groq",), "llama-3.1-8b-instant", _GROQ_LLAMA, max_output=131_072),
    *_rows(("groq",), "llama-4-scout llama-4-maverick", _GROQ_LLAMA, vision=True, json_schema=True, max_output=8192),
    *_rows(("groq",), "gpt-oss-120b gpt-oss-20b", _GROQ_OSS),
    *_rows(("groq",), "qwen3-32b", _GROQ_LLAMA, reasoning=True, efforts=("none", "default"), max_output=40_960),
    *_rows(("groq",), "compound compound-mini compound-beta", _GROQ_LLAMA, tools=False, max_output=8192),
    Row("", ("groq",), Capabilities(logprobs=False, source=_GROQ)),
    # --- Meta ---
    Row(
        "",
        ("meta",),
        Capabilities(
            tools=True,
            forced_tools=False,
            reasoning="always",
            efforts=("minimal", "low", "medium", "high", "xhigh"),
            stop=False,
            source=_META,
        ),
    ),
    # --- others at their own hosts ---
    *_rows(
        ("cerebras",), "gpt-oss-120b", _TEXT_ONLY, tools=True, reasoning="always", efforts=("low", "medium", "high")
    ),
    *_rows(
        ("mistral", ""), "pixtral-12b pixtral-large mistral-medium mistral-large", _TEXT_ONLY, tools=True, vision=True
    ),
    *_rows(("mistral", ""), "mistral-large-2411 codestral magistral-medium magistral-small", _TEXT_ONLY, vision=None),
    Row("", ("perplexity",), Capabilities(tools=False, source="https://docs.perplexity.ai, read 2026-11-20")),
    # --- open weights, wherever they are served ---
    *_rows(None, "gpt-oss gpt-oss-120b gpt-oss-20b gpt-oss-safeguard-20b", _TEXT_ONLY, reasoning="always"),
    *_rows(
        None, "llama-3.1 llama-3.3 meta-llama-3.1 meta-llama-3.3 llama3.1 llama3.3 llama-v3p1 llama-v3p3", _TEXT_ONLY
    ),
    *_rows(None, "deepseek-r1 deepseek-v3 deepseek-v3.1 deepseek-v3.2", _TEXT_ONLY),
    *_rows(None, "kimi-k2 glm-4.5 glm-4.6 glm-4.7 zai-glm-4.7 minimax-m2", _TEXT_ONLY),
    # These share a prefix with the rows above and support images, or may.
    *_rows(None, "kimi-k2-5 kimi-k2-6 llama-3.1-nemotron llama-3.3-nemotron", Capabilities(source=_HOSTS)),
]
"""The model table. The longest prefix decides; a vendor's own rows take precedence over those for any vendor."""
