"""Spans, metrics and events of OpenTelemetry, as the exporters of its SDK get them."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, cast
from unittest.mock import Mock

import anyio
import pytest
from opentelemetry import context
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler
from opentelemetry.semconv._incubating.attributes import (
    error_attributes,
    gen_ai_attributes,
    openai_attributes,
    server_attributes,
)
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.trace import SpanKind, StatusCode

from llm_rest import (
    BadRequestError,
    Client,
    ConfigError,
    FallbackModel,
    FunctionCall,
    FunctionCallOutput,
    LLMError,
    Message,
    OverloadedError,
    RateLimitError,
    Reasoning,
    Tool,
    Usage,
    image,
    telemetry,
    tool,
    user,
)
from llm_rest.responses import Compaction, InputTokensDetails, Response, SummaryText
from llm_rest.telemetry import Telemetry
from llm_rest.testing import Broken, FakeModel, Streamed, Thinking, ToolCall
from llm_rest.unknown import with_extras
from llm_rest.wires import NAMES as WIRES
from tests.callers import Awaited, AwaitedStream, NewClient
from tests.conversation.support import done

pytestmark = pytest.mark.anyio

SECRETS = ("secret prompt", "secret answer", "secret argument", "secret result", "secret system", "sk-test-0123456789")


class Exported:
    """Providers of the SDK, and what they exported."""

    def __init__(self, sampler: Sampler = ALWAYS_ON) -> None:
        self._spans, self._logs = InMemorySpanExporter(), InMemoryLogRecordExporter()
        self._metrics = InMemoryMetricReader()
        tracers, loggers = TracerProvider(sampler=sampler), LoggerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        loggers.add_log_record_processor(SimpleLogRecordProcessor(self._logs))
        self.providers: dict[str, Any] = {"tracer_provider": tracers, "logger_provider": loggers}
        self.providers["meter_provider"] = MeterProvider([self._metrics])

    def telemetry(self, **options: Any) -> Telemetry:
        return Telemetry(**self.providers, **options)

    @property
    def spans(self) -> list[ReadableSpan]:
        return [*self._spans.get_finished_spans()]

    def events(self) -> list[Any]:
        return [one.log_record for one in self._logs.get_finished_logs()]

    def metrics(self) -> dict[str, list[Any]]:
        data: Any = self._metrics.get_metrics_data()
        found = [one for resource in data.resource_metrics for scope in resource.scope_metrics for one in scope.metrics]
        return {metric.name: [*metric.data.data_points] for metric in found}

    def shown(self) -> str:
        """All that was exported, as text."""
        events = [f"{one.attributes} {one.body}" for one in self.events()]
        return "".join([*(span.to_json() for span in self.spans), *events, str(self.metrics())])

    def tree(self) -> list[str]:
        """The names of the spans, below their parents, in the order of their starts."""
        spans = sorted(self.spans, key=lambda span: span.start_time or 0)

        def below(parent: int | None, depth: int) -> Iterator[str]:
            for span in spans:
                if (span.parent.span_id if span.parent else None) == parent:
                    failed = " !" if span.status.status_code is StatusCode.ERROR else ""
                    yield f"{'  ' * depth}{span.name}{failed}"
                    assert span.context is not None
                    yield from below(span.context.span_id, depth + 1)

        return [*below(None, 0)]


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return {**(span.attributes or {})}


@pytest.fixture
def exported() -> Exported:
    return Exported()


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streams(request: pytest.FixtureRequest) -> bool:
    return request.param


@pytest.fixture
def new_fake(way: str, exported: Exported) -> NewClient:
    """Makes a client of this way with telemetry, whose model answers with the entries of a script."""

    def make(script: Any, name: str = "fake/model", *, recorded: Any = None, **options: Any) -> Any:
        options["telemetry"] = exported.telemetry(**recorded or {})
        model = FakeModel(script)
        return Awaited(model.client(name, **options)) if way == "sync" else model.async_client(name, **options)

    return make


async def ask(llm: Any, *, streams: bool = False, **options: Any) -> None:
    """One call, whatever becomes of it."""
    with suppress(LLMError):
        if not streams:
            await llm.generate("secret prompt", **options)
            return
        async with llm.stream("secret prompt", **options) as events:
            async for _ in events:
                pass


async def run(llm: Any, *tools: Tool, streams: bool = False) -> None:
    made = getattr(llm, "_inner", llm).run("secret prompt", tools=[*tools], instructions="secret system")
    if streams:
        async with AwaitedStream(made.stream()) if isinstance(llm, Awaited) else made.stream() as events:
            async for _ in events:
                pass
    await done(made.result())


OPTIONS: dict[str, Any] = {"temperature": 0.5, "top_p": 0.9, "max_output_tokens": 99}
SAMPLING = {"gen_ai.request.temperature": 0.5, "gen_ai.request.top_p": 0.9}
MODELS = {
    "openai_responses": ("openai/gpt-4o", "chat", "openai"),
    "openai_chat": ("xai/grok-4", "chat", "x_ai"),
    "anthropic_messages": ("anthropic/claude-opus-4-5", "chat", "anthropic"),
    "ollama_chat": ("ollama/llama3", "chat", "ollama"),
    "gemini_generate_content": ("google/gemini-2.5-flash", "generate_content", "gcp.gemini"),
}


@pytest.mark.parametrize("wire", WIRES)
async def test_the_attributes_of_a_call_on_every_wire(
    new_fake: NewClient, exported: Exported, streams: bool, wire: str
) -> None:
    name, operation, provider = MODELS[wire]
    await ask(new_fake("answer", name, invalid_options="drop", on_loss="ignore"), streams=streams, **OPTIONS)
    (span,) = exported.spans
    found = attributes(span)
    named = name.partition("/")[2]
    assert span.name == f"{operation} {named}"
    assert span.kind is SpanKind.CLIENT
    assert span.status.status_code is StatusCode.UNSET
    wanted = {
        **({} if provider == "anthropic" else SAMPLING),
        "gen_ai.request.max_tokens": 99,
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": named,
        "gen_ai.response.finish_reasons": ("stop",),
        "llm_rest.attempts": 1,
        **({"gen_ai.request.stream": True} if streams else {}),
    }
    assert {key: found.get(key) for key in wanted} == wanted
    assert found["gen_ai.usage.input_tokens"] > 0
    assert found["gen_ai.usage.output_tokens"] > 0
    assert found["gen_ai.response.id"]
    assert found["gen_ai.response.model"]
    assert ("openai.api.type" in found) is (provider == "openai")
    assert ("gen_ai.response.time_to_first_chunk" in found) is streams
    if streams:
        assert span.end_time is not None
        assert span.start_time is not None
        assert 0 < found["gen_ai.response.time_to_first_chunk"] <= (span.end_time - span.start_time) / 1e9


INSIDE = with_extras(InputTokensDetails(cached_tokens=3), {"audio_tokens": 5, "cached_audio_tokens": 2})
USAGE = Usage(input_tokens=9, output_tokens=1, input_tokens_details=INSIDE)
AUDIO = {"gen_ai.usage.audio.input_tokens": 5, "gen_ai.usage.audio.cache_read.input_tokens": 2}
ENDS = {
    "audio": (
        Response(id="r", status="completed", output=[Message(role="assistant", content="Hi")], usage=USAGE),
        AUDIO,
        False,
    ),
    "tool call": (ToolCall("weather"), {"gen_ai.response.finish_reasons": ("tool_call",)}, False),
    "cut": (["The", Broken()], {"gen_ai.response.finish_reasons": ("length",)}, False),
    "refused by the vendor": (BadRequestError("no such thing"), {"error.type": "bad_request"}, True),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
async def test_how_a_call_ended(
    new_fake: NewClient, exported: Exported, streams: bool, end: tuple[Any, dict[str, Any], bool]
) -> None:
    entry, wanted, failed = end
    await ask(new_fake([entry], retry=1), streams=streams)
    (span,) = exported.spans
    assert {name: attributes(span).get(name) for name in wanted} == wanted
    assert (span.status.status_code is StatusCode.ERROR) is failed
    assert span.status.description == ("no such thing" if failed else None)
    assert not [event for event in span.events if event.name == "exception"]


async def test_retries_are_events_of_one_span(new_fake: NewClient, exported: Exported, streams: bool) -> None:
    await ask(new_fake([RateLimitError("slow down", retry_after=0.01), "answer"]), streams=streams)
    (span,) = exported.spans
    (event,) = span.events
    assert event.name == "llm_rest.retry"
    facts = {**(event.attributes or {})}
    assert 0.01 <= facts.pop("delay") < 1  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue]
    assert facts == {"attempt": 1, "error.type": "rate_limit"}
    assert attributes(span)["llm_rest.attempts"] == 2


async def test_the_call_of_the_next_model_links_to_the_one_that_failed(
    new_client: NewClient, exported: Exported, streams: bool
) -> None:
    one, two = FakeModel([OverloadedError("busy")]), FakeModel(["answer"])
    models = [FallbackModel("a/one", vendor=one.vendor("a")), FallbackModel("b/two", vendor=two.vendor("b"))]
    await ask(new_client(models, telemetry=exported.telemetry(), api_key=None), streams=streams)
    failed, answered = exported.spans
    assert (failed.name, answered.name, failed.links) == ("chat one", "chat two", ())
    assert [(link.context, dict(link.attributes or {})) for link in answered.links] == [
        (failed.context, telemetry.FALLBACK)
    ]


@pytest.mark.parametrize("how", ["closed", "collected", "cancelled by the client", "cancelled natively"])
async def test_a_stream_that_is_left_ends_its_span(new_fake: NewClient, exported: Exported, way: str, how: str) -> None:
    llm = new_fake([Streamed("one two three four", delay=0.05)])
    stream = llm.stream("Hi")
    if how == "cancelled natively":
        if way == "sync":
            pytest.skip("is not cancelled")
        with anyio.move_on_after(0.1):
            async with stream:
                [_ async for _ in stream]
    else:
        await stream.__aenter__()
        await anext(stream)
        if how == "closed":
            await stream.aclose()
        elif how != "collected":
            await llm.cancel()
            [_ async for _ in stream]
    assert how != "collected" or not exported.spans
    del stream
    gc.collect()
    (span,) = exported.spans
    assert span.status.status_code is StatusCode.UNSET
    assert attributes(span).get("error.type") == ("cancelled" if how.startswith("cancelled") else None)


# --- runs


@tool
def lookup(argument: str) -> str:
    """Looks something up."""
    return "secret result"


@tool
def fails(argument: str) -> str:
    """Does not work."""
    raise ValueError("secret argument is wrong")


SCRIPT: list[Any] = [
    [ToolCall("lookup", {"argument": "secret argument"}), ToolCall("fails", {"argument": "secret argument"})],
    RateLimitError("slow down", retry_after=0.01),
    "secret answer",
]


async def test_the_tree_of_a_run_with_two_tools_and_a_retry(
    new_fake: NewClient, exported: Exported, streams: bool
) -> None:
    await run(new_fake(SCRIPT, recorded={"agent_name": "helper"}), lookup, fails, streams=streams)
    tree = exported.tree()
    assert tree[:2] == ["invoke_agent helper", "  chat model"]
    assert sorted(tree[2:]) == ["  chat model", "  execute_tool fails !", "  execute_tool lookup"]
    found = {span.name: attributes(span) for span in exported.spans}
    assert found["execute_tool fails"]["error.type"] == "failed"
    assert found["execute_tool lookup"].pop("gen_ai.tool.call.id")
    assert found["execute_tool lookup"] == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.agent.name": "helper",
        "gen_ai.tool.name": "lookup",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Looks something up.",
    }
    (agent,) = [span for span in exported.spans if span.name.startswith("invoke_agent")]
    assert agent.kind is SpanKind.INTERNAL
    assert not [name for name in attributes(agent) if name.startswith("gen_ai.usage")]
    assert [event.name for span in exported.spans for event in span.events] == ["llm_rest.retry"]
    points = exported.metrics()
    assert points["gen_ai.invoke_agent.inference_calls"][0].sum == 2
    assert points["gen_ai.invoke_agent.tool_calls"][0].sum == 2
    tools = {point.attributes["gen_ai.tool.name"] for point in points["gen_ai.execute_tool.duration"]}
    assert tools == {"lookup", "fails"}


async def test_a_call_inside_a_tool_is_below_the_span_of_the_tool(new_fake: NewClient, exported: Exported) -> None:
    inner = FakeModel("inside").client(telemetry=exported.telemetry())

    @tool
    def ask_another(question: str) -> str:
        return inner.generate_text(question)

    await run(new_fake([ToolCall("ask_another", {"question": "?"}), "done"]), ask_another)
    wanted = ["invoke_agent", "  chat model", "  execute_tool ask_another", "    chat model", "  chat model"]
    assert exported.tree() == wanted


async def test_the_call_with_a_nonblocking_result_links_to_the_tool(new_fake: NewClient, exported: Exported) -> None:
    @tool(blocking=False)
    def later(argument: str) -> str:
        return "secret result"

    await run(new_fake([ToolCall("later", {"argument": "a"}), "waiting", "done"]), later)
    (span,) = [span for span in exported.spans if span.name == "execute_tool later"]
    linked = [link.context for one in exported.spans if one.name == "chat model" for link in one.links]
    assert linked == [span.context]


async def test_a_call_of_a_chat_has_the_id_of_the_conversation(new_fake: NewClient, exported: Exported) -> None:
    llm = new_fake("answer")
    chat = getattr(llm, "_inner", llm).chat()
    await done(chat.ask("Hi"))
    assert [attributes(span)["gen_ai.conversation.id"] for span in exported.spans] == [chat.conversation.id] * 2


# --- content


MODES = {
    None: (False, False),
    "NO_CONTENT": (False, False),
    "SPAN_ONLY": (True, False),
    "EVENT_ONLY": (False, True),
    "SPAN_AND_EVENT": (True, True),
    "true": (True, True),
}


@pytest.mark.parametrize("mode", MODES)
async def test_content_is_recorded_only_where_it_is_switched_on(
    new_fake: NewClient, exported: Exported, streams: bool, mode: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mode is not None:
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", mode)
    on_spans, in_events = MODES[mode]
    await run(new_fake(SCRIPT), lookup, fails, streams=streams)
    in_spans = "".join(span.to_json() for span in exported.spans)
    assert {secret for secret in SECRETS if secret in in_spans} == ({*SECRETS[:5]} if on_spans else set())
    events = exported.events()
    assert len(events) == (2 if in_events else 0)
    assert all(event.event_name == "gen_ai.client.inference.operation.details" for event in events)
    assert all("gen_ai.input.messages" in event.attributes for event in events)
    if not (on_spans or in_events):
        assert not [secret for secret in SECRETS if secret in exported.shown()]
    if on_spans:
        (agent,) = (attributes(span) for span in exported.spans if span.name == "invoke_agent")
        names = ("input.messages", "output.messages", "system_instructions", "tool.definitions")
        asked, answered, system, tools = (json.loads(agent[f"gen_ai.{name}"]) for name in names)
        assert asked == [{"role": "user", "parts": [{"type": "text", "content": "secret prompt"}]}]
        answer = [{"type": "text", "content": "secret answer"}]
        assert answered == [{"role": "assistant", "parts": answer, "finish_reason": "stop"}]
        assert system == [{"type": "text", "content": "secret system"}]
        assert [one["name"] for one in tools] == ["lookup", "fails"]


TABLES = (
    *(telemetry.CREATION, telemetry.MEASURED, telemetry.USAGE, telemetry.MODALITIES, telemetry.CALL),
    *(telemetry.OPENAI, telemetry.CONTENT, telemetry.RUN, telemetry.TOOL),
)
ENUMS = {
    "operation.name": {one.value for one in gen_ai_attributes.GenAiOperationNameValues},
    "tool.type": {"function", "extension", "datastore"},
}
REGISTERED = {
    value
    for module in (gen_ai_attributes, gen_ai_metrics, openai_attributes, server_attributes, error_attributes)
    for name, value in vars(module).items()
    if name.isupper() and isinstance(value, str)
}
NEWER = {
    "gen_ai.request.reasoning.level",
    "gen_ai.request.previous_response.id",
    "gen_ai.conversation.compacted",
    "gen_ai.prompt.version",
    "gen_ai.usage.cache_write.input_tokens",
    *telemetry.MODALITIES,
    "gen_ai.execute_tool.duration",
    "gen_ai.invoke_agent.duration",
    "gen_ai.invoke_agent.inference_calls",
    "gen_ai.invoke_agent.tool_calls",
    "operation.cost",
}
"""Names of the conventions' own repository that the package has not got yet, and one that backends read all the same."""


