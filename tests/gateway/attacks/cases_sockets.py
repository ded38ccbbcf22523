"""`W` WebSockets."""

# ruff: noqa: E501 - a case is a line

from __future__ import annotations

import json
import zlib
from typing import Any

from tests.gateway.attacks.cases_load import dripping
from tests.gateway.attacks.raw import BYTES, CLOSE, PING, TEXT, Line, code, frame, http, messages, upgrade
from tests.gateway.attacks.table import CLOSED, Attack, Does, each, sent
from tests.gateway.attacks.world import Place, eventually

MiB = 1024 * 1024
HEAD = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"


def opened(place: Place, *more: str, window: int | None = None) -> Line:
    line = place.line(upgrade(*more), window=window)
    return line.hear(lambda line: b"\r\n\r\n" in line.heard)


def turn(said: Any, **fields: Any) -> bytes:
    said = {"type": "response.create", "model": "openai_chat", "input": said, "store": False, **fields}
    return frame(TEXT, json.dumps(said).encode())


def events(line: Line) -> list[dict[str, Any]]:
    return [json.loads(data) for opcode, data in messages(line) if opcode == TEXT]


def ended(line: Line) -> bool:
    return any(event["type"] in ("error", "response.completed", "response.failed") for event in events(line))


def completed(line: Line) -> bool:
    return bool(events(line)) and events(line)[-1]["type"] == "response.completed"


def told(raw: bytes, *codes: int) -> Does:
    """What it says, and that the connection ends for one of these reasons; 0 is without a word."""

    def does(place: Place) -> list[str]:
        line = opened(place).send(raw).hear(lambda line: code(line) != 0)
        if code(line):
            line.send(frame(CLOSE, code(line).to_bytes(2))).hear()
        found = [] if code(line) in codes else [f"ends with {code(line)}"]
        return [*found, *([] if line.closed else ["stays open"])]

    return does


def still(raw: bytes) -> Does:
    """What it says, and that it is answered with an error, and the next turn as it should be."""

    def does(place: Place) -> list[str]:
        line = opened(place).send(raw).hear(ended)
        found = [
            f"says {event}"
            for event in events(line)
            if event["type"] != "error" or event["status"] // 100 != 4 or not event["error"]["code"]
        ]
        count = len(events(line))
        line.send(turn("say Fine.")).hear(completed)
        return found if count and completed(line) else [*found, f"ends with {events(line)[-1:]}"]

    return does


def fragments(place: Place) -> list[str]:
    """A message in pieces, which has no end."""
    line = opened(place).send(frame(TEXT, b"{", fin=0)).send(*[frame(0, b" " * MiB, fin=0)] * 100).hear()
    return [*([] if line.closed else ["stays open"]), *([] if line.sent < 100 * MiB else ["takes in all of it"])]


def unfinished(place: Place) -> list[str]:
    """Many connections with most of a large message on each."""
    lines = [opened(place).send(frame(TEXT, b"{", length=7 * MiB)) for _ in range(20)]
    for _ in range(6):
        for line in lines:
            line.send(b" " * MiB)
    lost = eventually(lambda: any(line.hear(seconds=0.05).closed for line in lines))
    return [] if lost else ["all of them are kept"]


