"""OpenTelemetry: spans and metrics of calls, tools and runs, by the conventions for generative AI. Needs the extra `otel`.

The names are our own constants, because the conventions change (open-telemetry/semantic-conventions-genai, 2026-11-22). Metrics
have the names used by current dashboards, or the new ones with `OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental`. Before
changing this file, know that prompts, answers, arguments and results are recorded only where that is switched on, opaque state
and keys never, and that a call without any provider of OpenTelemetry has almost no overhead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import cache, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace
from opentelemetry import context, metrics, trace
from opentelemetry.metrics import _internal

from .client.hooks import ClientCallEnd, ClientCallStart, RequestRetry, WatchedCall
from .errors import ConfigError, LLMError
from .loop import events as loop
from .responses.items import AnyItem, Compaction, CustomToolCall, FunctionCall
from .responses.parts import parse_data_url
from .responses.request import Request, items_of
from .unknown import extras, given

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from .client.call import Caller
    from .client.hooks import ClientCallEvent
    from .loop.state import RunState, ToolCall
    from .tools import Toolbox

Capture = Literal["NO_CONTENT", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT"]
"""The recording of prompts, answers, arguments and results of tools: nowhere, on spans, in events, or in both."""

Table = Mapping[str, "str | Callable[[Any], Any]"]
"""Attributes and the sources of their values: the path of a field, or a function."""

# --- the tables ------------------------------------------------------------------------------------------------------

NAME = "llm_rest"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
EMIT_EVENT = "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"
LATEST = "gen_ai_latest_experimental"
SUPPRESSED = ("suppress_language_model_instrumentation", "suppress_instrumentation")
"""Context values with which other instrumentations mark a call that they already record."""
LINKS = context.create_key("llm_rest.links")
FALLBACK = {"llm_rest.link": "fallback"}
"""An attribute of the link of a model call to the failed call of another model before it."""
MAX_BLOB = 64 * 1024
"""The maximum size of a recorded image or other file, in bytes."""

PROVIDERS = {
    "google": "gcp.gemini",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
    "mistral": "mistral_ai",
    "azure_openai": "azure.ai.openai",
    "moonshot": "moonshot_ai",
    "bedrock_mantle": "aws.bedrock",
}
"""`gen_ai.provider.name` of vendors; for others it is this library's name of the vendor."""

OPERATIONS = {"generate": "chat", "retrieve": "fetch_response"}
"""`gen_ai.operation.name` of calls; other calls have no span."""


@cache
def server_of(base_url: str) -> tuple[str | None, int | None]:
    """Host and port of a base URL; nothing for a URL without a host."""
    url = urlsplit(base_url)
    return url.hostname, (url.port or (443 if url.scheme == "https" else 80)) if url.hostname else None


CREATION: Table = {
    "gen_ai.operation.name": lambda call: (
        "generate_content"
        if (call.operation, call.target.endpoint.wire) == ("generate", "gemini_generate_content")
        else OPERATIONS[call.operation]
    ),
    "gen_ai.provider.name": lambda call: PROVIDERS.get(call.target.vendor, call.target.vendor),
    "gen_ai.request.model": "target.model",
    "server.address": lambda call: server_of(call.target.endpoint.base_url)[0],
    "server.port": lambda call: server_of(call.target.endpoint.base_url)[1],
}
"""Attributes of a model call for samplers and metrics."""

MEASURED: Table = {
    "gen_ai.response.model": "reply.model",
    "error.type": lambda call: "cancelled" if call.outcome == "cancelled" else call.error_kind,
}
"""Further attributes of the metrics of a model call, at its end."""

USAGE: Table = {
    "gen_ai.usage.input_tokens": "reply.usage.input_tokens",
    "gen_ai.usage.output_tokens": "reply.usage.output_tokens",
    "gen_ai.usage.cache_read.input_tokens": "reply.usage.input_tokens_details.cached_tokens",
    "gen_ai.usage.cache_write.input_tokens": "reply.usage.input_tokens_details.cache_write_tokens",
    "gen_ai.usage.reasoning.output_tokens": "reply.usage.output_tokens_details.reasoning_tokens",
}