async def test_all_that_is_emitted_is_in_the_registry_of_the_conventions(
    new_fake: NewClient, exported: Exported, streams: bool
) -> None:
    recorded = {"capture_content": "SPAN_AND_EVENT", "agent_name": "a"}
    await run(new_fake(SCRIPT, recorded=recorded), lookup, fails, streams=streams)
    llm = new_fake("answer", "openai/gpt-4o", on_loss="ignore")
    await ask(llm, streams=streams, service_tier="flex", prompt_cache_key="a", **OPTIONS)
    emitted = {name for span in exported.spans for name in span.attributes or {}} | {*exported.metrics()}
    emitted |= {name for points in exported.metrics().values() for point in points for name in point.attributes}
    emitted |= {name for table in TABLES for name in table}
    assert {name for name in emitted if not name.startswith("llm_rest.")} <= REGISTERED | NEWER
    assert not NEWER & REGISTERED
    values = {name: {attributes(span).get(f"gen_ai.{name}") for span in exported.spans} - {None} for name in ENUMS}
    assert all(values[name] and values[name] <= known for name, known in ENUMS.items())
    assert {*telemetry.PROVIDERS.values()} - {"moonshot_ai"} <= {
        one.value for one in gen_ai_attributes.GenAiProviderNameValues
    }


