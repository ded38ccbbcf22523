"""Faults of the network and of HTTP itself: `T` the way there and back, `P` the protocol."""

# ruff: noqa: E501 - a case is a line

from __future__ import annotations

import contextlib
import gzip
import socket
import ssl
import warnings
import zlib
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import trustme

from llm_rest.transport import Timeouts
from tests.hostile.documents import Documents
from tests.hostile.table import Case, World, bad, either, good, to_nobody, twice
from tests.loopback import (
    END,
    LONGEST,
    Act,
    Loopback,
    chunks,
    drip,
    each_byte,
    early,
    flood,
    full,
    gated,
    half_closed,
    head,
    http,
    loopback,
    reset,
    send,
    send_and_close,
    send_and_stall,
)
from tests.transport import certificates
from tests.transport.certificates import serving

NETWORK = ("connect", "protocol", "api_connection")
ANY = ("connect", "protocol", "api_connection", "malformed_response", "response_too_large")


def ok(d: Documents) -> bytes:
    return http(d.good())


def cut(d: Documents) -> bytes:
    """Half of a good answer."""
    body = d.good()
    return http(body[: len(body) // 2], length=len(body))


def until_closed(body: bytes, version: str = "1.1") -> bytes:
    return f"HTTP/{version} 200 OK\r\ncontent-type: application/json\r\n\r\n".encode() + body


async def big_upload(world: World) -> Any:
    """More than what the kernel holds on both sides (4 MB at the sender, `ROOM` at the server) when little is read."""
    return await world.client().generate("x" * 6_000_000)


async def after_a_pause(world: World) -> Any:
    """Two calls, and the server ends the idle connection between them."""
    llm = world.client()
    await llm.generate("Hi")
    world.server.go.set()
    world.server.wait_closed()
    return await llm.generate("Hi")


def between_calls(end: Act) -> Any:
    return lambda d: [gated(ok(d), then=end), send(ok(d))]


def certified(*names: str, **how: Any) -> Any:
    """The TLS of a server with a certificate for these names, made once."""
    return cache(lambda: serving(*names, **how))


async def trusting(world: World) -> Any:
    """A client that trusts the authority of these tests."""
    return await world.client(tls=certificates.trusting()).generate("Hi")


async def over_tls(world: World) -> Any:
    """TLS, whatever the server speaks."""
    return await world.client(base_url=world.server.url.replace("http:", "https:")).generate("Hi")


async def without_tls(world: World) -> Any:
    return await world.client(base_url=world.server.url.replace("https", "http")).generate("Hi")


async def to_a_full_server(world: World) -> Any:
    with full() as url:
        return await world.client(base_url=url).generate("Hi")


def with_close_notify(answer: Any) -> Any:
    """An answer over TLS, which is ended as TLS is to be ended."""

    def of(d: Documents) -> list[Act]:
        def act(connection: Any, server: Loopback) -> bool:
            connection.sendall(answer(d))
            with contextlib.suppress(OSError):
                connection.unwrap()
            return False

        return [act]

    return of


def in_the_handshake(answer: Act) -> Act:
    """What the server does once it received the first bytes of TLS."""

    def act(connection: socket.socket, server: Loopback) -> bool:
        connection.recv(65_536)
        return answer(connection, server)

    return act


def old_tls() -> ssl.SSLContext:
    context = serving()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


@early
def reads_nothing(connection: socket.socket, server: Loopback) -> bool:
    server.stopped.wait(LONGEST)
    return False


YESTERDAY = datetime.now(UTC) - timedelta(days=1)
NO_TRUST = bad("tls", attempts=0, retryable=False, code="network_error", then=lambda s: len(s.error.attempts) == 1)
SHORT = {"timeout": 0.5}
RETRY_1 = {"retry": 1}

T = [
    Case("T01", "connection refused", lambda d: [], bad("connect", attempts=0, retryable=True, code="network_error", then=lambda s: len(s.error.attempts) == 3 and len(s.waits) == 2), ask=to_nobody, counted=False),
    Case("T03", "the server accepts and closes at once", lambda d: [], bad(*NETWORK, attempts=3, retryable=True, code="network_error"), before=send_and_close()),
    Case("T04", "the server accepts and resets at once", lambda d: [], bad(*NETWORK, attempts=3, retryable=True), before=reset()),
    Case("T05", "request read, then FIN without a byte, every time", lambda d: [send_and_close()], bad(*NETWORK, attempts=3, retryable=True)),
    Case("T06", "FIN without a byte once, then good", lambda d: [send_and_close(), send(ok(d))], good(2)),
    Case("T07", "RST once, then good", lambda d: [reset(), send(ok(d))], good(2)),
    Case("T08", "RST every time", lambda d: [reset()], bad(*NETWORK, attempts=3, retryable=True)),
    Case("T09", "headers never come, timeout for the call", lambda d: [send_and_stall()], bad("api_timeout", attempts=1, retryable=True, code="network_error"), slow=True, options=SHORT),
    Case("T10", "headers never come once, then good", lambda d: [send_and_stall(), send(ok(d))], good(2), slow=True, options={"timeout": Timeouts(first_byte=1)}),
    Case("T11", "the body a byte at a time, slower than the deadline", lambda d: [drip(*each_byte(d.good()), pause=0.1, first=http(length=len(d.good())))], bad("api_timeout", attempts=1, phase="total"), slow=True, options=SHORT),
    Case("T12", "headers a byte at a time, slower than the deadline", lambda d: [drip(*each_byte(ok(d)), pause=0.1)], bad("api_timeout", attempts=1), slow=True, options=SHORT),
    Case("T13", "stall after half the body once, then good", lambda d: [send_and_stall(cut(d)), send(ok(d))], good(2), slow=True, options={"timeout": Timeouts(read=1)}),
    Case("T14", "stall after half the body, every time", lambda d: [send_and_stall(cut(d))], bad("api_timeout", attempts=3, phase="read", retryable=True), slow=True, options={"timeout": Timeouts(read=0.25)}),
    Case("T15", "FIN before Content-Length is reached once, then good", lambda d: [send_and_close(cut(d)), send(ok(d))], good(2)),
    Case("T16", "FIN before Content-Length is reached, every time", lambda d: [send_and_close(cut(d))], bad(*NETWORK, attempts=3)),
    Case("T17", "FIN without the last chunk once, then good", lambda d: [send_and_close(head(), chunks(d.good())), send(ok(d))], good(2)),
    Case("T18", "FIN without the last chunk, every time", lambda d: [send_and_close(head(), chunks(d.good()))], bad(*NETWORK, attempts=3)),
    Case("T19", "a body delimited by close is cut, every time", lambda d: [send_and_close(until_closed(d.good()[:-9]))], bad("malformed_response", attempts=2, code="network_error")),
    Case("T20", "a body delimited by close is cut once, then good", lambda d: [send_and_close(until_closed(d.good()[:-9])), send(ok(d))], good(2)),
    Case("T21", "an idle connection is reset between two calls", between_calls(reset()), good(2), ask=after_a_pause),
    Case("T22", "an idle connection is closed between two calls", between_calls(send_and_close()), good(2), ask=after_a_pause),
    Case("T23", "the second request on a reused connection is met by FIN", lambda d: [send(ok(d)), send_and_close(), send(ok(d))], good(3), ask=twice, counted=False),
    Case("T24", "the second request on a reused connection is met by RST", lambda d: [send(ok(d)), reset(), send(ok(d))], good(3), ask=twice, counted=False),
    Case("T25", "413 while 6 MB are still being uploaded, then close", lambda d: [early(half_closed(http(d.error(413, "too large"), "413 Too Large", "connection: close"), seconds=0.2))], bad("request_too_large", status=413), ask=big_upload, slow=True),
    Case("T26", "RST in the middle of the body, every time", lambda d: [reset(cut(d))], bad(*NETWORK, attempts=3), slow=True),
    Case("T27", "1xx answers for ever", lambda d: [drip(b"HTTP/1.1 103 Early Hints\r\n\r\n", pause=0.02, again=True)], bad("api_timeout", "protocol", attempts=(1, 3)), slow=True, options=SHORT),
    Case("T28", "100 Continue and 103 Early Hints before a good answer", lambda d: [send(b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", ok(d))], good()),
    Case("T29", "HTTP/1.0, body delimited by close", lambda d: [send_and_close(until_closed(d.good(), "1.0"))], good()),
    Case("T30", "Connection: close after every answer", lambda d: [send_and_close(http(d.good(), "200 OK", "connection: close"))], good(2), ask=twice),
    Case("T31", "a TLS certificate of an unknown authority", lambda d: [send(ok(d))], NO_TRUST, tls=certified(), counted=False),
    Case("T32", "a TLS certificate of another authority of the same name", lambda d: [send(ok(d))], NO_TRUST, ask=trusting, tls=certified(ca=trustme.CA()), counted=False),
    Case("T33", "a TLS certificate that has expired", lambda d: [send(ok(d))], NO_TRUST, ask=trusting, tls=certified(not_after=YESTERDAY), counted=False),
    Case("T34", "a TLS certificate for another name", lambda d: [send(ok(d))], NO_TRUST, ask=trusting, tls=certified("api.example.com"), counted=False),
    Case("T35", "https:// to a port that speaks SSH", lambda d: [], bad("tls", *NETWORK, attempts=(1, 3)), before=send_and_close(b"SSH-2.0-OpenSSH_9.6\r\n"), ask=over_tls),
    Case("T37", "TLS closed in mid body without close_notify", lambda d: [send_and_close(cut(d))], bad(*NETWORK, attempts=3), ask=trusting, tls=certified()),
    Case("T43", "TLS, and the body is whole, but close_notify is missing and its length was not told", lambda d: [send_and_close(until_closed(d.good()))], bad(*NETWORK, attempts=3), ask=trusting, tls=certified()),
    Case("T48", "the TLS handshake stalls", lambda d: [], bad("api_timeout", attempts=(1, 3)), before=send_and_stall(), ask=over_tls, slow=True, options=SHORT),
    Case("T49", "connecting takes for ever", lambda d: [], bad("api_timeout", "connect", attempts=0, retryable=True, code="network_error"), ask=to_a_full_server, counted=False, slow=True, options={"timeout": Timeouts(connect=0.2)}),
    Case("T51", "the server ends its side behind a whole answer", lambda d: [half_closed(ok(d))], good()),
    Case("T52", "stall in the middle of the head once, then good", lambda d: [send_and_stall(b"HTTP/1.1 200 OK\r\ncontent-le"), send(ok(d))], good(2), slow=True, options={"timeout": Timeouts(first_byte=1)}),
    Case("T53", "the answer comes before the request is read, then close", lambda d: [early(send_and_close(ok(d)))], either(good(), bad(*NETWORK, attempts=(1, 3))), ask=big_upload, slow=True, counted=False),
    Case("T56", "TLS is ended as it should be, in mid body", with_close_notify(cut), bad(*NETWORK, attempts=3), ask=trusting, tls=certified()),
    Case("T57", "TLS is ended as it should be, behind a body without a length", with_close_notify(lambda d: until_closed(d.good())), good(), ask=trusting, tls=certified()),
    Case("T58", "TLS, a whole answer, and no close_notify", lambda d: [send_and_close(ok(d))], good(), ask=trusting, tls=certified()),
    Case("T59", "TLS, and RST in mid body", lambda d: [reset(cut(d))], bad(*NETWORK, attempts=3), ask=trusting, tls=certified()),
    Case("T60", "FIN in the TLS handshake", lambda d: [], bad(*NETWORK, attempts=3, retryable=True), before=in_the_handshake(send_and_close()), ask=over_tls),
    Case("T61", "RST in the TLS handshake", lambda d: [], bad(*NETWORK, attempts=3, retryable=True), before=in_the_handshake(reset()), ask=over_tls),
    Case("T62", "an alert in the TLS handshake", lambda d: [], bad("tls", retryable=False), before=in_the_handshake(send_and_close(b"\x15\x03\x03\x00\x02\x02\x28")), ask=over_tls),
    Case("T63", "HTTP in the clear at a port for TLS", lambda d: [], bad("tls", *NETWORK, attempts=(1, 3)), before=in_the_handshake(send_and_close(b"HTTP/1.1 400 Bad Request\r\n\r\nThe plain HTTP request was sent to HTTPS port")), ask=over_tls),
    Case("T64", "a TLS handshake that drips", lambda d: [], bad("api_timeout"), before=in_the_handshake(drip(b"x", first=b"\x16\x03\x03\x40\x00", pause=0.05, again=True)), ask=over_tls, slow=True, options=SHORT),
    Case("T65", "a server that speaks TLS 1.1 at most", lambda d: [send(ok(d))], NO_TRUST, ask=trusting, tls=old_tls, counted=False),
    Case("T66", "a server that wants a certificate of the client", lambda d: [send(ok(d))], NO_TRUST, ask=trusting, tls=certificates.requiring_certificates, counted=False),
    Case("T67", "http:// to a port that speaks TLS", lambda d: [send(ok(d))], bad(*NETWORK, attempts=(0, 3), retryable=True), ask=without_tls, tls=certified(), counted=False),
    Case("T68", "6 MB are sent to a server that reads nothing", lambda d: [reads_nothing], bad("api_timeout", attempts=(0, 1)), ask=big_upload, slow=True, lingers=True, counted=False, options={"timeout": 2}),
    Case("T69", "401 while 6 MB are still being uploaded, and nothing more is read or closed", lambda d: [early(send_and_stall(http(d.error(401), "401 Unauthorized")))], bad("authentication", status=401), ask=big_upload, slow=True),
    Case("T70", "the second request on a reused connection is met by silence", lambda d: [send(ok(d)), send_and_stall(), send(ok(d))], good(3), ask=twice, counted=False, slow=True, options={"timeout": Timeouts(first_byte=1)}),
    Case("T71", "an idle connection is told that it waited for too long", between_calls(send_and_close(http(b"", "408 Request Timeout", "connection: close"))), good(2), ask=after_a_pause),
    Case("T72", "Keep-Alive: timeout=0, max=0", lambda d: [send(http(d.good(), "200 OK", "keep-alive: timeout=0, max=0"))], good(2), ask=twice),
    Case("T73", "the server ends its side before it answers, and stays", lambda d: [half_closed()], bad(*NETWORK, attempts=3)),
    Case("T74", "RST behind a whole answer", lambda d: [reset(ok(d))], good((2, 3)), ask=twice, counted=False),
    Case("T36", "another protocol speaks first", lambda d: [], bad(*NETWORK, attempts=3), before=send_and_close(b"SSH-2.0-OpenSSH_9.6\r\n")),
    Case("T40", "an answer before anything was asked", lambda d: [], either(good(), bad(*ANY, attempts=(1, 3))), before=send_and_close(http(b"{}")), counted=False),
]  # fmt: skip


def status(line: str, d: Documents) -> bytes:
    return http(d.good(), line)


def packed(d: Documents, how: str, body: bytes | None = None) -> bytes:
    data = gzip.compress(d.good()) if body is None else body
    return http(data, "200 OK", f"content-encoding: {how}")


def redirect(code: str, where: str) -> Any:
    return lambda d: [send(http(b"", code, f"location: {where}"))]


REDIRECTED = bad("protocol", retryable=False, then=lambda s: s.requests == 1)
PROTOCOL = bad("protocol", attempts=3, retryable=True)
LIMITED = bad("protocol", attempts=1, retryable=False)
NO_JSON = bad("malformed_response", attempts=2)
ODD = either(good((1, 3)), bad(*ANY, attempts=(1, 3)))


async def cookies(world: World) -> Any:
    found = await twice(world)
    assert not any(b"cookie" in head.lower() for head in world.server.heads)
    return found


async def not_mixed_up(world: World) -> Any:
    """A forged second answer behind the first must not become that of the next call."""
    llm = world.client()
    replies = [await llm.generate("Hi") for _ in range(3)]
    assert [reply.output_text for reply in replies] == ["Hello"] * 3
    return replies[-1]


def headed(d: Documents, *lines: str, body: bytes | None = None, version: str = "HTTP/1.1") -> bytes:
    """A good answer with these headers and no others."""
    return "\r\n".join([f"{version} 200 OK", *lines, "", ""]).encode() + (d.good() if body is None else body)


def measured(d: Documents, spelled: str) -> bytes:
    """A good answer with its length in this spelling."""
    return headed(d, "content-length: " + spelled.format(len(d.good())))


def each(*answers: Any, act: Any = send_and_close) -> Any:
    """One answer after the other, for each attempt or call."""
    return lambda d: [act(answer(d)) for answer in answers]


def in_chunks(d: Documents, *names: str) -> bytes:
    return headed(d, *(f"transfer-encoding: {name}" for name in names), body=chunks(d.good()) + END)


async def elsewhere(world: World) -> Any:
    """A redirect to a server that listens, and hears nothing."""
    with loopback(send(http(b"{}"))) as other:
        world.server.acts[:] = [send(http(b"", "307 Temporary Redirect", f"location: {other.url}/v1"))]
        try:
            return await world.client().generate("Hi")
        finally:
            assert not other.connections


P = [
    Case("P01", "garbage instead of a status line, one without a status, a body without a head", each(lambda d: b"\x16\x03\x01\x02\x00garbage\r\n\r\n", lambda d: b"HTTP/1.1 OK\r\n\r\n", lambda d: d.good()), PROTOCOL),
    Case("P05", "100 000 headers", lambda d: [send_and_close(b"HTTP/1.1 200 OK\r\n" + b"x-a: b\r\n" * 100_000 + b"\r\n")], LIMITED),
    Case("P06", "one header of 2 MB", lambda d: [send_and_close(b"HTTP/1.1 200 OK\r\nx: " + b"a" * 2_000_000 + b"\r\n\r\n")], LIMITED),
    Case("P07", "two different Content-Length values", lambda d: [send_and_close(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n" + d.good())], PROTOCOL),
    Case("P10", "Content-Length: -1, +5, and letters", each(lambda d: measured(d, "-1"), lambda d: measured(d, "+5"), lambda d: measured(d, "ten")), PROTOCOL),
    Case("P11", "chunk size ZZ", lambda d: [send_and_close(head() + b"ZZ\r\n" + d.good() + b"\r\n0\r\n\r\n")], PROTOCOL),
    Case("P12", "chunk size -1, 2^63, and one without end", each(lambda d: head() + b"-1\r\n" + d.good(), lambda d: head() + b"8000000000000000\r\n" + d.good(), lambda d: head() + b"f" * 40 + b"\r\n" + d.good()), PROTOCOL),
    Case("P14", "Content-Length and Transfer-Encoding together", lambda d: [send_and_close(head("application/json", "content-length: 3") + chunks(d.good()) + END)], ODD),
    Case("P15", "trailers without end", lambda d: [flood(head() + chunks(d.good()) + b"0\r\n", b"x-t: y\r\n" * 1000, most=4_000_000)], ODD),
    Case("P16", "a forged answer behind an answer with a length, and behind one in chunks", lambda d: [send(ok(d) + http(d.good("forged"))), send(head() + chunks(d.good()) + END + http(d.good("forged"))), send(ok(d))], good(3), ask=not_mixed_up),
    Case("P17", "204 No Content", lambda d: [send(b"HTTP/1.1 204 No Content\r\n\r\n")], NO_JSON),
    Case("P18", "200 with Content-Length: 0", lambda d: [send(http(b""))], NO_JSON),
    Case("P19", "200 with an HTML page", lambda d: [send(http(b"<html><title>Sign in</title></html>", "200 OK", "content-type: text/html"))], bad("malformed_response", attempts=2, then=lambda s: "text/html" in str(s.error))),
    Case("P22", "good JSON sent as text/html, and without a type", lambda d: [send(http(d.good(), "200 OK", "content-type: text/html")), send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(d.good()) + d.good())], good(2), ask=twice),
    Case("P23", "gzip", lambda d: [send(packed(d, "gzip"))], good()),
    Case("P24", "deflate, and gzip in chunks of one byte", lambda d: [send(packed(d, "deflate", zlib.compress(d.good()))), send(head("application/json", "content-encoding: gzip") + chunks(*each_byte(gzip.compress(d.good()))) + END)], good(2), ask=twice),
    Case("P25", "gzip cut short", lambda d: [send(packed(d, "gzip", gzip.compress(d.good())[:-9]))], NO_JSON),
    Case("P26", "gzip with a wrong checksum", lambda d: [send(packed(d, "gzip", gzip.compress(d.good())[:-8] + b"\0" * 8))], NO_JSON),
    Case("P27", "says gzip, is not", lambda d: [send(packed(d, "gzip", d.good()))], NO_JSON),
    Case("P28", "says br, zstd, or something nobody knows", lambda d: [send(packed(d, "br")), send(packed(d, "zstd")), send(packed(d, "wat"))], LIMITED),
    Case("P29", "Content-Encoding: gzip x 100", lambda d: [send(packed(d, ", ".join(["gzip"] * 100)))], LIMITED),
    Case("P30", "gzip within gzip, named twice", lambda d: [send(packed(d, "gzip, gzip", gzip.compress(gzip.compress(d.good()))))], LIMITED),
    Case("P31", "302 to another origin", redirect("302 Found", "http://127.0.0.1:9/steal"), REDIRECTED),
    Case("P32", "301 and 303 to the same origin", redirect("303 See Other", "/v1/other"), REDIRECTED),
    Case("P33", "307 to itself, for ever", redirect("307 Temporary Redirect", "/v1/self"), REDIRECTED),
    Case("P34", "308 without a Location", lambda d: [send(http(b"", "308 Permanent Redirect"))], REDIRECTED),
    Case("P35", "redirect to file:///etc/passwd", redirect("302 Found", "file:///etc/passwd"), REDIRECTED),
    Case("P36", "redirect to a Location that is no URL, or holds a password", redirect("302 Found", "http://user:hunter2@[::bad"), bad("protocol", retryable=False, then=lambda s: "hunter2" not in str(s.error))),
    Case("P37", "Set-Cookie", lambda d: [send(http(d.good(), "200 OK", "set-cookie: a=b; Path=/"))], good(2), ask=cookies),
    Case("P38", "304 Not Modified without being asked", lambda d: [send(b"HTTP/1.1 304 Not Modified\r\n\r\n")], bad("protocol", "malformed_response", attempts=(1, 3))),
    Case("P40", "JSON in Latin-1 with a letter of it", lambda d: [send(http(d.good("Grüße").decode().encode("latin-1"), "200 OK", "content-type: application/json; charset=latin-1"))], NO_JSON),
    Case("P42", "status 600 and 999", lambda d: [send(status("600 What", d))], bad("internal_server", "protocol", "api_status", "malformed_response", attempts=(1, 3))),
    Case("P43", "101 Switching Protocols", lambda d: [send_and_close(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n" + d.good())], PROTOCOL),
    Case("P44", "a header folded over two lines", lambda d: [send(http(d.good(), "200 OK", "x-long: a\r\n  b"))], ODD),
    Case("P45", "NUL in a header", lambda d: [send_and_close(http(d.good(), "200 OK", "x-nul: a\0b"))], either(good(), PROTOCOL)),
    Case("P47", "bytes of gzip behind its end", lambda d: [send(packed(d, "gzip", gzip.compress(d.good()) + b"more"))], NO_JSON),
    Case("P50", "Transfer-Encoding: identity, and gzip, chunked", lambda d: [send_and_close(b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n" + chunks(gzip.compress(d.good())) + END)], ODD),
    Case("P51", "a blank before the colon of a header, and none at all", lambda d: [send_and_close(http(d.good(), "200 OK", "x-a : b")), send_and_close(http(d.good(), "200 OK", "x-nothing"))], ODD),
    Case("P52", "bare line feeds in the head", lambda d: [send_and_close(b"HTTP/1.1 200 OK\ncontent-length: %d\n\n" % len(d.good()) + d.good())], ODD),
    Case("P53", "a reason of 10 kB, and one of other letters", lambda d: [send(http(d.good(), "200 " + "x" * 10_000)), send(http(d.good(), "200 \u00fc"))], good(2), ask=twice),
    Case("P54", "Content-Encoding: identity, and an empty one", lambda d: [send(packed(d, "identity", d.good())), send(packed(d, "", d.good()))], good(2), ask=twice),
    Case("P55", "a charset that is not the real one", lambda d: [send(http(d.good("Gr\u00fc\u00dfe"), "200 OK", "content-type: application/json; charset=utf-16"))], good(text="Gr\u00fc\u00dfe")),
    Case("P56", "gzip in upper case, and x-gzip", lambda d: [send(packed(d, "GZIP")), send(packed(d, "x-gzip"))], good(2), ask=twice),
    Case("P58", "206 and 299 with a good body", lambda d: [send(status("206 Partial Content", d)), send(status("299 Odd", d))], good(2), ask=twice),
    Case("P59", "gzip of nothing, and an empty body that says gzip", lambda d: [send(packed(d, "gzip", gzip.compress(b""))), send(packed(d, "gzip", b""))], NO_JSON),
    Case("P60", "chunks are announced, and a plain body comes; the connection stays open", lambda d: [send_and_stall(headed(d, "transfer-encoding: chunked", f"content-length: {len(d.good())}"))], PROTOCOL, slow=True),
    Case("P61", "chunks whose lines end with a line feed alone; the connection stays open", lambda d: [send_and_stall(head() + b"%x\n%s\n0\n\n" % (len(d.good()), d.good()))], PROTOCOL, slow=True),
    Case("P66", "trailers that tell another length and coding", lambda d: [send(head() + chunks(d.good()) + b"0\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\n")], good(2), ask=twice),
    Case("P68", "the length as a list of itself, and with zeros in front", each(lambda d: measured(d, "{0}, {0}"), lambda d: measured(d, "000{0}"), act=send), good(2), ask=twice),
    Case("P69", "no length in the header, one of 5000 digits, one in hex", each(lambda d: measured(d, ""), lambda d: measured(d, "9" * 5000), lambda d: measured(d, "0x{0:x}")), PROTOCOL),
    Case("P70", "the length is shorter than the body", lambda d: [send(http(d.good(), length=len(d.good()) - 5))], NO_JSON),
    Case("P71", "chunked twice, in two headers, and a coding like it", each(lambda d: in_chunks(d, "chunked, chunked"), lambda d: in_chunks(d, "chunked", "chunked"), lambda d: in_chunks(d, "xchunked")), PROTOCOL),
    Case("P72", "CHUNKED in capitals, and in HTTP/1.0", each(lambda d: in_chunks(d, "CHUNKED"), lambda d: in_chunks(d, "chunked").replace(b"1.1", b"1.0"), act=send), good((2, 2)), ask=twice),
    Case("P73", "HTTP/1.0 that keeps its connection", lambda d: [send(headed(d, "connection: keep-alive", f"content-length: {len(d.good())}", version="HTTP/1.0"))], good(2), ask=twice),
    Case("P74", "Connection: close, and the server keeps it open", lambda d: [send(http(d.good(), "200 OK", "connection: close"))], good(2, then=lambda s: s.connections == 2), ask=twice),
    Case("P75", "Connection: close, and a forged answer behind it", lambda d: [send(http(d.good(), "200 OK", "connection: close") + http(d.good("forged")))], good(3), ask=not_mixed_up),
    Case("P76", "statuses of two digits, of four, and below 100", each(lambda d: status("20 OK", d), lambda d: status("2000 OK", d), lambda d: status("000 OK", d)), PROTOCOL),
    Case("P77", "another protocol in the status line: HTTP/3, ICY, in small letters", each(lambda d: headed(d, version="HTTP/3"), lambda d: headed(d, version="ICY"), lambda d: headed(d, version="http/1.1")), PROTOCOL),
    Case("P78", "blank lines before the status line", lambda d: [send(b"\r\n\r\n" + ok(d))], ODD),
    Case("P79", "a blank line behind every answer", lambda d: [send(ok(d) + b"\r\n")], good(3), ask=not_mixed_up),
    Case("P80", "a header without a name, with a bare CR, and a first one that is folded", each(lambda d: headed(d, ": x"), lambda d: headed(d, "x-a: a\rb"), lambda d: headed(d, " x-a: b")), PROTOCOL),
    Case("P81", "headers that are empty, of other letters, with control characters", lambda d: [send(http(d.good(), "200 OK", "x-a:", "x-b: \u00fc\U0001f600", "x-c: a\x07\x1b[31mb"))], good()),
    Case("P88", "gzip that is not said", lambda d: [send(http(gzip.compress(d.good())))], NO_JSON),
    Case("P90", "codings that are none: none, utf-8, and lists with a gap", each(lambda d: packed(d, "none", d.good()), lambda d: packed(d, "utf-8", d.good()), lambda d: packed(d, "gzip,"), act=send), ODD),
    Case("P92", "bytes without end behind the end of gzip", lambda d: [flood(head("application/json", "content-encoding: gzip") + chunks(gzip.compress(d.good())), chunks(b"x" * 65_536), most=200_000_000)], bad("response_too_large"), modes=("sync",)),
    Case("P93", "204 with a body, then good", each(lambda d: status("204 No Content", d), lambda d: ok(d), act=send), good(2)),
    Case("P94", "300 Multiple Choices with a good body", lambda d: [send(http(d.good(), "300 Multiple Choices", "location: /v1"))], REDIRECTED),
    Case("P95", "a redirect whose body is cut", lambda d: [send_and_close(head(status="302 Found") + b"5\r\nab")], REDIRECTED),
    Case("P96", "a redirect whose body stalls", lambda d: [send_and_stall(http(b"ab", "302 Found", "location: /x", length=100))], REDIRECTED, slow=True, options={"timeout": 2}),
    Case("P97", "a redirect to a server that listens", lambda d: [send(b"")], REDIRECTED, ask=elsewhere),
    Case("P98", "a redirect to //host, to two places, of 10 kB, with escapes", lambda d: [send(http(b"", "302 Found", "location: //" + "a" * 10_000 + "\x1b[31m/", "location: http://b.example/"))], REDIRECTED),
    Case("P99", "200 with Refresh and Location", lambda d: [send(http(d.good(), "200 OK", "refresh: 0; url=http://127.0.0.1:9/", "location: http://127.0.0.1:9/"))], good()),
    Case("P100", "100 Continue with a length and a body", lambda d: [send_and_close(b"HTTP/1.1 100 Continue\r\ncontent-length: 5\r\n\r\nhello" + ok(d))], ODD),
    Case("P101", "a thousand early hints, then good", lambda d: [send(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" * 1000 + ok(d))], good()),
    Case("P102", "early hints of 200 kB", lambda d: [send_and_close(b"HTTP/1.1 103 Early Hints\r\nx: " + b"a" * 200_000 + b"\r\n\r\n" + ok(d))], LIMITED),
    Case("P103", "100 Continue and nothing more", each(lambda d: b"HTTP/1.1 100 Continue\r\n\r\n"), PROTOCOL),
    Case("P104", "1xx answers at full speed, for ever", lambda d: [flood(b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 1000, most=10**10)], bad("api_timeout", "protocol", attempts=(1, 3)), slow=True, options=SHORT),
    Case("P105", "frames of HTTP/2, and its preface", each(lambda d: bytes.fromhex("000012040000000000000300000064000400100000"), lambda d: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", lambda d: bytes(10_000)), PROTOCOL),
    Case("P106", "a request instead of an answer, and a status line with NUL", each(lambda d: b"POST / HTTP/1.1\r\nhost: x\r\n\r\n", lambda d: b"HTTP/1.1 200 O\0K\r\n\r\n" + d.good(), lambda d: b"HTTP/1.1\r\n\r\n" + d.good()), PROTOCOL),
    Case("P108", "JSON in UTF-16, and in UTF-32", each(lambda d: http(d.good().decode().encode("utf-16")), lambda d: http(d.good().decode().encode("utf-32")), act=send), NO_JSON),
    Case("P109", "a stream instead of a document", lambda d: [send(http(b"".join(d.frames()), "200 OK", "content-type: text/event-stream"))], either(good(), NO_JSON)),
    Case("P111", "a content type of 10 kB with escapes", lambda d: [send(http(b"<html>", "200 OK", "content-type: \x1b[31m" + "x" * 10_000))], NO_JSON),
    Case("P112", "two content types", lambda d: [send(http(d.good(), "200 OK", "content-type: text/html", "content-type: application/json"))], good()),
    Case("P113", "blank lines while the answer is made, as keep-alives", lambda d: [drip(*[b"\r\n"] * 5, d.good(), pause=0.1, first=http(length=len(d.good()) + 10))], good(), slow=True, options={"timeout": Timeouts(read=3)}),
    Case("P48", "a byte order mark before the JSON", lambda d: [send(http(b"\xef\xbb\xbf" + d.good()))], good()),
]  # fmt: skip