_DETAILS = {
    "input_tokens": "input_tokens_details.",
    "output_tokens": "output_tokens_details.",
    "cache_read.input_tokens": "input_tokens_details.cached_",
}
MODALITIES: Table = {
    f"gen_ai.usage.{kind}.{name}": f"reply.usage.{path}{kind}_tokens"
    for kind in ("text", "image", "audio")
    for name, path in _DETAILS.items()
}
"""Tokens by modality, where the vendor counts them separately."""

CALL: Table = {
    "gen_ai.request.stream": lambda call: call.stream or None,
    "gen_ai.request.temperature": "request.temperature",
    "gen_ai.request.top_p": "request.top_p",
    "gen_ai.request.top_k": "request.top_k",
    "gen_ai.request.frequency_penalty": "request.frequency_penalty",
    "gen_ai.request.presence_penalty": "request.presence_penalty",
    "gen_ai.request.max_tokens": "request.max_output_tokens",
    "gen_ai.request.seed": "request.seed",
    "gen_ai.request.stop_sequences": lambda call: _listed(getattr(call.request, "stop", None)),
    "gen_ai.request.reasoning.level": "request.reasoning.effort",
    "gen_ai.request.previous_response.id": "request.previous_response_id",
    "gen_ai.output.type": lambda call: _output_type(call.request),
    "gen_ai.conversation.id": lambda call: _conversation(call),
    "gen_ai.conversation.compacted": lambda call: any(isinstance(one, Compaction) for one in _input(call)) or None,
    "gen_ai.prompt.name": "request.prompt.id",
    "gen_ai.prompt.version": "request.prompt.version",
    "gen_ai.response.id": "reply.id",
    "gen_ai.response.finish_reasons": lambda call: _listed(_finish_reason(call)),
    "gen_ai.response.time_to_first_chunk": "first_event",
    "llm_rest.attempts": "attempts",
    "llm_rest.losses": lambda call: len(getattr(call.reply, "losses", ())),
    "llm_rest.losses.kinds": lambda call: [*dict.fromkeys(loss.kind for loss in getattr(call.reply, "losses", ()))],
    "llm_rest.request_id": "request_id",
    "operation.cost": lambda call: None if (nano := getattr(call.reply, "cost", None)) is None else nano / 1e9,
}
"""Further attributes of a model call."""

OPENAI: Table = {
    "openai.api.type": lambda call: "responses" if "responses" in call.target.endpoint.wire else "chat_completions",
    "openai.request.service_tier": "request.service_tier",
    "openai.response.service_tier": "reply.service_tier",
    "openai.response.system_fingerprint": "reply.system_fingerprint",
}
"""Further attributes of model calls at `openai` and `azure_openai`."""

CONTENT: Table = {
    "gen_ai.input.messages": lambda call: _json(_messages(_input(call))),
    "gen_ai.output.messages": lambda call: _json(
        [
            {**one, "finish_reason": _finish_reason(call) or "error"}
            for one in _messages(getattr(call.reply, "output", ()))
        ]
    ),
    "gen_ai.system_instructions": lambda call: _json(_listed(_text(getattr(call.request, "instructions", None)))),
    "gen_ai.tool.definitions": lambda call: _json(
        [
            {name: tool[name] for name in tool if name not in ("authorization", "headers", "leftovers")}
            for tool in msgspec.to_builtins([*(getattr(call.request, "tools", None) or ())])
        ]
    ),
}
"""Attributes with the content of a model call, where content is recorded."""

RUN: Table = {
    "gen_ai.operation.name": lambda run: "invoke_agent",
    "gen_ai.agent.name": "telemetry.agent_name",
    "gen_ai.request.model": "model",
    "gen_ai.conversation.id": "conversation",
    "gen_ai.output.type": lambda run: _output_type(run.request),
}

TOOL: Table = {
    "gen_ai.operation.name": lambda call: "execute_tool",
    "gen_ai.tool.name": "name",
    "gen_ai.tool.type": lambda call: "function",
}
"""Attributes of the spans and metrics of a tool."""

