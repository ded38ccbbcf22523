"""`S` clients that are slow, `L` clients that are many."""

# ruff: noqa: E501 - a case is a line

from __future__ import annotations

import time
from collections.abc import Callable

from tests.gateway.attacks.raw import CHUNKED, LONG, Line, chunk, http, one
from tests.gateway.attacks.table import Attack, judged
from tests.gateway.attacks.world import Place, eventually

DRIP = 0.1
GET = http(None, method="GET", path="/v1/models")


def served(place: Place) -> list[str]:
    """Others are answered meanwhile."""
    fine = place.ask(place.question("openai_chat", "say Fine."))
    return [] if fine is not None and fine.status == 200 else [f"others are answered {fine}"]


def endless(place: Place, text: str) -> bytes:
    """A request for a stream that has no end, or a long one."""
    model = "endless" if place.name == "gateway" else "openai_chat"
    return place.question("openai_chat", f"pieces 1\n{text}", model=model, stream=True)


def dripping(line: Line, crumb: Callable[[int], bytes]) -> Line:
    """A crumb now and then, until the server closes."""
    until, n = time.monotonic() + LONG, 0
    while not line.closed and time.monotonic() < until:
        line.send(crumb(n)).hear(seconds=DRIP)
        n += 1
    return line


def heads(place: Place) -> list[str]:
    """Every way never to come to the end of a head, at the same time."""
    begun = {
        "nothing": b"", "a letter": b"G", "a line": b"GET / HTTP/1.1\r\n", "most": b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX-Odd: ",
        "all but the end": GET[:-1], "empty lines": b"\r\n", "the second": GET + b"GET /", "the second in one": GET + GET[:-2],
        "a handshake": GET[:-2] + b"Upgrade: websocket\r\n",
    }  # fmt: skip
    lines = {name: place.line(raw) for name, raw in begun.items()}
    return [f"{name} stays open" for name, line in lines.items() if not line.hear().closed]


