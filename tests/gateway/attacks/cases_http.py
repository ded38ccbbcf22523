"""`F` how long a request is, `H` its head, `P` what follows it on the connection, `M` its method, `N` its path."""

# ruff: noqa: E501 - a case is a line

from __future__ import annotations

import json
from urllib.parse import quote

from tests.gateway.attacks.raw import CHUNKED, END, HOST, PATHS, chunk, http, one, upgrade
from tests.gateway.attacks.table import CLOSED, Attack, Does, answers, each, judged, sent
from tests.gateway.attacks.world import Place

GOOD = json.dumps({"model": "openai_chat", "messages": [{"role": "user", "content": "say Fine."}]}).encode()
SMUGGLED = http(None, method="GET", path="/v1/models")


def two_lengths(*lines: str) -> bytes:
    """A request that is over at its first chunk, or with a whole request in its body."""
    body = END + SMUGGLED
    return http(None, *lines, f"Content-Length: {len(body)}") + body


def length(said: str, *expected: int) -> tuple[str, Does]:
    return said, sent(http(GOOD, length=said), *expected)


def chunked(raw: bytes, *expected: int) -> tuple[str, Does]:
    return raw[:20].decode("latin-1"), sent(http(None, CHUNKED) + raw, *expected)


def framed(raw: bytes, *expected: int) -> tuple[str, Does]:
    """In chunks, whatever may be said of that."""
    return raw.decode("latin-1"), sent(http(None, raw) + chunk(GOOD) + END, *expected)


def headed(raw: bytes, *expected: int, closes: bool = True) -> tuple[str, Does]:
    return repr(raw[:30]), sent(http(GOOD, raw), *expected, closes=closes)


FRAMING = [
    Attack("F01", "a length and chunks", each(
        ("length last", sent(two_lengths(CHUNKED), 400)),
        ("length first", sent(http(None, f"Content-Length: {len(END + SMUGGLED)}", CHUNKED) + END + SMUGGLED, 400)),
    )),
    Attack("F02", "a length below zero", each(length("-1", 400), length("-0", 400))),
    Attack("F03", "a length with a sign", each(length("+5", 400), length(f"+{len(GOOD)}", 400))),
    Attack("F04", "a length that is no number", each(*(
        length(said, 400) for said in ("0x10", "1_0", "5 6", "1e3", "five", ";", "\xb2", "5;5")
    ))),
    Attack("F05", "two lengths", each(
        ("two lines", sent(http(GOOD, "Content-Length: 5"), 400)),
        ("one line", sent(http(GOOD, length=f"5, {len(GOOD)}"), 400)),
        ("an empty one", sent(http(GOOD, "Content-Length:"), 400)),
    )),
    Attack("F06", "one length, twice", sent(http(GOOD, f"Content-Length: {len(GOOD)}"), 200, 400, closes=False)),
    Attack("F07", "a length of more digits than a number has", each(length("9" * 21, 400), length("9" * 5001, 400), length("0" * 21, 400))),
    Attack("F08", "a length as large as there are", each(length("9" * 18, 413), length("9" * 20, 413)), slow=True),
    Attack("F09", "chunked, identity, and other codings", each(*(
        framed(b"Transfer-Encoding: " + said, 400, 501) for said in (b"chunked, identity", b"identity", b"gzip, chunked", b"xchunked", b"chunked, chunked", b"\x0bchunked", b"chunked;q=1")
    ))),
    Attack("F10", "the coding twice", sent(http(None, CHUNKED, CHUNKED) + chunk(GOOD) + END, 400, 501)),
    Attack("F11", "chunks, however that is spelled", each(
        ("capitals", sent(http(None, "Transfer-Encoding: CHUNKED", path="/v1/chat/completions") + chunk(GOOD) + END, 200, closes=False)),
        framed(b"Transfer-Encoding : chunked", 400),
        framed(b"Transfer-Encoding\x00: chunked", 400),
        ("another name", sent(http(None, "Transfer_Encoding: chunked", method="GET", path="/v1/models") + END, 200, 400, after=(400,))),
    )),
    Attack("F12", "chunk sizes that are no numbers", each(*(
        chunked(raw, 400, CLOSED) for raw in (b"ZZ\r\n{}\r\n0\r\n\r\n", b"-1\r\n{}\r\n0\r\n\r\n", b"0x2\r\n{}\r\n0\r\n\r\n", b"+2\r\n{}\r\n0\r\n\r\n", b"\r\n\r\n", b" 2\r\n{}\r\n0\r\n\r\n", b"2 2\r\n{}\r\n0\r\n\r\n")
    ))),
    Attack("F13", "a chunk of 2^64 bytes, or of a size without end", each(chunked(b"f" * 16 + b"\r\n{", 400, 408, 413, CLOSED), chunked(b"f" * 21 + b"\r\n{", 400, CLOSED), chunked(b"0" * 100_000, 400, CLOSED)), slow=True),
    Attack("F14", "a chunk longer than it says", each(chunked(b"1\r\n{}\r\n0\r\n\r\n", 400, CLOSED), chunked(b"2\r\n{}0\r\n\r\n", 400, CLOSED), chunked(b"2\n{}\n0\n\n", 400, 408, CLOSED)), slow=True),
    Attack("F15", "chunk extensions without end", chunked(b"2;" + b"x" * 300_000 + b"\r\n{}\r\n0\r\n\r\n", 400, CLOSED)[1]),
    Attack("F16", "trailers without end, and trailers that would be headers", each(
        chunked(b"0\r\n" + b"X-Api-Key: x\r\n" * 30_000, 400, CLOSED),
        ("a token", sent(http(None, CHUNKED) + chunk(GOOD) + b"0\r\nContent-Length: 5\r\nHost: evil.example\r\n\r\n", 200, closes=False)),
    )),
    Attack("F17", "a body where there is none", sent(http(b"{}" * 50, method="GET", path="/v1/models"), 200, closes=False)),
    Attack("F19", "chunks in HTTP/1.0", each(
        ("alone", sent(http(None, CHUNKED, version="HTTP/1.0") + chunk(GOOD) + END, 200, 400, 501)),
        ("and a length", sent(http(None, CHUNKED, "Content-Length: 5", version="HTTP/1.0") + chunk(GOOD) + END, 400)),
        ("kept open", sent(http(None, CHUNKED, "Connection: keep-alive", version="HTTP/1.0") + chunk(GOOD) + END + SMUGGLED, 200, 400, 501)),
    )),
    Attack("F18", "a body behind a request that says it has none", sent(http(None, method="POST") + b'{"model":"m"}\r\n\r\n', 400, after=(400,))),
]  # fmt: skip