FINISH_REASONS = {"max_output_tokens": "length", "max_messages": "length", "content_filter": "content_filter"}
"""`gen_ai.response.finish_reasons` of answers that are incomplete for these reasons."""

SECONDS = tuple(0.01 * 2**i for i in range(14))
TOKENS = tuple(4**i for i in range(14))
RUN_SECONDS = tuple(0.1 * 2**i for i in range(13))


class Instrument(NamedTuple):
    """A metric: its name, its new name if there is one, and a description."""

    name: str
    new_name: str | None = None
    unit: str = "s"
    buckets: tuple[float, ...] | None = SECONDS
    counter: bool = False


_CLIENT = "gen_ai.client.inference"
INSTRUMENTS = {
    "generate": Instrument("gen_ai.client.operation.duration", f"{_CLIENT}.duration"),
    "retrieve": Instrument("gen_ai.client.operation.duration"),
    "first": Instrument("gen_ai.client.operation.time_to_first_chunk", f"{_CLIENT}.time_to_first_chunk"),
    "chunk": Instrument("gen_ai.client.operation.time_per_output_chunk", f"{_CLIENT}.time_per_output_chunk"),
    "tool": Instrument("gen_ai.execute_tool.duration"),
    "run": Instrument("gen_ai.invoke_agent.duration", buckets=RUN_SECONDS),
    "run calls": Instrument("gen_ai.invoke_agent.inference_calls", unit="{call}", buckets=None),
    "run tools": Instrument("gen_ai.invoke_agent.tool_calls", unit="{call}", buckets=None),
    "input": Instrument("gen_ai.client.token.usage", f"{_CLIENT}.operation.input_tokens", "{token}", TOKENS),
    "output": Instrument("gen_ai.client.token.usage", f"{_CLIENT}.operation.output_tokens", "{token}", TOKENS),
    **{name: Instrument("", name.replace("gen_ai", _CLIENT, 1), "{token}", None, counter=True) for name in USAGE},
}

SERVER_TOOLS = {
    "web_search_call": (("action",), ()),
    "file_search_call": (("queries",), ("results",)),
    "code_interpreter_call": (("code",), ("outputs",)),
    "image_generation_call": ((), ("revised_prompt",)),
    "mcp_call": (("server_label", "arguments"), ("output", "error")),
}
"""Calls that the vendor executes: the fields of the call, and those of its result."""

ITEMS: dict[str, Callable[[Any], tuple[str, list[Any]]]] = {
    "message": lambda item: ("system" if item.role == "developer" else item.role, _content_parts(item.content)),
    "reasoning": lambda item: (
        "assistant",
        [_text(part.text, "reasoning") for part in (*(item.summary or ()), *(item.content or ())) if _of(part, "text")],
    ),
    "compaction": lambda item: ("assistant", [{"type": "compaction", **_known(item, {"id": "id"})}]),
    **dict.fromkeys(
        ("function_call", "custom_tool_call"),
        lambda item: (
            "assistant",
            [{"type": "tool_call", "id": item.call_id, "name": item.name, "arguments": _arguments(item)}],
        ),
    ),
    **dict.fromkeys(
        ("function_call_output", "custom_tool_call_output"),
        lambda item: ("tool", [{"type": "tool_call_response", "id": item.call_id, "response": _result(item.output)}]),
    ),
    **dict.fromkeys(SERVER_TOOLS, lambda item: ("assistant", _server_call(item))),
}
"""The role and the parts of an item in `gen_ai.input.messages`; of other items only the kind is recorded."""

MEDIA = {"input_image": "image", "input_audio": "audio", "input_video": "video", "input_file": "document"}
"""Parts that are no text, and their modality."""
LOCATIONS = ("image_url", "video_url", "file_url", "file_data")

# --- calls -----------------------------------------------------------------------------------------------------------


