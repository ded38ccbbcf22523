"""An agent with a blocking and two background tools, and the timeline of its run.

python examples/weather_agent.py --wire anthropic_messages
"""

import argparse
import time

from llm_rest import Client, tool


@tool
def get_weather(city: str) -> str:
    """The weather in a city, now."""
    return f"4 degrees and rain in {city}"


@tool(blocking=False)
def compute_forecast(city: str, days: int) -> str:
    """Compute a forecast, which takes a while."""
    time.sleep(0.3)
    return f"{days} days of rain in {city}"


@tool(blocking=False, timeout=0.6)
def ask_meteorologist(city: str) -> str:
    """Ask a meteorologist, who may not answer."""
    time.sleep(2)
    return f"bring an umbrella to {city}"


SCRIPT = """\
call get_weather {"city": "Bergen"}
call compute_forecast {"city": "Bergen", "days": 3}
call ask_meteorologist {"city": "Bergen"}
say Rain and 4 degrees in Bergen.
then
say Three days of rain.
then
say The meteorologist could not be reached. Take the rain coat.
"""


def main() -> None:
    """Print each event of the run with its time in seconds."""
    options = argparse.ArgumentParser()
    options.add_argument("--wire")
    with Client("simulator/weather", wire=options.parse_args().wire) as llm:
        run = llm.run(SCRIPT, [get_weather, compute_forecast, ask_meteorologist])
        with run.events() as events:
            for event in events:
                call = getattr(event, "call", None)
                print(
                    f"{event.at:5.2f}  {event.type:<24}  {f'{call.name}: {call.output or call.error}' if call else ''}"
                )
    print(run.result().output_text, run.statistics, sep="\n")


if __name__ == "__main__":
    main()
