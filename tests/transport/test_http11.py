"""Chunks are read by us as the parser would read them, and requests are written as a server reads them."""

from __future__ import annotations

from contextlib import nullcontext

import h11
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llm_rest.transport.connection import HTTP11, LARGEST_HEAD
from tests.loopback import END, STREAM, chunks
from tests.support.streams import slices

TARGET = "POST", "/", [(b"host", b"x"), (b"content-length", b"0")], b""


def by_the_parser(pieces: list[bytes]) -> tuple[bytes, bool]:
    """What the parser alone makes of an answer: its body as far as it came, and whether it is whole."""
    parser = h11.Connection(h11.CLIENT)
    parser.send(h11.Request(method="POST", target="/", headers=TARGET[2]))
    parser.send(h11.EndOfMessage())
    body = b""
    try:
        for piece in [*filter(None, pieces), b""]:
            if not piece and parser.their_state is h11.SEND_RESPONSE:
                return body, False
            parser.receive_data(piece)
            while (event := parser.next_event()) is not h11.NEED_DATA:
                if isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    return body, True
    except h11.RemoteProtocolError:
        pass
    return body, False


def by_us(pieces: list[bytes]) -> tuple[bytes, bool]:
    machine = HTTP11()
    machine.request(*TARGET)
    coming = iter([*filter(None, pieces), b""])
    body = b""
    try:
        while machine.head() is None:
            machine.feed(next(coming))
        while True:
            piece = machine.piece()
            if piece is None:
                machine.feed(next(coming))
            elif piece:
                body += piece
            else:
                return body, True
    except h11.RemoteProtocolError:
        return body, False


HEADS = [
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.1 204 No\r\ntransfer-encoding: chunked\r\n\r\n",
]
SIZES = ["{:x}", "{:X}", "{:06x}", "{:x};a=b", "{:x} ", "+{:x}", "0x{:x}", "{:x}_0", "", "{:010x}"]
LINE_ENDS = [b"\r\n"] * 9 + [b"\n", b"", b"xy"]
ENDS = [b"0\r\n\r\n", b"0\r\na: b\r\n\r\n", b"00\r\n\r\n", b"", b"0\r\n", b"HTTP/1.1 200 OK\r\n\r\n"]
CHUNK = st.tuples(st.sampled_from(SIZES[:3] * 5 + SIZES[3:]), st.binary(max_size=40), st.sampled_from(LINE_ENDS))


@given(
    head=st.sampled_from(HEADS),
    body=st.lists(CHUNK),
    end=st.sampled_from(ENDS),
    cuts=st.lists(st.integers(0, 400), max_size=5),
    cut=st.integers(0, 400) | st.none(),
)
@example(head=HEADS[0], body=[("0x{:x}", b"abc", b"\r\n")], end=ENDS[0], cuts=[], cut=None)
@example(head=HEADS[0], body=[("0X{:x}", b"abc", b"\r\n")], end=ENDS[0], cuts=[], cut=None)
def test_chunks_are_read_as_the_parser_reads_them(
    head: bytes, body: list[tuple[str, bytes, bytes]], end: bytes, cuts: list[int], cut: int | None
) -> None:
    """Wherever the bytes are cut, and whatever is wrong with them."""
    sent = head + b"".join(size.format(len(d)).encode() + b"\r\n" + d + line for size, d, line in body) + end
    pieces = slices(sent[:cut], cuts)
    assert by_us(pieces) == by_the_parser(pieces)


REFUSED = [b"{", b"ZZ", b"3\n", b"3\nabc\n0\n\n", b'{"id": "resp_1", "output": []}', b"0x3", b"-3", b" x"]
WAITED_FOR = [b"", b"3", b"3\r", b"03", b"3;", b"3;a=b", b"3 ", b"0", b"0\r\n", b"0\r\na: b"]


@pytest.mark.parametrize("line", REFUSED + WAITED_FOR)
def test_the_length_of_a_chunk_that_is_invalid_is_refused_before_its_line_ends(line: bytes) -> None:
    """It may never end: a server that announces chunks and sends a plain body keeps the connection open."""
    machine = HTTP11()
    machine.request(*TARGET)
    machine.feed(STREAM + chunks(b"one") + line)
    assert machine.head() is not None
    assert machine.piece() == b"one"
    with nullcontext() if line in WAITED_FOR else pytest.raises(h11.RemoteProtocolError):
        assert machine.piece() is None


# --- requests -------------------------------------------------------------------------------------------------------------

TOKEN = st.text("abcXYZ-_", min_size=1, max_size=9).map(str.encode)
VALUE = st.text('azAZ09 :;,="/\xe9', max_size=20).map(lambda text: text.strip().encode("latin-1"))


@given(headers=st.lists(st.tuples(TOKEN, VALUE), max_size=6), body=st.binary(max_size=60))
def test_a_server_reads_the_request_that_was_meant(headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    meant = [(b"Host", b"a.example"), *headers, (b"Content-Length", b"%d" % len(body))]
    server = h11.Connection(h11.SERVER)
    server.receive_data(b"".join(HTTP11().request("POST", "/v1/x?y=z", meant, body)))
    request = server.next_event()
    assert isinstance(request, h11.Request)
    assert (request.method, request.target) == (b"POST", b"/v1/x?y=z")
    assert request.headers.raw_items() == meant
    came = b""
    while isinstance(event := server.next_event(), h11.Data):
        came += event.data
    assert (came, type(event)) == (body, h11.EndOfMessage)


@pytest.mark.parametrize("value", [b"a\r\nx: y", b"a\nx: y", b"a\rx: y", b"a\r\n\r\nGET / HTTP/1.1", b"a\0"])
def test_what_would_end_a_header_is_refused(value: bytes) -> None:
    for headers in ([(b"host", value)], [(value, b"x")], [(b"a", b"b"), (b"c", value)]):
        with pytest.raises(h11.LocalProtocolError):
            HTTP11().request("POST", "/", headers, b"")
    with pytest.raises(h11.LocalProtocolError):
        HTTP11().request("POST", value.decode(), [(b"host", b"x")], b"")


@pytest.mark.parametrize("framing", [b"content-length: 0", b"transfer-encoding: chunked"])
@pytest.mark.parametrize("size", [1, 65_536, 1_000_000], ids=str)
def test_a_head_larger_than_the_limit_is_refused_however_it_arrives(framing: bytes, size: int) -> None:
    head = b"HTTP/1.1 200 OK\r\n" + framing + b"\r\n" + b"x-a: b\r\n" * (LARGEST_HEAD // 8) + b"\r\n"
    assert by_us([head[at : at + size] for at in range(0, len(head), size)] + [END]) == (b"", False)


def test_a_large_body_in_the_same_read_as_the_head_is_not_counted_to_it() -> None:
    machine = HTTP11()
    machine.request(*TARGET)
    machine.feed(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (2 * LARGEST_HEAD) + b"x" * 2 * LARGEST_HEAD)
    assert machine.head() == (200, [(b"content-length", b"%d" % (2 * LARGEST_HEAD))])
    assert machine.piece() == b"x" * 2 * LARGEST_HEAD