class Telemetry:
    """Records calls, tools and runs of clients: `Client(..., telemetry=Telemetry(...))`; `telemetry=True` is one without options.

    The providers are those of OpenTelemetry's API unless given. `capture_content` selects where prompts, answers, arguments and
    results are recorded (default: `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`, else nowhere), `agent_name` names the
    spans of runs, and `chunk_times` also measures the time between the chunks of streams. Raises `ConfigError` for other values.
    """

    def __init__(
        self,
        *,
        tracer_provider: Any = None,
        meter_provider: Any = None,
        logger_provider: Any = None,
        capture_content: Capture | None = None,
        agent_name: str | None = None,
        chunk_times: bool = False,
    ) -> None:
        env, version = os.environ, sys.modules[NAME].__version__
        setting = capture_content or env.get(CAPTURE) or "NO_CONTENT"
        mode = {"TRUE": "SPAN_AND_EVENT", "FALSE": "NO_CONTENT"}.get(setting.upper(), setting.upper())
        if mode not in get_args(Capture):
            where = "capture_content" if capture_content else CAPTURE
            raise ConfigError(f"{where}={setting!r} is unknown", hint=f"use one of {', '.join(get_args(Capture))}")
        self.on_spans, self.in_events = "SPAN" in mode, "EVENT" in mode
        self.agent_name, self._chunk_times = agent_name, chunk_times
        self._latest = LATEST in env.get("OTEL_SEMCONV_STABILITY_OPT_IN", "").split(",")
        given_ones = (tracer_provider, meter_provider, logger_provider)
        self._always = given_ones != (None, None, None) or "OTEL_PYTHON_TRACER_PROVIDER" in env
        self.tracer = trace.get_tracer(NAME, version, tracer_provider)
        self._meter = metrics.get_meter(NAME, version, meter_provider)
        emits = env.get(EMIT_EVENT, str(self.in_events)).lower() == "true"
        self._emit = _emitter(version, logger_provider) if emits else None
        self._instruments: dict[str, Callable[[float, Mapping[str, Any]], object]] = {}

    def is_active(self) -> bool:
        """Whether there is a provider to record with: the API alone records nothing, and costs more than this check."""
        tracing, metering = vars(trace).get("_TRACER_PROVIDER", self), vars(_internal).get("_METER_PROVIDER", self)
        return self._always or tracing is not None or metering is not None

    def __call__(self, call: WatchedCall, event: type[ClientCallEvent], fields: Mapping[str, Any]) -> None:
        """Record an event of a call (the watcher)."""
        if event is ClientCallStart and call.operation in OPERATIONS and not _is_suppressed():
            self._start(call)
        elif event is RequestRetry and call.span is not None:
            retry = {"attempt": fields["attempt"], "delay": fields["wait"], "error.type": fields["reason"]}
            call.span.add_event("llm_rest.retry", retry)
        elif event is ClientCallEnd and call.span is not None:
            self._end(call, call.span, _known(call, CREATION))

    def _start(self, call: WatchedCall) -> None:
        links: Any = context.get_value(LINKS) or ()
        if call.fallback_of is not None and call.fallback_of.span is not None:
            links = [*links, trace.Link(call.fallback_of.span.get_span_context(), FALLBACK)]
        facts = _known(call, CREATION)
        name = f"{facts['gen_ai.operation.name']} {call.target.model}".strip()
        more: Any = {"kind": trace.SpanKind.CLIENT, "attributes": facts, "links": links}
        call.span = self.tracer.start_span(name, **more)
        call.activate = partial(trace.use_span, call.span, record_exception=False, set_status_on_exception=False)
        if self._chunk_times:
            call.on_chunk = self._chunks(facts)

    def _chunks(self, facts: dict[str, Any]) -> Callable[[], None]:
        """A function that measures the time between chunks."""
        times: list[float] = []

        def received() -> None:
            times.append(perf_counter())
            if len(times) > 1:
                self.record("chunk", times[1] - times.pop(0), facts)

        return received

    def _end(self, call: WatchedCall, span: Span, facts: dict[str, Any]) -> None:
        usage, measured = _known(call, USAGE), {**facts, **_known(call, MEASURED)}
        if span.is_recording() or self._emit is not None:
            known = {**measured, **_known(call, CALL), **usage, **_known(call, MODALITIES)}
            if call.target.vendor in ("openai", "azure_openai"):
                known |= _known(call, OPENAI)
            content = {**known, **_known(call, CONTENT)} if self.on_spans or self.in_events else known
            span.set_attributes(content if self.on_spans else known)
            if call.outcome == "failed":
                error = call.error.message if isinstance(call.error, LLMError) else call.error_kind
                span.set_status(trace.StatusCode.ERROR, error)
            if self._emit is not None:
                self._emit(content if self.in_events else known, trace.set_span_in_context(span))
        span.end()
        # After the span, because some backends derive metrics from spans as well.
        self.record(call.operation, call.seconds, measured)
        if call.first_event is not None:
            self.record("first", call.first_event, measured)
        plain = {name: value for name, value in measured.items() if name != "error.type"}
        for name, count in usage.items():
            if self._latest:
                self.record(name, count, plain)
            kind = name.removeprefix("gen_ai.usage.").removesuffix("_tokens")
            if kind in INSTRUMENTS:
                self.record(kind, count, plain if self._latest else {**plain, "gen_ai.token.type": kind})

    def trace_run(self, caller: Caller, state: RunState, tools: Toolbox) -> RunTrace:
        """The recorder of a run of the tool loop."""
        return RunTrace(self, caller, state, tools)

    def record(self, what: str, value: float, attributes: Mapping[str, Any]) -> None:
        """Record a value of a metric."""
        facts = INSTRUMENTS[what]
        name = (facts.new_name if self._latest else None) or facts.name
        made = self._instruments.get(name)
        if made is None:
            buckets: Any = {"explicit_bucket_boundaries_advisory": facts.buckets} if facts.buckets else {}
            make: Any = self._meter.create_counter if facts.counter else self._meter.create_histogram
            made = getattr(make(name, unit=facts.unit, **buckets), "add" if facts.counter else "record")
            self._instruments[name] = made
        made(value, attributes)


