"""OpenTelemetry: spans and metrics of calls, tools and runs, by the conventions for generative AI. Needs the extra `otel`.

The names are our own constants, because the conventions change (open-telemetry/semantic-conventions-genai, 2026-11-22). Metrics
have the names used by current dashboards, or the new ones with `OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental`. Before
changing this file, know that prompts, answers, arguments and results are recorded only where that is switched on, opaque state
and keys never, and that a call without any provider of OpenTelemetry has almost no overhead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, get_args

from msgspec.structs import replace
from opentelemetry import context, metrics, trace
from opentelemetry.metrics import _internal

from ..client.hooks import ClientCallEnd, ClientCallStart, RequestRetry, WatchedCall
from ..errors import ConfigError, LLMError
from ..loop import events as loop
from .attributes import (
    CALL,
    CONTENT,
    CREATION,
    EVENT,
    INSTRUMENTS,
    MEASURED,
    MODALITIES,
    OPENAI,
    OPERATIONS,
    RUN,
    TOOL,
    USAGE,
    values_of,
)
from .content import as_json, result_of

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from ..client.call import Caller
    from ..client.hooks import ClientCallEvent
    from ..loop.state import RunState, ToolCall
    from ..tools import Toolbox

Capture = Literal["NO_CONTENT", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT"]
"""The recording of prompts, answers, arguments and results of tools: nowhere, on spans, in events, or in both."""

NAME = "llm_rest"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
EMIT_EVENT = "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"
LATEST = "gen_ai_latest_experimental"
SUPPRESSED = ("suppress_language_model_instrumentation", "suppress_instrumentation")
"""Context values with which other instrumentations mark a call that they already record."""
LINKS = context.create_key("llm_rest.links")
FALLBACK = {"llm_rest.link": "fallback"}
"""An attribute of the link of a model call to the failed call of another model before it."""


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
            self._end(call, call.span, values_of(call, CREATION))

    def _start(self, call: WatchedCall) -> None:
        links: Any = context.get_value(LINKS) or ()
        if call.fallback_of is not None and call.fallback_of.span is not None:
            links = [*links, trace.Link(call.fallback_of.span.get_span_context(), FALLBACK)]
        facts = values_of(call, CREATION)
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
        usage, measured = values_of(call, USAGE), {**facts, **values_of(call, MEASURED)}
        if span.is_recording() or self._emit is not None:
            known = {**measured, **values_of(call, CALL), **usage, **values_of(call, MODALITIES)}
            if call.target.vendor in ("openai", "azure_openai"):
                known |= values_of(call, OPENAI)
            content = {**known, **values_of(call, CONTENT)} if self.on_spans or self.in_events else known
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
        self._agent = values_of(self, {"gen_ai.agent.name": "telemetry.agent_name"})
        self._span: Any = None  # the span of the run, while it is active
        self._tools: dict[str, tuple[Span, ToolCall, float]] = {}
        self._ended: dict[str, Any] = {}  # the spans of nonblocking calls whose results were not sent to the model yet
        self._links: list[trace.Link] = []
        self._began, self._counts = 0.0, {"run calls": 0, "run tools": 0}

    def on_event(self, event: Any) -> None:
        """An event hook of the run."""
        if self._span is None:
            name = " ".join(filter(None, ["invoke_agent", self.telemetry.agent_name]))
            self._span = self.telemetry.tracer.start_span(name, attributes=values_of(self, RUN))
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
        attributes = {**values_of(call, {**TOOL, **more}), **self._agent}
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
            span.set_attribute("gen_ai.tool.call.result", as_json(result_of(call.output)) or "")
        failed = _ended(span, call.state if call.over else "cancelled", "tool call")
        self.telemetry.record("tool", perf_counter() - began, {**values_of(call, TOOL), **self._agent, **failed})

    def _end(self, outcome: str) -> None:
        if self.telemetry.on_spans:
            self._span.set_attributes(values_of(self, CONTENT))
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
    make = partial(LogRecord, event_name=EVENT, severity_number=SeverityNumber.INFO)
    return lambda attributes, within: logger.emit(make(attributes=attributes, context=within))


def _is_suppressed() -> bool:
    """Whether another instrumentation records this call already."""
    module = sys.modules.get("opentelemetry.util.genai.invocation")
    keys = (*SUPPRESSED, getattr(module, "CLIENT_INFERENCE_CONTEXT_KEY", ""))
    return any(context.get_value(key) for key in keys)
