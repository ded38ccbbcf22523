"""Requests and responses as people and models write them, for the laws.

`plain` ones are those of `llm_rest.testing.strategies`, so that most of them lose nothing; `rich` ones use all of the format:
foreign kinds, hosted tools, odd ids, empty texts, and options that few wires know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

from llm_rest import responses as r
from llm_rest.responses.parts import AudioData
from llm_rest.testing.strategies import ARGUMENTS, SCHEMA, TEXTS, TOOLS, user_messages
from llm_rest.testing.strategies import NAMES as FUNCTIONS
from llm_rest.testing.strategies import PARTS as PLAIN_PARTS
from llm_rest.testing.strategies import SPEECH as PLAIN_SPEECH
from llm_rest.unknown import Unknown, with_extras
from tests.support.documents import NAMES, VALUES

T = TypeVar("T")
S = st.SearchStrategy

BLANK = st.sampled_from(["", " ", "\n"])
PNG = "data:image/png;base64,iVBORw0KGgo="
PDF = "data:application/pdf;base64,JVBERi0xLjQK"
WIDE_SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"$ref": "#/$defs/node"},
        "b": {"oneOf": [{"const": 1}, {"type": ["string", "null"], "minLength": 2}]},
        "c": {"type": "object", "additionalProperties": {"type": "number", "exclusiveMinimum": 0}},
    },
    "required": ["a"],
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "title": "Node"}},
}
CUSTOM = "shell_text"
ODD_ARGUMENTS = st.sampled_from(
    ["", "null", "[1]", '{"city":', "not json", '{"n": 1e400, "n": 12345678901234567890}', '"x"']
)


def maybe(strategy: S[T]) -> S[T | None]:
    """Absent more often than not, as options are."""
    return st.one_of(st.just(None), st.just(None), strategy)


LEFTOVERS = maybe(st.just({"another_wire": {"thing": {"a": [1]}}}))


# --- what users and tools say ---------------------------------------------------------------------------------------

BREAKPOINTS = st.sampled_from([r.CacheBreakpoint(), r.CacheBreakpoint(ttl="30m"), r.CacheBreakpoint(ttl="12h")])

NO_PATH = str.maketrans("", "", ".[]")  # a loss could not tell such a name from a path
EXTENDED_TEXT = st.builds(
    lambda text, fields: with_extras(r.InputText(text=text), fields),
    TEXTS,
    st.dictionaries(NAMES.map(lambda name: f"x_{name.translate(NO_PATH)}"), VALUES, min_size=1, max_size=1),
)
RICH_PARTS: S[r.ContentPart] = st.one_of(
    PLAIN_PARTS,
    st.builds(r.InputText, text=TEXTS | BLANK, prompt_cache_breakpoint=maybe(BREAKPOINTS), leftovers=LEFTOVERS),
    st.builds(
        r.InputImage,
        image_url=st.sampled_from([PNG, "https://example.com/cat.png"]),
        detail=maybe(st.sampled_from(["low", "high", "auto", "original"])),
    ),
    st.builds(r.InputFile, file_data=st.just(PDF), filename=maybe(st.just("a.pdf"))),
    EXTENDED_TEXT,
    st.just(Unknown({"type": "vendor:part", "text": "x"})),
)
# What few wires can carry at all; a request with one of these is refused by the others.
RARE_PARTS: S[r.ContentPart] = st.sampled_from(
    [
        r.InputImage(image_url="data:image/svg+xml,<svg/>"),
        r.InputImage(image_url="ftp://x"),
        r.InputImage(file_id="file_1"),
        r.InputFile(file_data="data:text/plain;base64,aGk=", filename="a.txt"),
        r.InputFile(file_data="JVBERi0xLjQK"),
        r.InputFile(file_url="https://example.com/a.pdf"),
        r.InputFile(file_id="file_2", filename="a.pdf"),
        r.InputAudio(input_audio=AudioData(data="AAAA", format="wav")),
    ]
)
EIGHTH = st.sampled_from([False] * 7 + [True])


SYSTEM_MESSAGES = st.builds(
    r.Message,
    role=st.sampled_from(["system", "developer"]),
    content=TEXTS | st.builds(r.InputText, text=TEXTS).map(lambda p: [p]),
)


# --- what models say ------------------------------------------------------------------------------------------------

CITATIONS = st.one_of(
    st.just(r.UrlCitation(url="https://example.com", title="Example", start_index=0, end_index=1)),
    st.just(r.UrlCitation(url="https://example.com")),
    st.just(r.FileCitation(file_id="file_3", filename="a.pdf", index=1)),
)
LOGPROBS = st.just([r.Logprob(token="H", logprob=-0.25, bytes=[72], top_logprobs=[])])

RICH_SPEECH: S[r.Message] = st.one_of(
    PLAIN_SPEECH,
    st.builds(r.Message, role=st.just("assistant"), content=TEXTS | BLANK),
    st.builds(
        r.Message,
        role=st.just("assistant"),
        content=st.lists(
            st.builds(
                r.OutputText,
                text=TEXTS | BLANK,
                annotations=maybe(st.lists(CITATIONS, max_size=2)),
                logprobs=maybe(LOGPROBS),
            )
            | st.builds(r.RefusalPart, refusal=TEXTS),
            max_size=3,
        ),
        phase=maybe(st.sampled_from(["commentary", "final_answer"])),
        id=maybe(st.just("msg_1")),
        status=maybe(st.sampled_from(["completed", "incomplete"])),
        leftovers=LEFTOVERS,
    ),
)


def foreign_thoughts(*sealed: str) -> S[r.Reasoning]:
    """What somebody else thought: something to read, something sealed, or both."""
    thoughts = st.builds(
        r.Reasoning,
        summary=st.lists(st.builds(r.SummaryText, text=TEXTS), max_size=2),
        content=maybe(st.builds(r.ReasoningText, text=TEXTS).map(lambda part: [part])),
        encrypted_content=maybe(st.sampled_from(sealed)),
        id=maybe(st.just("rs_1")),
    )
    return thoughts.filter(lambda item: bool(item.summary or item.content or item.encrypted_content))


ENVELOPE = "llm_rest.1.another_wire.somebody.e30"
# What is not in an envelope belongs to whoever sent it, so an answer of the wire under test has none of somebody else.
FOREIGN_THOUGHTS = foreign_thoughts("gAAAA-somebody", ENVELOPE)
SEALED_THOUGHTS = foreign_thoughts(ENVELOPE)
RECORDS: S[r.AnyItem] = st.sampled_from(
    [
        r.WebSearchCall(id="ws_1", status="completed", action=r.Search(query="oslo")),
        r.CodeInterpreterCall(id="ci_1", status="completed", code="1+1", container_id="c1", outputs=None),
        r.McpCall(id="mcp_1", server_label="docs", name="find", arguments="{}", output="found"),
        r.Compaction(encrypted_content="llm_rest.1.another_wire.somebody.e30"),
        Unknown({"type": "vendor:item", "x": 1}),
        with_extras(r.Message(role="assistant", content="extended"), {"x_new": {"a": [1]}}),
    ]
)
INPUT_ONLY: S[r.AnyItem] = st.sampled_from(
    [
        r.ItemReference(id="msg_9"),
        r.AdditionalTools(role="developer", tools=[r.FunctionTool(name="late")]),
        with_extras(r.Message(role="user", content="extended"), {"x_new": {"a": [1]}}),
    ]
)


@st.composite
def calls(draw: st.DrawFn, used: set[str], *, rich: bool) -> list[r.AnyItem]:
    """Parallel calls, and their outputs in the order of the calls."""
    asked: list[r.AnyItem] = []
    answered: list[r.AnyItem] = []
    for _ in range(draw(st.integers(1, 3))):
        call_id = f"call_{len(used)}"
        if rich and draw(EIGHTH):
            call_id = draw(st.sampled_from([f"{call_id}|fc_1", f"{call_id}.x:y é", call_id + "x" * 70]))
        used.add(call_id)
        if rich and draw(st.integers(0, 4)) == 0:
            asked.append(r.CustomToolCall(call_id=call_id, name=CUSTOM, input=draw(TEXTS)))
            answered.append(r.CustomToolCallOutput(call_id=call_id, output=draw(TEXTS)))
            continue
        arguments = draw(ARGUMENTS | ODD_ARGUMENTS if rich else ARGUMENTS)
        asked.append(r.FunctionCall(call_id=call_id, name=draw(st.sampled_from(FUNCTIONS)), arguments=arguments))
        output: Any = draw(TEXTS | BLANK | st.lists(RICH_PARTS, max_size=2) if rich else TEXTS)
        answered.append(
            r.FunctionCallOutput(call_id=call_id, output=output, is_error=draw(maybe(st.just(True))) if rich else None)
        )
    return [*asked, *answered]


@st.composite
def turns(
    draw: st.DrawFn, used: set[str], thoughts: Sequence[Sequence[r.AnyItem]] = (), *, rich: bool = False
) -> list[r.AnyItem]:
    """One closed turn: somebody asks, the model thinks, calls, reads the outputs, and answers.

    `thoughts` are outputs that the wire under test decoded: items with carriers of its own, in their order.
    """
    items: list[r.AnyItem] = [draw(user_messages(RICH_PARTS if rich else PLAIN_PARTS))]
    if rich and draw(EIGHTH):
        items.append(draw(user_messages(RARE_PARTS)))
    if rich and draw(EIGHTH):
        items.append(draw(INPUT_ONLY))
    if rich and draw(st.integers(0, 3)) == 0:
        items.append(draw(SYSTEM_MESSAGES))
    for _ in range(draw(st.integers(0, 2))):
        if rich and draw(st.booleans()):
            items.append(draw(FOREIGN_THOUGHTS | RECORDS))
        if draw(st.booleans()):
            items.append(draw(RICH_SPEECH if rich else PLAIN_SPEECH))
        items.extend(draw(calls(used, rich=rich)))
    fresh = [output for output in thoughts if not call_ids(output) & used]
    if fresh and draw(st.booleans()):
        output = draw(st.sampled_from(fresh))
        used |= call_ids(output)
        items.extend(output)
        items.extend(
            r.FunctionCallOutput(call_id=c.call_id, output="4") for c in output if isinstance(c, r.FunctionCall)
        )
    items.append(draw(RICH_SPEECH if rich else PLAIN_SPEECH))
    return items


def call_ids(items: Sequence[r.AnyItem]) -> set[str]:
    return {item.call_id for item in items if isinstance(item, r.FunctionCall)}


@st.composite
def conversations(
    draw: st.DrawFn, thoughts: Sequence[Sequence[r.AnyItem]] = (), *, rich: bool = False, most: int = 3
) -> list[list[r.AnyItem]]:
    """A few closed turns, one after another."""
    used: set[str] = set()
    return [draw(turns(used, thoughts, rich=rich)) for _ in range(draw(st.integers(1, most)))]


# --- what callers ask for -------------------------------------------------------------------------------------------

PLAIN_TOOLS: S[list[r.AnyTool]] = st.just([*TOOLS])
OWN_TOOLS: S[r.FunctionTool | r.CustomTool | r.NamespaceTool] = st.one_of(
    st.builds(
        r.FunctionTool,
        name=st.sampled_from(FUNCTIONS),
        description=maybe(TEXTS),
        parameters=maybe(st.none() | st.sampled_from([SCHEMA, WIDE_SCHEMA, {}])),
        strict=maybe(st.none() | st.booleans()),
        defer_loading=maybe(st.just(True)),
    ),
    st.builds(r.CustomTool, name=st.just(CUSTOM), format=maybe(st.just(r.Grammar(definition="a: /x/", syntax="lark")))),
    st.just(
        r.NamespaceTool(name="ns", description="A group.", tools=[r.FunctionTool(name="inner", parameters=SCHEMA)])
    ),
    st.just(with_extras(r.FunctionTool(name="f-1", parameters=SCHEMA, strict=False), {"x_new": 1})),
)
# What a wire runs itself, or nobody; a request with one of these is refused by the others.
RARE_TOOLS: S[r.AnyTool] = st.sampled_from(
    [
        r.WebSearchTool(user_location=r.UserLocation(type="approximate", city="Oslo"), search_context_size="low"),
        r.McpTool(server_label="docs", server_url="https://example.com/mcp", require_approval="never"),
        r.CodeInterpreterTool(container={"type": "auto"}),
        r.FileSearchTool(vector_store_ids=["vs_1"]),
        r.FunctionTool(name="a name with spaces"),
        r.FunctionTool(name="n" * 80),
        Unknown({"type": "vendor:tool"}),
    ]
)


@st.composite
def rich_tools(draw: st.DrawFn) -> list[r.AnyTool]:
    """Tools of different names; now and then one of those that few wires have."""
    tools: list[r.AnyTool] = list(draw(st.lists(OWN_TOOLS, max_size=4, unique_by=lambda tool: tool.name)))
    return [*tools, draw(RARE_TOOLS)] if draw(EIGHTH) else tools


PLAIN_CHOICES = st.sampled_from(["auto", "none", "required", r.ChooseFunction(name="search")])
RICH_CHOICES = st.one_of(
    PLAIN_CHOICES,
    PLAIN_CHOICES,
    st.sampled_from(
        [
            r.ChooseCustom(name=CUSTOM),
            r.ChooseAllowed(tools=[{"type": "function", "name": "search"}], mode="required"),
            r.ChooseAllowed(
                tools=[{"type": "function", "name": "search"}, {"type": "function", "name": "f-1"}], mode="auto"
            ),
            r.ChooseAllowed(
                tools=[{"type": "function", "name": "search"}, {"type": "mcp", "server_label": "docs"}], mode="auto"
            ),
            r.ChooseMcp(server_label="docs"),
            Unknown({"type": "web_search_preview"}),
            "sometimes",
        ]
    ),
)
PLAIN_TEXT_OPTIONS = st.just(r.TextOptions(format=r.JsonSchemaFormat(name="weather", schema=SCHEMA, strict=True)))
RICH_TEXT_OPTIONS = st.builds(
    r.TextOptions,
    format=maybe(
        st.one_of(
            st.just(r.TextFormat()),
            st.just(r.JsonObjectFormat()),
            st.builds(
                r.JsonSchemaFormat,
                name=st.just("weather"),
                schema=st.sampled_from([SCHEMA, WIDE_SCHEMA]),
                description=maybe(TEXTS),
                strict=maybe(st.booleans()),
            ),
            st.just(Unknown({"type": "vendor:format"})),
        )
    ),
    verbosity=maybe(st.sampled_from(["low", "medium", "high"])),
)
EFFORTS = st.sampled_from(["none", "minimal", "low", "medium", "high", "xhigh", "max", "extreme"])
STOPS = TEXTS | st.lists(TEXTS, min_size=1, max_size=4)

RICH_OPTIONS: dict[str, S[Any]] = {
    "stream": st.booleans(),
    "stream_options": st.builds(r.StreamOptions, include_obfuscation=maybe(st.booleans())),
    "max_output_tokens": st.sampled_from([1, 16, 1000, 2000, 100_000]),
    "max_tool_calls": st.integers(1, 3),
    "temperature": st.sampled_from([0, 0.5, 1, 1.5, 2]),
    "top_p": st.sampled_from([0.1, 0.97, 1]),
    "top_logprobs": st.integers(0, 20),
    "presence_penalty": st.sampled_from([0, 0.5]),
    "frequency_penalty": st.sampled_from([0, -0.5]),
    "tool_choice": RICH_CHOICES,
    "parallel_tool_calls": st.booleans(),
    "text": RICH_TEXT_OPTIONS,
    "reasoning": st.builds(
        r.ReasoningOptions,
        effort=maybe(EFFORTS),
        summary=maybe(st.sampled_from(["auto", "detailed"])),
        context=maybe(st.just("auto")),
    ),
    "include": st.lists(
        st.sampled_from(["reasoning.encrypted_content", "message.output_text.logprobs", "web_search_call.results"]),
        unique=True,
    ),
    "metadata": st.dictionaries(st.text(max_size=4), TEXTS, max_size=2),
    "store": st.booleans(),
    "service_tier": st.sampled_from(["auto", "default", "flex", "scale", "priority", "fast"]),
    "prompt_cache_key": st.just("key"),
    "prompt_cache_options": st.just(r.CacheOptions()),
    "prompt_cache_retention": st.just("24h"),
    "safety_identifier": st.just("user-1"),
    "user": st.just("user-2"),
    "background_options": st.just(r.BackgroundOptions(completion_window="2h", continuation_id="job-1")),
    "moderation": st.just({"model": "omni-moderation-latest"}),
    "stop": STOPS,
    "seed": st.integers(0, 2**31),
    "top_k": st.integers(1, 100),
    "leftovers": LEFTOVERS,
}

# What few wires can do at all; a request that asks for one of these is refused by the others.
RARE_OPTIONS: dict[str, S[Any]] = {
    "truncation": st.sampled_from(["auto", "disabled"]),
    "previous_response_id": st.just("resp_0"),
    "conversation": st.just("conv_1"),
    "background": st.booleans(),
    "prompt": st.just(r.Prompt(id="pmpt_1", variables={"a": "b"})),
    "context_management": st.just([r.ContextManagement(compact_threshold=60_000)]),
}
PLAIN_OPTIONS: dict[str, S[Any]] = {
    "max_output_tokens": st.sampled_from([1000, 2000, 4096]),
    "tool_choice": PLAIN_CHOICES,
    "parallel_tool_calls": st.booleans(),
    "text": PLAIN_TEXT_OPTIONS,
    "reasoning": st.builds(r.ReasoningOptions, effort=st.sampled_from(["low", "medium", "high"])),
    "temperature": st.sampled_from([0, 0.5, 1]),
    "stream": st.booleans(),
    "stop": st.just(["END"]),
}


@st.composite
def requests(
    draw: st.DrawFn, models: Sequence[str], thoughts: Sequence[Sequence[r.AnyItem]] = (), *, rich: bool = False
) -> r.Request:
    """A request that ends with something to answer."""
    used: set[str] = set()
    items = [item for _ in range(draw(st.integers(0, 2))) for item in draw(turns(used, thoughts, rich=rich))]
    items.append(draw(user_messages(RICH_PARTS if rich else PLAIN_PARTS)))
    if draw(st.booleans()):
        items.extend(draw(calls(used, rich=rich)))
    if rich and draw(st.integers(0, 3)) == 0:
        items.insert(0, draw(SYSTEM_MESSAGES))
    options = RICH_OPTIONS if rich else PLAIN_OPTIONS
    names = draw(st.lists(st.sampled_from(sorted(options)), unique=True, max_size=12 if rich else 3))
    chosen: dict[str, Any] = {name: draw(options[name]) for name in names}
    if rich and draw(st.integers(0, 7)) == 0:
        name = draw(st.sampled_from(sorted(RARE_OPTIONS)))
        chosen[name] = draw(RARE_OPTIONS[name])
    if not rich:  # where a wire must have a limit and finds none, it takes the model's
        chosen.setdefault("max_output_tokens", 1000)
    if "stream_options" in chosen:
        chosen["stream"] = True
    return r.Request(
        model=draw(st.sampled_from(models)),
        input=draw(TEXTS) if draw(st.integers(0, 9)) == 0 else items,
        instructions=draw(maybe(TEXTS | BLANK if rich else TEXTS)),
        tools=draw(maybe(rich_tools())) if rich else draw(PLAIN_TOOLS),
        **chosen,
    )


# --- what comes back ------------------------------------------------------------------------------------------------


SOME = st.just(0) | st.integers(0, 50)
"""A count that not every wire gives."""


@st.composite
def usages(draw: st.DrawFn, *, rich: bool = False) -> r.Usage:
    """Token counts that add up."""
    cached, written = draw(SOME), draw(st.integers(0, 50)) if rich else 0
    plain, thought, spoken = draw(st.integers(0, 50)), draw(SOME), draw(st.integers(0, 50))
    into, out = plain + cached + written, thought + spoken
    return r.Usage(
        input_tokens=into,
        output_tokens=out,
        total_tokens=into + out,
        input_tokens_details=r.InputTokensDetails(cached_tokens=cached, cache_write_tokens=written),
        output_tokens_details=r.OutputTokensDetails(reasoning_tokens=thought),
        leftovers=draw(LEFTOVERS) if rich else None,
    )


ENDS: S[dict[str, Any]] = st.sampled_from(
    [
        {"status": "completed"},
        {"status": "incomplete", "incomplete_details": r.IncompleteDetails(reason="max_output_tokens")},
        {"status": "incomplete", "incomplete_details": r.IncompleteDetails(reason="content_filter")},
        {"status": "incomplete", "incomplete_details": r.IncompleteDetails(reason="something new")},
        {"status": "failed", "error": r.ResponseError(code="server_error", message="It broke.")},
        {"status": "cancelled"},
        {"status": "queued"},
    ]
)


@st.composite
def responses(
    draw: st.DrawFn, models: Sequence[str], thoughts: Sequence[Sequence[r.AnyItem]] = (), *, rich: bool = False
) -> r.Response:
    """An answer: perhaps thoughts, then text, calls, or both."""
    output: list[r.AnyItem] = list(draw(st.sampled_from(thoughts))) if thoughts and draw(st.booleans()) else []
    if rich:
        output.extend(draw(st.lists(SEALED_THOUGHTS | RECORDS, max_size=2)))
    if not output or draw(st.booleans()):
        output.append(draw(RICH_SPEECH if rich else PLAIN_SPEECH))
    used = call_ids(output)
    if draw(st.booleans()):
        made = draw(calls(used, rich=rich))
        output.extend(item for item in made if isinstance(item, r.FunctionCall | r.CustomToolCall))
    ends: Any = draw(ENDS) if rich else {"status": "completed"}
    return r.Response(
        id=draw(st.sampled_from(["resp_1", "msg_2", "chatcmpl-3"])),
        model=draw(st.sampled_from(models)),
        created_at=draw(maybe(st.integers(0, 2_000_000_000))) if rich else None,
        output=output,
        usage=draw(maybe(usages(rich=True)) if rich else usages()),
        service_tier=draw(maybe(st.sampled_from(["default", "priority"]))) if rich else None,
        leftovers=draw(LEFTOVERS) if rich else None,
        **ends,
    )


# --- one thing at a time --------------------------------------------------------------------------------------------

ASKED = r.Message(role="user", content="Hi")
PLAIN_ANSWER = [r.Message(role="assistant", content="Ho"), ASKED]


@st.composite
def _with_calls(draw: st.DrawFn) -> r.Request:
    return r.Request(input=[ASKED, *draw(calls(set(), rich=True))])


SINGLE: dict[str, S[r.Request]] = {
    **{
        f"option-{name}": st.builds(lambda value, name=name: r.Request(input="Hi", **{name: value}), values)
        for name, values in {**RICH_OPTIONS, **RARE_OPTIONS}.items()
        if name != "tool_choice"
    },
    "instructions": TEXTS.map(lambda text: r.Request(input="Hi", instructions=text)),
    "choice": RICH_CHOICES.flatmap(
        lambda choice: PLAIN_TOOLS.map(lambda tools: r.Request(input="Hi", tools=tools, tool_choice=choice))
    ),
    "part": RICH_PARTS.map(lambda part: r.Request(input=[r.Message(role="user", content=[part])])),
    "rare part": RARE_PARTS.map(lambda part: r.Request(input=[r.Message(role="user", content=[part])])),
    "part of an output": RICH_PARTS.map(
        lambda part: r.Request(
            input=[
                ASKED,
                r.FunctionCall(call_id="c", name="f", arguments="{}"),
                r.FunctionCallOutput(call_id="c", output=[part]),
            ]
        )
    ),
    "system message": SYSTEM_MESSAGES.map(lambda item: r.Request(input=[ASKED, item, ASKED])),
    "speech": RICH_SPEECH.map(lambda item: r.Request(input=[ASKED, item, ASKED])),
    "thought": FOREIGN_THOUGHTS.map(lambda item: r.Request(input=[ASKED, item, *PLAIN_ANSWER])),
    "record": RECORDS.map(lambda item: r.Request(input=[ASKED, item, *PLAIN_ANSWER])),
    "input only": INPUT_ONLY.map(lambda item: r.Request(input=[ASKED, item, ASKED])),
    "calls": _with_calls(),
    "tool": OWN_TOOLS.map(lambda tool: r.Request(input="Hi", tools=[tool])),
    "rare tool": RARE_TOOLS.map(lambda tool: r.Request(input="Hi", tools=[tool])),
}
"""Requests that ask for one thing besides something to answer, by what it is."""