class RunTrace:
    """The spans of a run and of its tools. Events start and end them; jobs run inside them."""

    def __init__(self, telemetry: Telemetry, caller: Caller, state: RunState, tools: Toolbox) -> None:
        self.telemetry, self.conversation = telemetry, caller.conversation_id
        self.reply = state.response
        self.request = replace(state.request, input=[*state.items], tools=tools.definitions or None)
        self.model = caller.targets.find(state.request.model or caller.defaults.get("model")).model
        self._described = {getattr(one, "name", ""): getattr(one, "description", None) for one in tools.definitions}
        self._agent = _known(self, {"gen_ai.agent.name": "telemetry.agent_name"})
        self._span: Any = None  # the span of the run, while it is active
        self._tools: dict[str, tuple[Span, ToolCall, float]] = {}
        self._ended: dict[str, Any] = {}  # the spans of nonblocking calls whose results were not sent to the model yet
        self._links: list[trace.Link] = []
        self._began, self._counts = 0.0, {"run calls": 0, "run tools": 0}

    def on_event(self, event: Any) -> None:
        """An event hook of the run."""
        if self._span is None:
            name = " ".join(filter(None, ["invoke_agent", self.telemetry.agent_name]))
            self._span = self.telemetry.tracer.start_span(name, attributes=_known(self, RUN))
            self._began, self._counts = perf_counter(), dict.fromkeys(self._counts, 0)
        match event:
            case loop.IterationStart():
                self._counts["run calls"] += 1
            case loop.LLMResponse(response=response):
                self.reply = response
            case loop.CallExecuting(call=call):
                self._start_tool(call)
            case loop.CallCompleted(call=call) | loop.CallFailed(call=call) if call.execution_id in self._tools:
                self._end_tool(call)
            case loop.NonblockingResult(call=call) if call.execution_id in self._ended:
                self._links.append(trace.Link(self._ended.pop(call.execution_id)))
            case loop.RunEnd():
                for _, call, _ in [*self._tools.values()]:
                    self._end_tool(call)
                self._end(event.outcome)
            case _:
                pass

    def scope(self, name: str, job: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], Coroutine[Any, Any, None]]:
        """The job inside its span: that of the tool, or of the run."""

        async def work() -> None:
            within = trace.set_span_in_context(self._tools[name][0] if name in self._tools else self._span)
            if name == "model":
                links, self._links = self._links, []
                within = context.set_value(LINKS, links, within)
            context.attach(within)  # for good: the thread or the task is the job's own
            await job()

        return work

    def _start_tool(self, call: ToolCall) -> None:
        more: dict[str, str] = {"gen_ai.tool.call.id": "call_id"}
        if self.telemetry.on_spans:
            more["gen_ai.tool.call.arguments"] = "arguments"
        attributes = {**_known(call, {**TOOL, **more}), **self._agent}
        if description := self._described.get(call.name):
            attributes["gen_ai.tool.description"] = description
        parent, start = trace.set_span_in_context(self._span), self.telemetry.tracer.start_span
        self._tools[call.execution_id] = (
            start(f"execute_tool {call.name}", parent, attributes=attributes),
            call,
            perf_counter(),
        )
        self._counts["run tools"] += 1

    def _end_tool(self, call: ToolCall) -> None:
        span, _, began = self._tools.pop(call.execution_id)
        if not call.blocking:
            self._ended[call.execution_id] = span.get_span_context()
        if self.telemetry.on_spans:
            span.set_attribute("gen_ai.tool.call.result", _json(_result(call.output)) or "")
        failed = _ended(span, call.state if call.over else "cancelled", "tool call")
        self.telemetry.record("tool", perf_counter() - began, {**_known(call, TOOL), **self._agent, **failed})

    def _end(self, outcome: str) -> None:
        if self.telemetry.on_spans:
            self._span.set_attributes(_known(self, CONTENT))
        failed, self._span = _ended(self._span, outcome, "run"), None
        facts = {**self._agent, **failed, "gen_ai.request.model": self.model}
        self.telemetry.record("run", perf_counter() - self._began, facts)
        for what, count in self._counts.items():
            self.telemetry.record(what, count, self._agent)


