"""Draws the diagrams of the page "Architecture" as SVG: `python docs/_tools/diagrams.py docs/assets`.

A diagram is a list of boxes on a grid and of arrows between them; `make docs` draws them anew, so the text below is the source.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import NamedTuple

W, H, GAP_X, GAP_Y = 190, 58, 54, 46


class Box(NamedTuple):
    """A box: its column and row on the grid, a title, a line below it, and a colour."""

    x: float
    y: float
    title: str
    note: str = ""
    fill: str = "#eef2ff"


class Arrow(NamedTuple):
    """An arrow from one box to another, by their names, with a label."""

    start: str
    end: str
    label: str = ""
    dashed: bool = False


BLUE, GREEN, GREY, RED = "#e0e7ff", "#dcfce7", "#f1f5f9", "#fee2e2"

CALL = (
    {
        "you": Box(0, 0, "your program", "llm.generate(...)", GREY),
        "request": Box(1, 0, "Request", "Responses format, validated", BLUE),
        "wire": Box(2, 0, "wire: encode", "pure function, + losses", BLUE),
        "send": Box(3, 0, "transport", "retries, deadlines, TLS", GREEN),
        "vendor": Box(3, 1, "vendor", "HTTP API", GREY),
        "frames": Box(2, 1, "framing", "bytes to SSE / NDJSON", GREEN),
        "back": Box(1, 1, "wire: decode", "pure function, + losses", BLUE),
        "reply": Box(0, 1, "Reply, or events", "Responses format", BLUE),
    },
    [
        Arrow("you", "request"),
        Arrow("request", "wire"),
        Arrow("wire", "send", "JSON"),
        Arrow("send", "vendor"),
        Arrow("vendor", "frames"),
        Arrow("frames", "back"),
        Arrow("back", "reply"),
    ],
)

LOOP = (
    {
        "next": Box(1, 0, "next request", "outputs, then late results", BLUE),
        "run": Box(2, 0, "blocking tools run", "tool:executing, tool:completed", GREEN),
        "approval": Box(3, 0, "waits for approval", "pending_calls, saved state", RED),
        "ask": Box(0, 1, "model call", "iteration:start", BLUE),
        "answer": Box(1, 1, "answer", "llm:response", BLUE),
        "done": Box(2, 1, "run ends", "run:end: completed, limit, error", GREY),
        "background": Box(1, 2, "background tools run", "result:arrived", GREEN),
    },
    [
        Arrow("ask", "answer"),
        Arrow("answer", "run"),
        Arrow("answer", "done"),
        Arrow("run", "next"),
        Arrow("run", "approval"),
        Arrow("next", "ask"),
        Arrow("answer", "background", "background calls"),
        Arrow("background", "ask", "", dashed=True),
    ],
)

CARRIER = (
    {
        "a1": Box(0, 0, "vendor A, turn 1", "text + signature", GREY),
        "item": Box(1, 0, "reasoning item", "encrypted_content: envelope", BLUE),
        "store": Box(2, 0, "your database", "plain Responses JSON", GREEN),
        "b": Box(3, 0, "vendor B, turn 2", "gets the text only", GREY),
        "a3": Box(2, 1, "vendor A, turn 3", "gets its signature back", GREY),
        "other": Box(3, 1, "loss: withheld", "input[1]: reasoning ...", RED),
    },
    [
        Arrow("a1", "item"),
        Arrow("item", "store"),
        Arrow("store", "b"),
        Arrow("store", "a3", "same bytes"),
        Arrow("b", "other", "", dashed=True),
    ],
)

DIAGRAMS = {
    "call.svg": ("A call, from your program to the vendor and back", *CALL),
    "loop.svg": ("The states of a run of the tool loop", *LOOP),
    "carrier.svg": ("Provider state in a conversation with two vendors", *CARRIER),
}


def place(box: Box) -> tuple[float, float]:
    """The upper left corner of a box."""
    return 10 + box.x * (W + GAP_X), 10 + box.y * (H + GAP_Y)


def edge(box: Box, dx: float, dy: float) -> tuple[float, float]:
    """The middle of the side that faces a direction."""
    x, y = place(box)
    if abs(dx) >= abs(dy):
        return x + (W if dx > 0 else 0), y + H / 2
    return x + W / 2, y + (H if dy > 0 else 0)


def draw(title: str, boxes: dict[str, Box], arrows: list[Arrow]) -> str:
    """A diagram as SVG text."""
    width = max(place(box)[0] for box in boxes.values()) + W + 10
    height = max(place(box)[1] for box in boxes.values()) + H + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" '
        f'role="img"><title>{escape(title)}</title>',
        '<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#475569"/></marker></defs>',
    ]
    for arrow in arrows:
        start, end = boxes[arrow.start], boxes[arrow.end]
        dx, dy = end.x - start.x, end.y - start.y
        (x1, y1), (x2, y2) = edge(start, dx, dy), edge(end, -dx, -dy)
        dash = ' stroke-dasharray="5 4"' if arrow.dashed else ""
        lines.append(
            f'<path d="M{x1:g} {y1:g} L{x2:g} {y2:g}" stroke="#475569" stroke-width="1.5" fill="none" '
            f'marker-end="url(#to)"{dash}/>'
        )
        if arrow.label:
            flat = y1 == y2
            x, y = ((x1 + x2) / 2, y1 - 6) if flat else ((x1 + x2) / 2 + 6, (y1 + y2) / 2 + 4)
            anchor = "middle" if flat else "start"
            lines.append(
                f'<text x="{x:g}" y="{y:g}" font-size="11" fill="#475569" text-anchor="{anchor}">'
                f"{escape(arrow.label)}</text>"
            )
    for box in boxes.values():
        x, y = place(box)
        lines += [
            f'<rect x="{x:g}" y="{y:g}" width="{W}" height="{H}" rx="7" fill="{box.fill}" stroke="#94a3b8"/>',
            f'<text x="{x + W / 2:g}" y="{y + 25:g}" font-size="14" font-weight="600" text-anchor="middle" '
            f'fill="#0f172a">{escape(box.title)}</text>',
            f'<text x="{x + W / 2:g}" y="{y + 43:g}" font-size="11" text-anchor="middle" fill="#475569">'
            f"{escape(box.note)}</text>",
        ]
    return "\n".join([*lines, "</svg>\n"])


def main() -> None:
    """Write all diagrams to a folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (title, boxes, arrows) in DIAGRAMS.items():
        (folder / name).write_text(draw(title, boxes, arrows))


if __name__ == "__main__":
    main()
