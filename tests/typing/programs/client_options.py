"""Options: defaults, `with_options`, options kept in a variable, limits of time, retries, and event hooks.

Prints:

    start demo
    end 200 True
    Good morning.
    start demo
    end 200 True
    Thinking.
    start demo
    end 200 True
    Wrapped.
    3
"""

from __future__ import annotations

from typing import Unpack, assert_type

from llm_rest import (
    CallOptions,
    Client,
    ClientCallEnd,
    ClientCallStart,
    ClientEvent,
    Input,
    RateLimitWait,
    Reply,
    RequestCancelled,
    RequestEnd,
    RequestRetry,
    RequestStart,
    RetryPolicy,
    Timeouts,
)

THINKING: CallOptions = {"reasoning": {"effort": "low"}, "max_output_tokens": 4000, "metadata": {"team": "search"}}


def log(event: ClientEvent) -> None:
    match event:
        case RequestStart(model=model):
            print("start", model)
        case RequestEnd(status=status, seconds=seconds):
            print("end", status, seconds < 60)
        case RequestRetry() | RequestCancelled() | ClientCallStart() | ClientCallEnd() | RateLimitWait():
            pass


def ask(llm: Client, question: Input, **options: Unpack[CallOptions]) -> Reply:
    return llm.with_options(seed=None, temperature=0.3).generate(question, **options)


def main() -> None:
    heard: list[ClientEvent] = []
    defaults: CallOptions = {"instructions": "Be brief.", "temperature": 0.2}
    policy = RetryPolicy(attempts=2, base_delay=0.01, jitter="none")
    limits = Timeouts(connect=5, first_byte=30, read=30, stall="none", total=120)
    with Client("simulator/demo", timeout=limits, retry=policy, defaults=defaults, on_event=[log, heard.append]) as llm:
        brief = llm.with_options(max_output_tokens=50, timeout=20, user="u42")
        assert_type(brief, Client)
        print(brief.generate_text("say Good morning."))
        print(llm.generate("say Thinking.", **THINKING).output_text)
        print(ask(llm, ["say Wrapped."], top_p=0.9).output_text)
    print(len([event for event in heard if event.type == "request:end" and event.status == 200]))


if __name__ == "__main__":
    main()