async def test_events_can_be_emitted_without_content(
    new_fake: NewClient, exported: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT", "true")
    await ask(new_fake("secret answer"))
    (event,) = exported.events()
    assert event.attributes["gen_ai.usage.output_tokens"] > 0
    assert f"0x{event.trace_id:032x}" in exported.spans[0].to_json()
    assert "secret" not in exported.shown()


def test_messages_have_the_parts_of_the_conventions(exported: Exported) -> None:
    png = "iVBORw0KGgo="
    items = [
        Message(role="developer", content="rules"),
        user("look", image(f"data:image/png;base64,{png}"), image("https://e.example/a.png")),
        Reasoning(id="rs_1", summary=[SummaryText(text="hm")], encrypted_content="opaque"),
        FunctionCall(call_id="call_1", name="lookup", arguments='{"city":"Oslo"}'),
        FunctionCallOutput(call_id="call_1", output="rain"),
        Compaction(id="cmp_1", encrypted_content="opaque"),
        user(image(f"data:image/png;base64,{'A' * (telemetry.MAX_BLOB * 2)}")),
    ]
    model = FakeModel([[Thinking("so"), "secret answer"]])
    llm = model.client(telemetry=exported.telemetry(capture_content="SPAN_ONLY"), on_loss="ignore")
    llm.generate(items)
    found = attributes(exported.spans[0])
    uri = {"type": "uri", "modality": "image", "uri": "https://e.example/a.png"}
    blob = {"type": "blob", "content": png, "modality": "image", "mime_type": "image/png"}
    omitted = {
        "type": "llm_rest.omitted",
        "size": telemetry.MAX_BLOB * 3 // 2,
        "modality": "image",
        "mime_type": "image/png",
    }
    called = {"type": "tool_call", "id": "call_1", "name": "lookup", "arguments": {"city": "Oslo"}}
    assert json.loads(found["gen_ai.input.messages"]) == [
        {"role": "system", "parts": [{"type": "text", "content": "rules"}]},
        {"role": "user", "parts": [{"type": "text", "content": "look"}, blob, uri]},
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, called]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "rain"}]},
        {"role": "assistant", "parts": [{"type": "compaction", "id": "cmp_1"}]},
        {"role": "user", "parts": [omitted]},
    ]
    (said,) = json.loads(found["gen_ai.output.messages"])
    assert said["finish_reason"] == "stop"
    assert {"type": "text", "content": "secret answer"} in said["parts"]
    assert found["gen_ai.conversation.compacted"] is True
    assert "opaque" not in exported.shown()