def headers_drip(place: Place) -> list[str]:
    line = place.line(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
    return [] if dripping(line, lambda n: b"X-%d: y\r\n" % n).closed else ["stays open"]


def after_an_answer(place: Place) -> list[str]:
    """A connection that had its answer, on which nothing whole is asked any more."""
    line = place.line(GET).hear(one)
    return [] if dripping(line, lambda n: b"G").closed else ["stays open"]


def no_end(place: Place) -> list[str]:
    """A body of which crumbs come, when nobody waits for it any more."""
    line = place.line(http(None, "Content-Length: 1000000", path="/healthz")).hear(one)
    found = judged(line, (200,), closes=False)
    return found if dripping(line, lambda n: b"x").closed else [*found, "stays open"]


def bodies_drip(place: Place) -> list[str]:
    found: list[str] = []
    for first, crumb in ((http(b"{", length="1000000"), b" "), (http(None, CHUNKED), chunk(b" "))):
        line = dripping(place.line(first), lambda n, crumb=crumb: crumb).hear(one)
        found += judged(line, (408,), closes=False)
    return found


def stalled(place: Place) -> list[str]:
    line = place.line(http(b"{", length="1000")).hear()
    return judged(line, (408,), closes=True)


def slow_reader(place: Place) -> list[str]:
    """It reads, though slowly: that is no fault."""
    line = place.line(place.question("openai_chat", "pieces 1\nsay " + "word " * 1500, stream=True), window=4096)
    for _ in range(15):
        line.hear(seconds=0.02)
        time.sleep(0.1)
    line.hear(lambda line: b"[DONE]" in line.heard)
    return [] if b"[DONE]" in line.heard else ["is cut"]


def unread(place: Place) -> list[str]:
    """20 that ask for answers without end, and read nothing for 3 seconds."""
    for _ in range(20):
        place.line(endless(place, "say " + "word " * 5000), window=4096)
    time.sleep(1)
    found = served(place)
    time.sleep(2)
    return found


def forgotten(place: Place) -> list[str]:
    """One that reads nothing is let go of in the end, though it never closes."""
    place.world.vendor.endless.reset()
    place.line(place.question("openai_chat", model="endless", stream=True), window=4096)
    return [] if eventually(place.world.vendor.endless.left.is_set) else ["is waited for"]


SLOW = [
    Attack("S01", "heads that are never finished", heads, slow=True),
    Attack("S02", "a header every moment", headers_drip, slow=True),
    Attack("S03", "crumbs behind an answer", after_an_answer, slow=True),
    Attack("S04", "crumbs of a body that nobody waits for", no_end, slow=True),
    Attack("S05", "crumbs of a body", bodies_drip, slow=True),
    Attack("S06", "a body that stops coming", stalled, slow=True),
    Attack("S07", "a client that reads slowly", slow_reader, slow=True),
    Attack("S08", "20 clients that read nothing for 3 seconds", unread, mib=128),
    Attack("S09", "a client that never reads", forgotten, on=("gateway",), slow=True),
]  # fmt: skip


# --- many -----------------------------------------------------------------------------------------------------------


def leaving(place: Place) -> list[str]:
    """200 that ask for a stream and are gone."""
    for _ in range(200):
        place.line(endless(place, "delay 0.1\nsay " + "word " * 100)).close()
    return []


def after_a_byte(place: Place) -> list[str]:
    """100 that have read the beginning."""
    lines = [place.line(endless(place, "delay 0.1\nsay " + "word " * 100)) for _ in range(100)]
    begun = [bytes(line.hear(lambda line: len(line.heard) > 20).heard[:50]) for line in lines]
    for line in lines:
        line.close()
    return [f"answered {said!r}" for said in begun if not said.startswith(b"HTTP/1.1 200")]


def halfway(place: Place) -> list[str]:
    """200 that leave while they ask."""
    asked = place.question("openai_chat")
    for n in range(200):
        place.line(asked[: 1 + n * len(asked) // 200]).close()
    return []


def burst(place: Place) -> list[str]:
    """300 requests on 300 connections."""
    lines = [place.line(place.question("openai_chat", f"say number {n}")) for n in range(300)]
    found: list[str] = []
    for n, line in enumerate(lines):
        answers = line.hear(one).answers
        served = bool(answers) and answers[0].status == 200 and f'"number {n}"'.encode() in answers[0].body
        if not served and not (answers and answers[0].status in (429, 503) and "retry-after" in answers[0].headers):
            found.append(f"{n} is answered {bytes(line.heard[:200])!r}")
    return found


def too_many(place: Place) -> list[str]:
    """300 at a time, where 200 may be."""
    lines = [place.line(http(b"{", length="10")) for _ in range(300)]
    statuses = [line.hear(one).statuses for line in lines]
    later = [answer.headers.get("retry-after") for line in lines for answer in line.answers if answer.status == 429]
    found = [f"answered {status}" for status in statuses if status not in ([429], [408])]
    return [*found, *([] if later and all(later) else ["all of them are let in"])]


def idle(place: Place) -> list[str]:
    """1,000 connections on which nothing is said."""
    lines = [place.line() for _ in range(1000)]
    return [*served(place), *([] if all(line.hear().closed for line in lines) else ["they stay open"])]


def small(place: Place) -> list[str]:
    """5,000 requests, each for another model, a hundred at a time, and 300 connections for one request each."""
    line, count = place.line(), b"HTTP/1.1 "
    for n in range(50):
        line.heard.clear()
        line.send(b"".join(http(None, method="GET", path=f"/v1/models/{n}of{i}") for i in range(100)))
        line.hear(lambda line: line.heard.count(count) == 100 and line.heard.endswith(b"}"))
    for n in range(300):
        one_more = place.line(http(b"{", f"X-Odd: {n}", path=f"/v1beta/models/{n}:generateContent")).hear(one)
        if one_more.statuses != [400]:
            return [f"answered {one_more.statuses}"]
        one_more.close()
    return [] if line.heard.count(count) == 100 else [f"{line.heard.count(count)} of 100 are answered"]


MANY = [
    Attack("L07", "thousands of small requests, after which nothing has grown", small, mib=16, whole=True),
    Attack("L01", "200 clients that ask for a stream and leave", leaving),
    # A hundred streams under way at once, each with connections on both sides: about a megabyte each.
    Attack("L02", "100 clients that leave when it has begun", after_a_byte, mib=128),
    Attack("L03", "200 clients that leave while they ask", halfway),
    Attack("L04", "300 requests on 300 connections", burst),
    Attack("L05", "more requests at a time than may be", too_many),
    Attack("L06", "1,000 connections that say nothing", idle, slow=True),
]

CASES = [*SLOW, *MANY]