def waiting(place: Place) -> list[str]:
    """Large messages one after the other, while the first is answered."""
    line = opened(place).send(turn("delay 0.5\npieces 1\nsay slow"))
    line.socket.settimeout(1)
    big = frame(TEXT, b'"' + "\U0001f600".encode() * (MiB // 2) + b'"')
    line.send(*[big] * 30).hear(seconds=0.5)
    return []


def flooding(raw: bytes, times: int) -> Does:
    """Small messages, none of whose answers is read."""

    def does(place: Place) -> list[str]:
        line = opened(place, window=4096)
        line.socket.settimeout(1)
        line.send(*[raw] * times)
        return []

    return does


def crumbs(place: Place) -> list[str]:
    """A message of which a little comes now and then; pings alone are no message."""
    quiet = opened(place).send(frame(PING, b"x"))
    line = opened(place).send(frame(TEXT, b"{", length=MiB))
    dripping(line, lambda n: b" ")
    quiet.send(*[frame(PING, b"x" * 125)] * 10, turn("say Fine.")).hear(ended)
    found = [] if line.closed else ["is waited for"]
    return [*found, *([] if completed(quiet) else ["a quiet one is closed"])]


def pings_hold_nothing(place: Place) -> list[str]:
    """More of them than all bodies may be, from one who reads; others are served meanwhile."""
    line = opened(place)
    for _ in range(30):
        line.send(frame(PING, b"x" * 125) * 8000).hear(seconds=0.01)
        line.heard.clear()
    answer = place.ask(place.question("openai_chat", "say Fine."))
    return [] if not line.closed and answer and answer.status == 200 else [f"closed {line.closed}, others get {answer}"]


def cut_pings(place: Place) -> list[str]:
    """Pings for longer than a message may take, of which one is always under way."""
    line, ping = opened(place), frame(PING, b"x" * 125)
    line.send(ping[:60])
    for _ in range(25):
        if line.send(ping[60:] + ping[:60]).hear(seconds=0.1).closed:
            return ["is closed"]
    line.send(ping[60:], turn("say Fine.")).hear(ended)
    return [] if completed(line) else ["is not answered"]


def remembering(place: Place) -> list[str]:
    """Six connections with large turns that are not to be stored, which each connection remembers."""
    lines = [opened(place) for _ in range(6)]
    for n in range(48):
        line = lines[n % 6]
        line.heard[:] = HEAD
        said = [{"role": "user", "content": f"{n}" + "x" * 7 * MiB}, {"role": "user", "content": "say it"}]
        line.send(turn(said)).hear(ended)
    return []


def half_open(place: Place) -> list[str]:
    """The wish to have a WebSocket, never said to its end; or said, and nothing more."""
    begun = [place.line(upgrade()[:-20]) for _ in range(20)]
    whole = [opened(place) for _ in range(20)]
    found = [] if all(line.hear().closed for line in begun) else ["half a handshake stays open"]
    for line in whole:
        line.send(turn("say Fine.")).hear(ended)
    return [*found, *([] if all(map(completed, whole)) else ["a quiet one is closed"])]


def leaving(place: Place) -> list[str]:
    """Gone in the middle of an answer that has no end."""
    place.world.vendor.endless.reset()
    model = "endless" if place.name == "gateway" else "openai_chat"
    for _ in range(20):
        line = opened(place).send(turn("pieces 1\nsay " + "word " * 10_000, model=model))
        line.hear(lambda line: len(messages(line)) > 3).close()
    if place.name == "gateway" and not eventually(place.world.vendor.endless.left.is_set):
        return ["the vendor goes on"]
    return []


def unread(place: Place) -> list[str]:
    """Ten that ask for answers without end and read nothing."""
    model = "endless" if place.name == "gateway" else "openai_chat"
    lines = [opened(place, window=4096).send(turn("pieces 1\nsay " + "word " * 10_000, model=model)) for _ in range(10)]
    return [] if len(lines) == 10 else ["turned away"]


def smuggled(place: Place) -> list[str]:
    """A second request behind the handshake is not answered, and what is said after it is."""
    line = place.line(upgrade() + http(None, method="GET", path="/v1/models"))
    line.hear(lambda line: b"\r\n\r\n" in line.heard).send(turn("say Fine."))
    line.hear(lambda line: ended(line) or code(line) != 0)
    good = line.statuses == [101] and (code(line) == 1002 or completed(line))
    return [] if good else [f"says {bytes(line.heard[:300])!r}"]


def packed(place: Place) -> list[str]:
    """A client that offers to pack its messages is not taken at its word; one that does it anyway is not unpacked."""
    line = opened(place, "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits")
    found = ["agrees to unpack"] if b"deflate" in line.heard else []
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = packer.compress(bytes(50 * MiB)) + packer.flush(zlib.Z_SYNC_FLUSH)
    line.send(frame(TEXT | 0x40, bomb)).hear(lambda line: code(line) != 0)
    return [*found, *([] if code(line) == 1002 else [f"ends with {code(line)}"])]


CASES = [
    Attack("W01", "a frame of 2^63 bytes, and of more than may be", each(
        ("2^63", told(frame(BYTES, b"", length=2**63 - 1), 1009)), ("the sign bit", told(frame(BYTES, b"", length=2**64 - 1), 1002, 1009)), ("10 MiB", told(frame(TEXT, b"", length=10 * MiB), 1009)),
    )),
    Attack("W02", "a message in pieces without end", fragments),
    Attack("W03", "20 connections with most of a message on each", unfinished, mib=96),
    Attack("W04", "large messages that wait for the one before", waiting),
    Attack("W05", "600,000 pings, no pong read", flooding(frame(PING, b"x" * 125) * 1000, 600)),
    Attack("W18", "a message of which crumbs come", crumbs, slow=True),
    Attack("W19", "30 MB of pings from one who reads", pings_hold_nothing),
    Attack("W20", "pings that come in halves", cut_pings),
    Attack("W21", "large turns that connections remember", remembering, on=("gateway",), mib=320, whole=True),
    Attack("W06", "300,000 messages, no answer read", flooding(frame(TEXT, b"[]") * 1000, 300)),
    Attack("W07", "half a handshake; 20 that say nothing", half_open, slow=True),
    Attack("W08", "frames that are none", each(
        ("unmasked", told(frame(TEXT, b"{}", mask=0), 1002)), ("unknown", told(frame(3, b"{}"), 1002)), ("reserved", told(frame(TEXT | 0x20, b"{}"), 1002)),
        ("a ping in pieces", told(frame(PING, b"x", fin=0), 1002)), ("a large ping", told(frame(PING, b"x" * 126), 1002)), ("the rest of nothing", told(frame(0, b"x"), 1002)),
        ("two at once", told(frame(TEXT, b"x", fin=0) + frame(TEXT, b"x"), 1002)), ("a close of a byte", told(frame(CLOSE, b"x"), 1002)), ("an odd close", told(frame(CLOSE, (999).to_bytes(2)), 1002)),
        ("a close with a long reason", told(frame(CLOSE, (1000).to_bytes(2) + b"x" * 124), 1002)), ("a reason that is no text", told(frame(CLOSE, (1000).to_bytes(2) + b"\xff"), 1002, 1007)),
    )),
    Attack("W09", "invalid UTF-8 in a message", still(frame(TEXT, b'{"\xff\xfe"}'))),
    Attack("W10", "messages that are packed", packed),
    Attack("W11", "messages that are no requests", each(*(
        (repr(said)[:20], still(frame(TEXT, said))) for said in (b"", b"{", b"null", b"[]", b"[" * 100_000, b'{"type":"response.create","input":' + b"9" * 5001 + b"}", b'{"type":"response.create","model":"openai_chat","input":[5]}', b'{"type":5}', b'{"type":"response.create","stream":true}', b'{"type":"response.create","model":"openai_chat","input":"a","background":true}', b'{"type":"response.create","model":"nobody/knows","input":"a"}', b'{"type":"response.steer"}')
    ))),
    Attack("W12", "handshakes that are none", each(
        ("an old version", sent(upgrade(version="7"), 400, 426)), ("no key", sent(upgrade().replace(b"Sec-WebSocket-Key", b"X-Key"), 400)), ("a short key", sent(upgrade().replace(b"dGhlIHNhbXBsZSBub25jZQ==", b"eA=="), 400)),
        ("a body", sent(upgrade("Content-Length: 5") + b"hello", 400, CLOSED)), ("two upgrades", sent(upgrade("Upgrade: h2c"), 400, 405, closes=False)),
        ("a long header", sent(upgrade("X-Odd: " + "y" * 10_000), 400, CLOSED)), ("300 headers", sent(upgrade(*(f"X-{n}: y" for n in range(300))), 400, 431, CLOSED)),
        ("a method", sent(upgrade().replace(b"GET", b"POST"), 400, 405, CLOSED)), ("elsewhere", sent(upgrade(path="/v1/messages"), 404)), ("a path", sent(upgrade(path="/../../etc/passwd"), 404)),
    )),
    Attack("W13", "a page from elsewhere, and a name from elsewhere", each(
        ("origin", sent(upgrade("Origin: https://evil.example"), 403)), ("odd origin", sent(upgrade("Origin: http://["), 403)), ("host", sent(upgrade(host="Host: evil.example"), 403)),
    )),
    Attack("W14", "without a token", sent(upgrade(), 401, closes=False), on=("guarded",)),
    Attack("W15", "gone in the middle of an answer", leaving),
    Attack("W16", "ten who read nothing", unread, slow=True),
    Attack("W17", "a request behind the handshake", smuggled),
]  # fmt: skip