def _ended(span: Span, outcome: str, what: str) -> dict[str, Any]:
    """End the span of a tool or a run; the attributes of its failure."""
    failed = {} if outcome in ("completed", "waiting") else {"error.type": outcome}
    span.set_attributes(failed)
    if failed and outcome != "cancelled":
        span.set_status(trace.StatusCode.ERROR, f"the {what} ended as {outcome}")
    span.end()
    return failed


def _emitter(version: str, provider: Any) -> Callable[[Mapping[str, Any], Any], None] | None:
    """A function that emits the event of a model call; `None` with an API that has no events yet."""
    try:
        from opentelemetry._logs import LogRecord, SeverityNumber, get_logger
    except ImportError:
        return None
    logger = get_logger(NAME, version, provider)
    make = partial(LogRecord, event_name=f"{_CLIENT}.operation.details", severity_number=SeverityNumber.INFO)
    return lambda attributes, within: logger.emit(make(attributes=attributes, context=within))


def _is_suppressed() -> bool:
    """Whether another instrumentation records this call already."""
    module = sys.modules.get("opentelemetry.util.genai.invocation")
    keys = (*SUPPRESSED, getattr(module, "CLIENT_INFERENCE_CONTEXT_KEY", ""))
    return any(context.get_value(key) for key in keys)


# --- values ----------------------------------------------------------------------------------------------------------


def _known(struct: Any, table: Table) -> dict[str, Any]:
    """The attributes of a table that have a value."""
    found = ((name, _of(struct, how) if isinstance(how, str) else how(struct)) for name, how in table.items())
    return {name: value for name, value in found if given(value) and value not in ("", [])}


def _of(struct: Any, path: str) -> Any:
    """The field at this path, also one that is not declared by its struct; `None` without one."""
    for field in path.split("."):
        found = getattr(struct, field, None)
        struct = extras(struct).get(field) if found is None and struct is not None else found
    return struct


def _listed(value: Any) -> list[Any] | None:
    return [value] if isinstance(value, str | dict) else value and [*value]