# --- metrics


CALL_METRICS = {
    False: {"gen_ai.client.operation.duration", "gen_ai.client.token.usage"},
    True: {
        "gen_ai.client.inference.duration",
        "gen_ai.client.inference.operation.input_tokens",
        "gen_ai.client.inference.operation.output_tokens",
        "gen_ai.client.inference.usage.input_tokens",
        "gen_ai.client.inference.usage.output_tokens",
    },
}
FIRST = {False: "gen_ai.client.operation.time_to_first_chunk", True: "gen_ai.client.inference.time_to_first_chunk"}
BOUNDED = {
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.response.model",
    "error.type",
}
BOUNDED |= {"server.address", "server.port", "gen_ai.token.type"}


@pytest.mark.parametrize("latest", [False, True], ids=["old names", "new names"])
async def test_metrics_have_one_generation_of_names(
    new_fake: NewClient, exported: Exported, streams: bool, latest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if latest:
        monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "http,gen_ai_latest_experimental")
    llm = new_fake(["answer", BadRequestError("no")], retry=1)
    for _ in range(2):
        await ask(llm, streams=streams)
    points = exported.metrics()
    optional = {name for name in points if "cache" in name or "reasoning" in name}
    assert {*points} - optional == CALL_METRICS[latest] | ({FIRST[latest]} if streams else set())
    assert {name for of in points.values() for point in of for name in point.attributes} <= BOUNDED
    duration = points["gen_ai.client.inference.duration" if latest else "gen_ai.client.operation.duration"]
    assert {point.attributes.get("error.type"): point.count for point in duration} == {None: 1, "bad_request": 1}
    assert duration[0].explicit_bounds[:3] == (0.01, 0.02, 0.04)
    if not latest:
        kinds = {point.attributes["gen_ai.token.type"]: point.count for point in points["gen_ai.client.token.usage"]}
        assert kinds == {"input": 1, "output": 1}


