"""An agent with two tools it waits for and three it does not, and the timeline of its run.

    python examples/weather_agent.py                            # the simulator: no key, no network
    python examples/weather_agent.py --wire anthropic_messages  # the same through another wire
    python examples/weather_agent.py -m openai/gpt-5.2          # a real model

The model asks for all five at once. The two blocking ones go back together; the other three are told to be pending, and
each wakes the model up when its result arrives.
"""

from __future__ import annotations

import argparse
import time

from llm_rest import (
    AnyLoopEvent,
    CallCompleted,
    CallExecuting,
    CallFailed,
    Client,
    LLMResponse,
    NonblockingResponse,
    NonblockingResult,
    ResultArrived,
    ToolCall,
    tool,
)


@tool
def get_weather(city: str) -> str:
    """The weather in a city, now."""
    time.sleep(0.05)
    return f"4 degrees and rain in {city}"


@tool
def get_alerts(city: str) -> list[str]:
    """Warnings of the weather service for a city."""
    time.sleep(0.1)
    return [f"gale warning for the coast off {city}"]


@tool(blocking=False)
def scan_radar(city: str) -> str:
    """Scan the rain radar around a city."""
    time.sleep(0.3)
    return f"showers 20 km west of {city}"


@tool(blocking=False)
def compute_forecast(city: str, days: int) -> str:
    """Compute a forecast; takes a while."""
    time.sleep(0.5)
    return f"{days} days of rain in {city}"


@tool(blocking=False, timeout=0.7)
def ask_meteorologist(city: str) -> str:
    """Ask a meteorologist, who may not be in."""
    time.sleep(2)
    return f"bring an umbrella to {city}"


QUESTION = "How is the weather in Bergen? Use all your tools at once, and tell me what you know as it comes in."

SCRIPT = """\
call get_weather {"city": "Bergen"}
call get_alerts {"city": "Bergen"}
call scan_radar {"city": "Bergen"}
call compute_forecast {"city": "Bergen", "days": 3}
call ask_meteorologist {"city": "Bergen"}
say Rain and 4 degrees in Bergen, with a gale warning. I am still waiting for more.
then
say The radar sees more showers coming in from the west.
then
say The forecast: three days of rain.
then
say The meteorologist could not be reached. Take the rain coat.
"""
"""What the simulator is told to answer."""


def described(event: AnyLoopEvent) -> str:
    """What an event is about, in a few words."""
    match event:
        case LLMResponse(response=response) | NonblockingResponse(response=response):
            calls = [call.name for call in response.function_calls]
            return f"calls {', '.join(calls)}" if calls else response.output_text
        case CallExecuting(call=call) | CallCompleted(call=call) | CallFailed(call=call):
            return _outcome(call)
        case ResultArrived(call=call) | NonblockingResult(call=call):
            return _outcome(call)
        case _:
            return ""


def _outcome(call: ToolCall) -> str:
    came = call.error if call.error is not None else call.output
    return call.name if came is None else f"{call.name}: {came}"


def main() -> None:
    """Run the agent and print what happens when."""
    parser = argparse.ArgumentParser(description="An agent's run, event by event.")
    parser.add_argument("-m", "--model", default="simulator/weather")
    parser.add_argument("--wire", default=None)
    options = parser.parse_args()
    asked = SCRIPT if options.model.startswith("simulator/") else QUESTION
    tools = [get_weather, get_alerts, scan_radar, compute_forecast, ask_meteorologist]

    with Client(options.model, wire=options.wire) as llm:
        run = llm.run(asked, tools)
        print(f"{'seconds':>7}  {'model call':>10}  {'event':<24}  about")
        print(f"{'-' * 7}  {'-' * 10}  {'-' * 24}  {'-' * 60}")
        with run.events() as events:
            for event in events:
                about = described(event)
                about = about if len(about) <= 90 else f"{about[:89]}…"
                print(f"{event.at:7.2f}  {event.iteration:10}  {event.type:<24}  {about}".rstrip())
        reply = run.result()

    counts, known = run.statistics, reply.info.metadata
    print(f"\n{reply.output_text}\n")
    print(
        f"{counts.total} calls ({counts.blocking} blocking, {counts.non_blocking} not): {counts.completed} completed, "
        f"{counts.failed} failed, {counts.timeout} timed out; {known['api_calls']} model calls, {known['total_tokens']} tokens"
    )


if __name__ == "__main__":
    main()