def _conversation(call: WatchedCall) -> str | None:
    return call.conversation or _of(call, "request.conversation.id") or _of(call, "request.conversation")


def _output_type(request: Request | None) -> str | None:
    kind = str(_of(request, "text.format.type"))
    return "json" if kind.startswith("json") else "image" if given(_of(request, "image")) else None


def _finish_reason(call: WatchedCall) -> str | None:
    """The finish reason by the conventions; `None` for an answer that was closed early or cancelled."""
    status, output = _of(call.reply, "status"), getattr(call.reply, "output", ())
    if status == "completed":
        if any(isinstance(item, FunctionCall | CustomToolCall) for item in output):
            return "tool_call"
        return "compaction" if output and isinstance(output[-1], Compaction) else "stop"
    reason = _of(call.reply, "incomplete_details.reason")
    return "error" if status == "failed" else FINISH_REASONS.get(reason, reason)


def _json(value: Any) -> str | None:
    return str(msgspec.json.encode(value), "utf-8") if value else None


def _input(call: WatchedCall) -> list[AnyItem]:
    return [] if call.request is None else items_of(call.request)


def _messages(items: Iterable[AnyItem]) -> list[dict[str, Any]]:
    """Items as messages with parts. Consecutive text, calls and reasoning of the assistant are one message."""
    found: list[dict[str, Any]] = []
    for item in items:
        plain = f"llm_rest.{getattr(item, 'kind', item.type)}"
        role, parts = ITEMS.get(item.type, lambda _, kind=plain: ("assistant", [{"type": kind}]))(item)
        if found and found[-1]["role"] == role and role in ("assistant", "tool"):
            found[-1]["parts"] += parts
        elif parts:
            found.append({"role": role, "parts": parts})
    return found


def _text(text: str | None, kind: str = "text") -> dict[str, Any] | None:
    return {"type": kind, "content": text} if text else None


def _arguments(item: Any) -> Any:
    try:
        return msgspec.json.decode(item.arguments)
    except (AttributeError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return getattr(item, "arguments", None) or getattr(item, "input", "")


def _result(output: Any) -> Any:
    """What a tool returned: its text, or parts."""
    return output if isinstance(output, str) or output is None else _content_parts(output)


def _server_call(item: Any) -> list[dict[str, Any]]:
    """A call that the vendor executed, and its result."""
    plain: dict[str, Any] = msgspec.to_builtins(item)
    called, returned = ({name: plain[name] for name in names if plain.get(name)} for names in SERVER_TOOLS[item.type])
    kind = item.type.removesuffix("_call")
    call = {"type": "server_tool_call", "id": item.id, "name": getattr(item, "name", kind)}
    answered = {"type": "server_tool_call_response", "id": item.id}
    parts = [{**call, "server_tool_call": {"type": kind, **called}}]
    return [*parts, {**answered, "server_tool_call_response": {"type": kind, **returned}}] if returned else parts


def _content_parts(content: Any) -> list[Any]:
    return _listed(_text(content)) or [] if isinstance(content, str) else [_part(part) for part in content]


def _part(part: Any) -> dict[str, Any]:
    modality = MEDIA.get(part.type)
    if modality is None:
        return _text(_of(part, "text") or _of(part, "refusal")) or {"type": f"llm_rest.{part.type}"}
    url = next((str(found) for name in LOCATIONS if (found := _of(part, name))), "")
    media = parse_data_url(url)
    if media is None:
        kind, data = f"audio/{_of(part, 'input_audio.format')}", _of(part, "input_audio.data")
    else:
        kind, data = media.type, media.data
    common = {"modality": modality, "mime_type": kind}
    if data is not None and len(data) > MAX_BLOB * 4 // 3:
        return {"type": "llm_rest.omitted", "size": len(data) * 3 // 4, **common}
    if data is not None:
        return {"type": "blob", "content": data, **common}
    file = _of(part, "file_id")
    return (
        {"type": "file", "modality": modality, "file_id": file}
        if file
        else {"type": "uri", "modality": modality, "uri": url}
    )
