"""A run with tools, and its trace as a tree: `python examples/tracing.py`.

Needs the extra `otel` and `opentelemetry-sdk`. The exporter keeps the spans in memory; a program gives one that sends
them to its backend instead.
"""

from __future__ import annotations

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from llm_rest import Client, tool
from llm_rest.telemetry import Telemetry

SCRIPT = """\
call get_weather {"city": "Oslo"}
call book_flight {"city": "Oslo"}
say It rains in Oslo, and there is no flight."""


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


@tool
def book_flight(city: str) -> str:
    """Book a flight to a city."""
    raise RuntimeError(f"no flight to {city}")


def print_tree(spans: list[ReadableSpan], parent: int | None = None, depth: int = 0) -> None:
    """Print the spans below a parent, each with what ended it."""
    for span in sorted(spans, key=lambda span: span.start_time or 0):
        if (span.parent.span_id if span.parent else None) == parent and span.context is not None:
            tokens = (span.attributes or {}).get("gen_ai.usage.output_tokens")
            failed = " failed" if span.status.status_code is StatusCode.ERROR else ""
            print(f"{'  ' * depth}{span.name}{failed}" + (f" ({tokens} output tokens)" if tokens else ""))
            print_tree(spans, span.context.span_id, depth + 1)


def main() -> None:
    """Run the agent and print its trace."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry = Telemetry(tracer_provider=provider, agent_name="traveller")
    with Client("simulator/demo", telemetry=telemetry) as llm:
        print(llm.generate_with_tools(SCRIPT, [get_weather, book_flight]).output_text)
    print_tree([*exporter.get_finished_spans()])


if __name__ == "__main__":
    main()