async def test_the_time_between_chunks_is_measured_on_demand(new_fake: NewClient, exported: Exported) -> None:
    await ask(new_fake("one two three four", recorded={"chunk_times": True}), streams=True)
    (point,) = exported.metrics()["gen_ai.client.operation.time_per_output_chunk"]
    assert point.count > 0


# --- when there is telemetry


def test_a_sampler_sees_what_is_known_at_the_start() -> None:
    sampler = Mock(wraps=ALWAYS_ON)
    options: dict[str, Any] = {"base_url": "http://127.0.0.1:9", "telemetry": Exported(sampler).telemetry()}
    with Client("openai/gpt-4o", api_key="sk-test", retry=1, **options) as llm:
        llm.try_generate("Hi")
    assert sampler.should_sample.call_args.args[4] == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
        "server.address": "127.0.0.1",
        "server.port": 9,
    }


@pytest.mark.parametrize("key", telemetry.SUPPRESSED)
async def test_a_call_that_others_record_has_no_span(new_fake: NewClient, exported: Exported, key: str) -> None:
    token = context.attach(context.set_value(key, True))
    try:
        await ask(new_fake("answer"))
    finally:
        context.detach(token)
    assert exported.spans == []


SETUP = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
"""
CLIENT = "from llm_rest import Client\nllm = Client('simulator/demo')\n"
COUNT = "llm.generate('Hi')\nprint(len(exporter.get_finished_spans()))"
LOADED = "llm.generate('Hi')\nimport sys; print('opentelemetry' in sys.modules)"
ON = {"LLM_REST_TELEMETRY": "true"}

PROGRAMS: dict[str, tuple[str, dict[str, str], str]] = {
    "set up by the program": (f"{SETUP}{CLIENT}{COUNT}", {}, "1"),
    "refused by the argument": (f"{SETUP}{CLIENT.replace(')', ', telemetry=False)')}{COUNT}", {}, "0"),
    "refused by the environment": (f"{SETUP}{CLIENT}{COUNT}", {"LLM_REST_TELEMETRY": "false"}, "0"),
    "disabled": (f"{SETUP}{CLIENT}{COUNT}", {"OTEL_SDK_DISABLED": "true", **ON}, "0"),
    "set up after the client": (f"{CLIENT}{SETUP}{COUNT}", ON, "1"),
    "without": (f"{CLIENT}{LOADED}", {}, "False"),
    "by the environment": (f"{CLIENT}{LOADED}", ON, "True"),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_when_there_is_telemetry(program: tuple[str, dict[str, str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, environment, printed = program
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (printed, "")


def given(value: Any) -> object:
    return Client("simulator/demo", telemetry=value)


CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
WRONG: list[tuple[dict[str, str], Callable[[], object], str]] = [
    ({}, lambda: given("yes"), "telemetry= takes True, False or a Telemetry, not a str"),
    ({}, lambda: Telemetry(capture_content=cast("Any", "all")), "capture_content='all' is unknown"),
    ({"LLM_REST_TELEMETRY": "maybe"}, lambda: Client("simulator/demo"), "LLM_REST_TELEMETRY='maybe' is unknown"),
    ({CAPTURE: "some"}, Telemetry, "CAPTURE_MESSAGE_CONTENT='some' is unknown"),
]


@pytest.mark.parametrize(("environment", "make", "message"), WRONG)
def test_wrong_settings_are_refused(
    environment: dict[str, str], make: Callable[[], object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=message):
        make()


def test_telemetry_without_the_package_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "llm_rest.telemetry")
    with pytest.raises(ConfigError, match="telemetry needs OpenTelemetry"):
        given(True)