HEADS = [
    Attack("H01", "NUL in the value of a header", headed(b"X-Odd: a\x00b", 400, CLOSED)[1]),
    Attack("H02", "NUL, spaces, or nothing as the name of a header", each(*(headed(raw, 400, CLOSED) for raw in (b"X\x00Odd: a", b"X Odd: a", b": a", b"X-Odd", b"X-Odd\t: a", b"X\xe9: a", b"(X): a")))),
    Attack("H03", "a header folded over two lines", headed(b"X-Odd: a\r\n b", 400, 422, CLOSED, 200, closes=False)[1]),
    Attack("H04", "a folded header before any other", sent(b"GET /v1/models HTTP/1.1\r\n Host: localhost\r\n\r\n", 400, CLOSED)),
    Attack("H05", "a length or a coding, folded", each(
        ("length", sent(http(GOOD, length=f"\r\n {len(GOOD)}"), 200, 400, CLOSED, closes=False)),
        ("coding", sent(http(None, "Transfer-Encoding:\r\n chunked") + chunk(GOOD) + END, 200, 400, 501, CLOSED, closes=False)),
    )),
    Attack("H06", "a carriage return alone in a header", each(headed(b"X-Odd: a\rX-Other: b", 400, CLOSED), headed(b"X-Odd: a\r", 400, 200, CLOSED, closes=False))),
    Attack("H07", "lines that end in LF alone", sent(http(GOOD).replace(b"\r\n", b"\n"), 200, 400, CLOSED, closes=False)),
    Attack("H08", "20,000 headers", each(headed(b"\r\n".join(b"X-%d: y" % n for n in range(20_000)), 431, 400, CLOSED), headed(b"\r\n".join([b"X: y"] * 20_000), 431, 400, CLOSED))),
    Attack("H09", "2,000 short headers, which come at once", headed(b"\r\n".join([b"X:y"] * 2000), 431, 400, CLOSED)[1]),
    Attack("H10", "a header of a megabyte", headed(b"X-Odd: " + b"y" * 1_000_000, 431, 400, CLOSED)[1]),
    Attack("H11", "a request line of a megabyte", each(
        ("path", sent(http(GOOD, path="/" + "x" * 1_000_000), 400, 414, CLOSED)),
        ("query", sent(http(GOOD, path="/v1/models?" + "x" * 1_000_000), 400, 414, CLOSED)),
        ("method", sent(http(GOOD, method="X" * 1_000_000), 400, 414, CLOSED)),
    )),
    Attack("H12", "a request line of 100 kB, which comes at once", each(
        ("path", sent(http(GOOD, path="/v1/models/" + "x" * 100_000), 400, 405, 414, 431, CLOSED, closes=False)),
        ("slashes", sent(http(GOOD, path="/" * 100_000), 400, 404, 414, 431, CLOSED, closes=False)),
        ("dots", sent(http(GOOD, path="/v1beta/models/" + ":generate" * 10_000), 400, 405, 414, 431, CLOSED, closes=False)),
        ("escapes", sent(http(GOOD, path="/v1beta/models/" + "%25" * 30_000 + ":generateContent"), 400, 404, 414, 431, CLOSED, closes=False)),
    )),
    Attack("H13", "a version of HTTP that is not spoken", each(*(
        (version, sent(http(GOOD, version=version), 200, 400, 404, 505, CLOSED, closes=False)) for version in ("HTTP/11", "HTTP/1", "http/1.1", "FTP/1.1", "", "HTTP/1.1 x")
    ))),
    Attack("H22", "a version of HTTP that there is not", each(*(
        (version, each(
            ("a request", sent(http(GOOD, version=version), 505)),
            ("a WebSocket", sent(upgrade().replace(b"HTTP/1.1", version.encode()), 400)),
        )) for version in ("HTTP/9.9", "HTTP/2.1", "HTTP/1.2", "HTTP/0.9")
    ))),
    Attack("H14", "two names of the server, or none", each(("two", sent(http(GOOD, HOST), 400)), ("none", sent(http(GOOD, host=""), 400)), ("none, as of old", sent(http(GOOD, host="", version="HTTP/1.0"), 403)))),
    Attack("H15", "TLS on the plain port", each(
        ("hello", sent(bytes.fromhex("16030100c8010000c40303") + bytes(range(256))[:192] + bytes(16), 400, CLOSED)),
        ("alert", sent(bytes.fromhex("15030100020228"), 400, CLOSED)),
    )),
    Attack("H16", "HTTP/2 on the plain port", each(
        ("preface", sent(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", 400, 403, 404, 505, CLOSED)),
        ("h2c", sent(http(GOOD, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"), 200, 400, closes=False)),
    )),
    Attack("H17", "other protocols", each(*(
        (repr(raw[:10]), sent(raw, 400, CLOSED)) for raw in (b"\x05\x01\x00", b"EHLO x\r\n\r\n", b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00", b"SSH-2.0-x\r\n\r\n", b"\x00" * 100, b"*1\r\n$4\r\nPING\r\n\r\n", b"GET\r\n\r\n", b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n\r\n")
    ))),
    Attack("H18", "a client that waits to be told to go on", each(
        ("it sends", lambda place: waits(place, str(len(GOOD)), GOOD, [100, 200])),
        ("too much", lambda place: waits(place, "999999999", b"", [413])),
    )),
    Attack("H19", "an expectation that nobody knows", headed(b"Expect: 200-ok", 200, 417, closes=False)[1]),
    Attack("H21", "a name for the request", lambda place: request_ids(place)),
    Attack("H20", "headers that speak for a proxy", lambda place: forwarded(place)),
]  # fmt: skip


def waits(place: Place, length: str, body: bytes, expected: list[int]) -> list[str]:
    line = place.line(http(None, f"Content-Length: {length}", "Expect: 100-continue"))
    line.hear(lambda line: bool(line.statuses))
    if line.statuses[:1] == [100]:
        line.send(body)
    line.hear(one)
    return [] if line.statuses in (expected, [200]) else [f"answered {line.statuses}"]


def request_ids(place: Place) -> list[str]:
    """It is ours, and of a caller's nothing is told, logged or sent on."""
    evil = "evil-id\\r\\nX-Evil: 1"
    lines = [f"{name}: {evil}" for name in ("X-Request-Id", "Request-Id", "X-Client-Request-Id", "Traceparent")]
    line = place.line(http(GOOD, *lines)).hear(one)
    found = judged(line, (200,), closes=False)
    told = [*(str(context.headers) for context in place.world.vendor.contexts), repr(bytes(line.heard))]
    told.append(place.world.log.read_text()[place.world.read :])
    return [*found, *("is repeated" for text in told if "evil-id" in text)]


def forwarded(place: Place) -> list[str]:
    lines = (
        "X-Forwarded-Host: evil.example",
        "Forwarded: host=evil.example;for=1.2.3.4",
        "X-Forwarded-For: 127.0.0.1",
        "X-Original-URL: /v1/models",
        "X-HTTP-Method-Override: DELETE",
    )
    found = judged(place.line(http(GOOD, *lines)).hear(one), (200,), closes=False)
    told = str([dict(context.headers) for context in place.world.vendor.contexts])
    return [*found, *(["reaches the vendor"] if "evil" in told or "1.2.3.4" in told else [])]


# --- what follows ---------------------------------------------------------------------------------------------------


def pipelined(place: Place) -> list[str]:
    """Good and bad ones, whose answers tell them apart."""
    raw = b"".join(
        place.question("openai_chat", f"say number {n}") if n % 2 else http(None, method="GET", path=f"/nowhere{n}")
        for n in range(20)
    )
    line = place.line(raw).hear(lambda line: len(line.statuses) >= 20)
    found = [
        f"answer {n} is {answer.status}"
        for n, answer in enumerate(line.answers)
        if (f'"number {n}"' if n % 2 else f"/nowhere{n})").encode() not in answer.body
    ]
    return [*found, *([] if len(line.answers) == 20 or line.closed else [f"{len(line.answers)} answers"])]


def hundreds(place: Place) -> list[str]:
    """In their order, each with its own answer."""
    raw = b"".join(http(None, method="GET", path=f"/nowhere{n}") for n in range(500))
    line = place.line(raw).hear(lambda line: line.heard.count(b"HTTP/1.1 ") >= 500 and line.heard.endswith(b"}"))
    told = [n for n, answer in enumerate(line.answers) if f"/nowhere{n})".encode() in answer.body]
    return [] if told == [*range(500)] else [f"{len(told)} of {len(line.answers)} are in their place"]


def poured(place: Place) -> list[str]:
    """As many requests as fit, and no answer read."""
    line = place.line(window=4096)
    line.socket.settimeout(1)
    line.send(*[http(None, method="GET", path="/v1/models") * 1000] * 50)
    return []


def behind_a_stream(place: Place) -> list[str]:
    """A stream that runs, and behind it more than anybody will read."""
    line = place.line(place.question("openai_chat", "delay 0.5\npieces 1\nsay slowly", stream=True))
    line.socket.settimeout(1)
    line.send(*[b"GET / HTTP/1.1\r\n" + b"X" * 1_000_000] * 200)
    return []


def behind_an_error(place: Place) -> list[str]:
    line = place.line(http(b"{}", "Content-Encoding: gzip") + SMUGGLED).hear()
    return judged(line, (415,), closes=True)


PIPELINES = [
    Attack("P01", "20 requests at once, every second one good", pipelined),
    Attack("P05", "500 requests at once", hundreds),
    Attack("P02", "50,000 requests at once, no answer read", poured),
    Attack("P03", "200 MB behind a request that is being answered", behind_a_stream),
    Attack("P04", "a request behind one that is refused", behind_an_error),
]


# --- methods and paths ----------------------------------------------------------------------------------------------


def echoed(method: str, path: str = "/v1/chat/completions") -> Does:
    raw = http(None, "X-Secret: mirrored", method=method, path=path)
    return lambda place: answers(place, [(method, raw)], 400, 404, 405, 501, never=b"mirrored")


METHODS = [
    Attack("M01", "TRACE", each(("path", echoed("TRACE")), ("root", echoed("TRACE", "/")), ("star", echoed("TRACE", "*")))),
    Attack("M02", "CONNECT", each(("elsewhere", echoed("CONNECT", "127.0.0.1:22")), ("path", echoed("CONNECT")), ("name", echoed("CONNECT", "evil.example:443")))),
    Attack("M03", "methods that nobody knows", each(*((method[:9], echoed(method)) for method in ("BREW", "get", "post", "PROPFIND", "X" * 5000, "__INIT__", "P-O.S~T")))),
    Attack("M04", "a method that is no word", each(*((repr(method), sent(http(GOOD, method=method), 400, CLOSED)) for method in ("PO ST", "", "P\x00ST", "P(OST", "\xe9", '"POST"')))),
]  # fmt: skip

TRICKS = (
    "/../../../../etc/passwd", "/v1/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2f..%2fetc%2fpasswd", "/%252e%252e%252fetc%252fpasswd", "//etc/passwd",
    "/v1/models/..%2f..%2f..%2fetc%2fpasswd", "/v1/models/%2e%2e", "/..;/admin", "/v1/models/..\\..\\windows\\win.ini", "/v1/models/%00", "/v1/models/x%00.json", "/%0d%0aSet-Cookie:x=y",
    "/static/../serve.py", "/.env", "/.git/config", "/docs", "/openapi.json", "/debug", "/metrics", "/v1/models/%f0%28%8c%28", "/v1/models/%", "/v1/models/%u0041", "/v1/models/a#b",
    "file:///etc/passwd", "http://127.0.0.1:1/", "https://evil.example/v1/models", "*", "?", "/?", "/v1/models?x=../../etc/passwd",
)  # fmt: skip


def walked(place: Place) -> list[str]:
    found: list[str] = []
    for path in TRICKS:
        here = "/models/" in path and place.name == "simulator"
        good = (200,) if "?x=" in path else (200, 404) if here else (400, 404)
        raw = http(None, method="GET", path=path)
        found += answers(place, [(path, raw)], *good, never=b"root:")
        found += ["sets a cookie"] if b"\nset-cookie" in bytes(place.lines[-1].heard).lower() else []
    return found


NAMES = (
    "../../etc/passwd", "x/../../secret", "..", "x?key=y", "x#y", "x\x00y", "x\r\nEvil: 1", "http://127.0.0.1:1/v1", "//127.0.0.1:1/", "x%2f..%2fy", "\u202eevil", "x" * 5000, "simulator/../x", "openai_chat/../../x", "compatible/x", "__class__", "{0.__class__}", "%s%n",
)  # fmt: skip


def named(place: Place) -> list[str]:
    """In the path, where Google's clients write it, and in the body."""
    found: list[str] = []
    simulated = (200,) if place.name == "simulator" else ()
    for name in NAMES:
        paths = [f"/v1beta/models/{quote(name, safe=safe)}:generateContent" for safe in ("", "/")]
        body = b'{"contents":[{"parts":[{"text":"hi"}]}]}'
        found += answers(
            place, ((path, http(body, path=path)) for path in paths), *simulated, 400, 404, never=b"\nEvil:"
        )
        path = f"/v1/models/{quote(name, safe='')}"
        found += answers(place, [(path, http(None, method="GET", path=path))], 200, 400, 404, never=b"\nEvil:")
        written = [wire for wire in PATHS if "generateContent" not in PATHS[wire]]
        bodies = ((f"{wire} {name!r}", place.question(wire, model=name)) for wire in written)
        found += answers(place, bodies, *(simulated or (400, 404)))
    if place.name == "gateway" and place.world.vendor.contexts:
        found.append("a vendor was asked")
    return found


ALIKE = (
    "\u043epenai_chat", "openai\u02cdchat", "\uff4f\uff50enai_chat", "openai_chat\u200b", "\ufeffopenai_chat", "openai_chat ", " openai_chat", "OpenAI_Chat", "openai_chat\u0301", "openai_chat\u0000", "openai_chat/", "/openai_chat", "openai_chat\u2024",
    "\u0455imulator/x", "SIMULATOR/x", "simulator\u2215x", "openai\\x", "openai_chat\ud800",
)  # fmt: skip


def alike(place: Place) -> list[str]:
    """None of them is the model that it looks like, and nothing is made of them."""
    found: list[str] = []
    for name in ALIKE:
        for wire in PATHS:
            said = {"messages": [{"role": "user", "content": "hi"}], "input": "hi", "max_tokens": 9}
            path = PATHS[wire].replace(quote(wire), "openai%ED%A0%80")  # half a character cannot be quoted
            half = http(json.dumps({"model": name, **said}).encode(), path=path)
            raw = half if "\ud800" in name else place.question(wire, model=name)
            found += answers(place, [(f"{wire} {name!r}", raw)], 400, 404)
    return [*found, *(["a vendor was asked"] if place.world.vendor.contexts else [])]


PLACES = [
    Attack("N03", "names that look like those of models", alike, on=("gateway",)),
    Attack("N01", "paths that lead out of the server, or to files", walked),
    Attack("N02", "names of models that are paths, queries, URLs, headers", named),
]  # fmt: skip

CASES = [*FRAMING, *HEADS, *PIPELINES, *METHODS, *PLACES]
