"""What one more turn of a conversation costs until its request is sent; `python -m benchmarks.growth` draws the curve.

A turn of a chat is measured from `ask` to the HTTP client, with everything in between: input check, capabilities, encoding,
headers. The floor makes the messages by hand and encodes them with msgspec, all of them in every turn. The curve is written to
`docs/growth.svg`.
"""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import Any

import httpx

from llm_rest import Client, Conversation
from llm_rest.responses.items import AnyItem, Message
from llm_rest.responses.request import Request

from . import documents, floors

MODELS = {
    "openai_responses": "openai/gpt-5.2",
    "openai_chat": "groq/llama-3.3-70b-versatile",
    "anthropic_messages": "anthropic/claude-haiku-4-5",
    "ollama_chat": "ollama/llama3.2",
    "gemini_generate_content": "google/gemini-2.5-flash",
}
TURNS = (20, 200, 500, 1000, 1500, 2000)
"""The turns that are measured; each has two items."""
PAGE = Path(__file__).parents[1] / "docs" / "growth.svg"


def said(turns: int) -> list[AnyItem]:
    """The items of the turns before one."""
    items: list[AnyItem] = []
    for i in range(turns - 1):
        items += [
            Message(role="user", content=f"Question {i}: {documents.SENTENCE}"),
            Message(role="assistant", content=f"Answer {i}: {documents.SENTENCE}"),
        ]
    return items


def turn(wire: str, turns: int, rounds: int = 12) -> tuple[float, int]:
    """The seconds of CPU time of a turn until its request is sent, and the bytes of that."""
    answer, sent = documents.answer(wire), list[tuple[float, int]]()

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append((time.process_time(), len(request.content)))
        return httpx.Response(200, content=answer, headers={"content-type": "application/json"})

    taken: list[float] = []
    with Client(MODELS[wire], api_key="none", http=httpx.Client(transport=httpx.MockTransport(handle))) as llm:
        chat = llm.chat(conversation=Conversation(items=said(turns)), on_loss="ignore")
        for _ in range(rounds):
            gc.collect()
            began = time.process_time()
            chat.ask("And then?")
            taken.append(sent[-1][0] - began)
    return min(taken[2:]), sent[-1][1]


def floor(wire: str, turns: int, rounds: int = 12) -> float:
    """The same of the messages made by hand."""
    request = Request(
        model="m", instructions="", tools=[], input=[*said(turns), Message(role="user", content="And then?")]
    )
    taken: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        floors.REQUESTS[wire](request)
        taken.append(time.process_time() - began)
    return min(taken)


# --- the curve ------------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 720, 380, 60, 40, 50
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e")


def svg(ours: dict[str, list[float]], by_hand: dict[str, list[float]]) -> str:
    """The curves in milliseconds over items: ours as lines, those of the floor dashed."""
    top = max(max(one) for one in (*ours.values(), *by_hand.values())) * 1000
    wide, high = WIDTH - LEFT - 20, HEIGHT - TOP - BOTTOM

    def points(values: list[float]) -> str:
        places = zip(TURNS, values, strict=True)
        return " ".join(
            f"{LEFT + wide * turns / TURNS[-1]:.1f},{TOP + high * (1 - value * 1000 / top):.1f}"
            for turns, value in places
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20">CPU time of one turn until its request is sent, in ms (dashed: all messages by hand)</text>',
        f'<path d="M{LEFT} {TOP}V{TOP + high}H{LEFT + wide}" fill="none" stroke="black"/>',
    ]
    for k in range(5):
        y = TOP + high * (1 - k / 4)
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{top * k / 4:.1f}</text>')
        x = LEFT + wide * k / 4
        parts.append(f'<text x="{x:.1f}" y="{TOP + high + 18}" text-anchor="middle">{2 * TURNS[-1] * k // 4}</text>')
    parts.append(f'<text x="{LEFT + wide / 2}" y="{HEIGHT - 12}" text-anchor="middle">items in the conversation</text>')
    for colour, name in zip(COLOURS, ours, strict=True):
        parts.append(f'<polyline points="{points(ours[name])}" fill="none" stroke="{colour}" stroke-width="2"/>')
        dashed = 'stroke-dasharray="5 4"'
        parts.append(f'<polyline points="{points(by_hand[name])}" fill="none" stroke="{colour}" {dashed}/>')
        y = TOP + 14 + 16 * [*ours].index(name)
        parts.append(f'<text x="{LEFT + 12}" y="{y}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    ours: dict[str, list[float]] = {}
    by_hand: dict[str, list[float]] = {}
    print("| wire | turn | items | kB | ours | by hand |\n|---|--:|--:|--:|--:|--:|")
    for wire in MODELS:
        ours[wire], by_hand[wire] = [], []
        for turns in TURNS:
            took, size = turn(wire, turns)
            hand = floor(wire, turns)
            ours[wire].append(took)
            by_hand[wire].append(hand)
            cells: list[Any] = [
                wire,
                turns,
                2 * turns - 1,
                size // 1000,
                f"{took * 1e6:.0f} µs",
                f"{hand * 1e6:.0f} µs",
            ]
            print(f"| {' | '.join(map(str, cells))} |", flush=True)
    PAGE.write_text(svg(ours, by_hand))


if __name__ == "__main__":
    main()
