"""`S`: answers that come as a stream: how they are cut and spelled, how they end, and how they do not."""

# ruff: noqa: E501 - a case is a line

from __future__ import annotations

import gc
import gzip
import json
import zlib
from typing import Any

from llm_rest.transport import Timeouts
from tests.hostile.documents import Documents
from tests.hostile.table import Case, Expected, Seen, World, bad, either, failed, good, streamed
from tests.loopback import END, Act, chunks, drip, flood, head, http, reset, send, send_and_close, send_and_stall

SSE_ONLY = {"ollama_chat": "its streams are lines of JSON, not events"}
THREE = ("one ", "two ", "three")
SAID = "one two three"
INTERRUPTED = "stream_interrupted"
BROKEN = ("malformed_response", INTERRUPTED, "protocol")
VENDOR = ("internal_server", "overloaded", "api_status")


def kind(d: Documents) -> str:
    return "application/x-ndjson" if d.ndjson else "text/event-stream"


def opened(d: Documents, *headers: str) -> bytes:
    return head(kind(d), *headers)


def whole(*pieces: bytes) -> bytes:
    return b"".join(pieces)


def sent(d: Documents, body: bytes, *headers: str) -> Act:
    """A body in one chunk, ended as it should be."""
    return send(opened(d, *headers) + chunks(body) + END)


def stream(change: Any) -> Any:
    """A good stream whose bytes are changed."""
    return lambda d: [sent(d, change(whole(*d.frames())))]


def lines(end: bytes) -> Any:
    return stream(lambda body: body.replace(b"\n", end))


def counts_as(spelled: bytes) -> Any:
    """A good stream whose last counts are spelled in another way."""
    return stream(lambda body: body.replace(b":11,", b":" + spelled + b",").replace(b":11}", b":" + spelled + b"}"))


def eleven(seen: Seen) -> bool:
    return bool(seen.reply.usage.output_tokens == 11)


def by(size: int) -> Any:
    """A good stream in chunks of so many bytes."""

    def of(d: Documents) -> list[Act]:
        body = whole(*d.frames("Grü", "ße 😀"))
        return [send(opened(d), *(chunks(body[i : i + size]) for i in range(0, len(body), size)), END)]

    return of


def after_three(*more: bytes, act: Any = send, ended: bool = True) -> Any:
    """What comes once three texts came."""

    def of(d: Documents) -> list[Act]:
        begun = whole(*d.begin(), *(piece for piece in three(d)))
        return [act(opened(d) + chunks(begun), chunks(*more), END if ended else b"")]

    return of


def three(d: Documents) -> list[bytes]:
    """Three texts, and no end."""
    return d.frames(*THREE, "")[d.opening : d.opening + 3]


def with_event(event: bytes) -> Any:
    """Something odd between the texts of a good stream."""

    def of(d: Documents) -> list[Act]:
        frames = d.frames()
        at = d.opening + 1
        odd = event + b"\n" if d.ndjson else b"data: " + event + b"\n\n"
        return [sent(d, whole(*frames[:at], odd, *frames[at:]))]

    return of


def cut_texts(*expected: str) -> Any:
    return bad(*BROKEN, attempts=1, retryable=False, then=lambda s: "".join(s.texts) in expected and kept(s))


def kept(seen: Seen) -> bool:
    """Whether the partial answer is what was handed out, and says it is not whole."""
    partial = getattr(seen.error, "partial", None)
    return (
        partial is not None
        and partial.output_text == "".join(seen.texts)
        and partial.status in ("incomplete", "failed", "in_progress", "cancelled")
    )


def interrupted(*kinds: str, **facts: Any) -> Expected:
    return bad(*(kinds or (INTERRUPTED,)), attempts=1, partial=SAID, then=kept, **facts)


def odd_event() -> Expected:
    """Skipped, or a typed error that keeps what came before; never another text, never a retry."""
    return either(good(), bad(*BROKEN, *VENDOR, attempts=1, then=lambda s: "Hello".startswith("".join(s.texts))))


def failing(word: str) -> Any:
    return lambda d: [send(opened(d) + chunks(*d.begin(), *three(d), d.frame(d.failing(word))) + END)]


def unended(d: Documents) -> list[Act]:
    """Everything but what says that it is over, and a clean end of the body."""
    return [sent(d, whole(*d.begin(), *three(d)))]


def odd_text(text: str) -> Any:
    return lambda d: [sent(d, whole(*d.frames(text, "!")))]


def emoji(d: Documents) -> list[Act]:
    """An emoji whose halves come in two deltas, as hosts that cut text anywhere send it."""
    frames = d.frames("A@@1", "@@2B")
    body = whole(*frames[: d.opening + 2]).replace(b"@@1", rb"\ud83d").replace(b"@@2", rb"\ude00")
    return [sent(d, body + whole(*frames[d.opening + 2 :]).replace(b"@@1@@2", rb"\ud83d\ude00"))]


def zipped(d: Documents) -> list[Act]:
    packer = zlib.compressobj(wbits=31)
    pieces = [packer.compress(frame) + packer.flush(zlib.Z_SYNC_FLUSH) for frame in d.frames()]
    return [send(opened(d, "content-encoding: gzip") + chunks(*pieces, packer.flush()) + END)]


def old_head(d: Documents) -> bytes:
    return f"HTTP/1.0 200 OK\r\ncontent-type: {kind(d)}\r\n\r\n".encode()


def slow(d: Documents) -> list[Act]:
    return [drip(*(chunks(frame) for frame in d.frames("H", "e", "l", "l", "o")), END, pause=0.2, first=opened(d))]


def comment(d: Documents) -> bytes:
    return b"\n" if d.ndjson else b": ping\n\n"


def pings(d: Documents) -> list[Act]:
    return [drip(chunks(comment(d)), pause=0.05, first=opened(d) + chunks(*d.begin(), *three(d)), again=True)]


def twice_ended(d: Documents) -> list[Act]:
    frames = d.frames()
    return [sent(d, whole(*frames, frames[-2 if d.done else -1], *([d.done] if d.done else [])))]


async def forgotten(world: World) -> Any:
    """A stream is left without a word; its connection is closed, and nothing is said."""
    llm = world.client()

    async def leave() -> None:
        stream = llm.stream("Hi")
        async for _ in stream:
            break

    await leave()
    gc.collect()
    world.server.go.set()
    return await llm.generate("Hi")


def first_endless(d: Documents) -> list[Act]:
    return [send_and_stall(opened(d) + chunks(*d.begin(), d.delta("Hel"))), send(http(d.good()))]


async def left(world: World) -> Any:
    """A stream is left by `break`, inside its `with`."""
    llm = world.client()
    async with llm.stream("Hi") as stream:
        async for _ in stream:
            break
    assert world.server.wait_closed() == 0
    world.seen.reply = await llm.generate("Hi")
    return world.seen.reply


async def closed(world: World) -> Any:
    llm = world.client()
    stream = llm.stream("Hi")
    async for _ in stream:
        break
    await stream.aclose()
    await stream.aclose()
    assert world.server.wait_closed() == 0
    return await llm.generate("Hi")


async def accumulated(world: World) -> Any:
    """The text alone is read, and the reply afterwards."""
    stream = world.client().stream("Hi")
    try:
        async with stream:
            async for text in stream.text:
                world.seen.texts.append(text)
    finally:
        world.seen.reply = stream.response
    return stream.response


async def read_again(world: World) -> Any:
    """An error stays the stream's last word."""
    stream = world.client().stream("Hi")
    first = await failed(world.read(stream))

    async def on() -> None:
        async for _ in stream:
            raise AssertionError("the stream goes on after its error")

    assert str(await failed(on())) == str(first)
    raise first


def many(d: Documents) -> list[Act]:
    """A hundred thousand texts of one letter."""
    frame = d.delta("x")
    return [send(opened(d) + chunks(*d.begin()), *[chunks(frame * 500)] * 40, chunks(*d.end("x" * 20_000)), END)]


def cut_call(d: Documents) -> list[bytes]:
    """The first half of a call."""
    match d.wire:
        case "openai_responses":
            item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": ""}
            added = {"type": "response.output_item.added", "output_index": 0, "item": item}
            grown = {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0}
            return [*d.begin()[:2], d.frame(added), d.frame({**grown, "delta": '{"a": '})]
        case "openai_chat":
            call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": '}}
            chunk = json.loads(d.begin()[0].removeprefix(b"data: "))
            chunk["choices"][0]["delta"] = {"role": "assistant", "tool_calls": [call]}
            return [d.frame(chunk)]
        case _:
            block = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
            begun = {"type": "content_block_start", "index": 0, "content_block": block}
            piece = {"type": "input_json_delta", "partial_json": '{"a": '}
            return [d.begin()[0], d.frame(begun), d.frame({"type": "content_block_delta", "index": 0, "delta": piece})]


def router(d: Documents) -> list[Act]:
    error = {"error": {"code": 429, "message": "Rate limited upstream", "metadata": {"provider_name": "x"}}}
    return [sent(d, whole(*d.begin(), *three(d), d.frame(json.dumps(error).encode())))]


def announced(d: Documents) -> list[bytes]:
    """What says that an answer begins, and nothing of it."""
    return d.begin()[: 2 if d.wire == "openai_responses" else 1]


def once(d: Documents, act: Act) -> list[Act]:
    return [act, sent(d, whole(*d.frames()))]


def refused(status: str) -> Any:
    return lambda d: [send(http(d.error(int(status.split()[0])), status))]


def between(odd: bytes) -> Any:
    """Bytes that stand between the texts of a good stream, after which a frame begins."""

    def of(d: Documents) -> list[Act]:
        frames = d.frames()
        return [sent(d, whole(*frames[: d.opening + 1], odd, *frames[d.opening + 1 :]))]

    return of


def told_its_end(act: Any, *more: bytes) -> Any:
    """All of a stream, and what becomes of its body and its connection then."""
    return lambda d: [act(opened(d) + chunks(*d.frames()), *more)]


def for_ever(frame: Any) -> Any:
    """A stream that begins, and then says the same again and again, slowly."""
    return lambda d: [drip(chunks(frame(d)), pause=0.05, first=opened(d) + chunks(*d.begin()), again=True)]


def other_framing(d: Documents) -> bytes:
    documents = [frame.partition(b"data: ")[2] or frame for frame in d.frames()]
    return whole(*(b"data: " + each + b"\n" if d.ndjson else each.rstrip() + b"\n" for each in documents))


def S_(name: str, given: str, does: Any, expected: Any, **more: Any) -> Case:
    return Case(name, given, does, expected, **{"ask": streamed, **more})


EMPTY = bad("malformed_response", INTERRUPTED, attempts=(1, 3))
BODY_ENDS_IT = {"gemini_generate_content": "its streams end with their body"}
LIMITS = {"timeout": Timeouts(read=0.3, first_byte=0.3)}

S = [
    S_("S01", "a good stream", stream(lambda body: body), good()),
    S_("S02", "a byte in a chunk each", by(1), good(text="Grüße 😀")),
    S_("S03", "CRLF, split between CR and LF", lambda d: [send(opened(d), *(chunks(piece + b"\r") + chunks(b"\n") for piece in whole(*d.frames()).split(b"\n")[:-1]), END)], good()),
    S_("S06", "a byte order mark at the beginning", stream(lambda body: b"\xef\xbb\xbf" + body), good()),
    S_("S07", "comments, retry:, id:", stream(lambda body: (b": hello\nretry: 3000\n\n" + body.replace(b"data:", b"id: 7\ndata:").replace(b"\n\n", b"\n\n: ping\n\n"))), good(), cannot=SSE_ONLY),
    S_("S10", "event names that contradict, or are missing", stream(lambda body: body.replace(b"event: ", b"event: x")), good(), cannot=SSE_ONLY),
    S_("S11", "unknown events and unknown fields", lambda d: [sent(d, whole(d.frame({"type": "unheard.of", "x": 1}) if not d.ndjson else b"", *(frame.replace(b'{"', b'{"x_new":[1],"', 1) for frame in d.frames())))], good()),
    S_("S12", "a hundred thousand blank lines and pings first", lambda d: [send(opened(d) + chunks(*[comment(d)] * 200, *d.frames()) + END)], good()),
    S_("S16", "invalid UTF-8 in an event", with_event(b'{"x": "\xff\xfe"}'), odd_event()),
    S_("S17", "malformed JSON in an event", lambda d: [send(opened(d) + chunks(*d.begin(), *three(d)) + chunks(d.frame(b'{"type": "oops"')) + END)], bad("malformed_response", attempts=1, partial=SAID, then=kept)),
    S_("S18", "the last event is cut in two by the end", lambda d: [sent(d, whole(*d.begin(), *three(d), d.frames()[-2 if d.done else -1][:-20]))], cut_texts(SAID)),
    S_("S19", "event data null", with_event(b"null"), odd_event()),
    S_("S23", "an event with empty data", with_event(b""), odd_event()),
    S_("S24", "event data {}", with_event(b"{}"), odd_event()),
    S_("S25", "a delta of the wrong type", lambda d: [sent(d, whole(*d.begin(), d.delta("@@@").replace(b'"@@@"', b"7"), *d.end("x")))], either(good(text=None), bad(*BROKEN, *VENDOR, attempts=(1, 3)))),
    S_("S26", "a clean end after three deltas", unended, interrupted()),
    S_("S27", "FIN after three deltas", after_three(act=send_and_close, ended=False), interrupted(retryable=False)),
    S_("S28", "RST after three deltas", after_three(act=reset, ended=False), interrupted(retryable=False), slow=True),
    S_("S29", "silence after three deltas", after_three(act=send_and_stall, ended=False), interrupted("api_timeout", phase="read"), slow=True, options=LIMITS),
    S_("S30", "keep-alives and nothing else after three deltas", pings, interrupted("api_timeout", phase="stall"), slow=True, options={"timeout": Timeouts(stall=0.4)}),
    S_("S31", "broken chunk framing after three deltas", lambda d: [send_and_close(opened(d) + chunks(*d.begin(), *three(d)) + b"ZZ\r\n")], interrupted(retryable=False)),
    S_("S32", "a chunk that is longer than it says, after three deltas", lambda d: [send_and_close(opened(d) + chunks(*d.begin(), *three(d)) + b"3\r\nabcdef\r\n")], interrupted(retryable=False)),
    S_("S33", "the vendor's error event after three deltas", failing("failed"), interrupted(*VENDOR)),
    S_("S34", "the vendor's error event first, every time", lambda d: [sent(d, whole(*announced(d), d.frame(d.failing("failed"))))], bad(*VENDOR, attempts=3, retryable=True)),
    S_("S35", "overloaded is told apart, and retryable for the caller", failing("overloaded"), interrupted("overloaded", retryable=True, code="rate_limit")),
    S_("S36", "an error of a router in the stream", router, interrupted("rate_limit", *VENDOR), cannot={"ollama_chat": "its errors are texts"}),
    S_("S37", "a whole answer instead of a stream", lambda d: [send(http(d.good(), "200 OK"))], good()),
    S_("S38", "an error object instead of a stream", lambda d: [send(http(d.error(500, "broken")))], bad(*VENDOR, "bad_request", attempts=(1, 3))),
    S_("S39", "an empty stream", lambda d: [sent(d, b"")], EMPTY),
    S_("S40", "a page of HTML instead of a stream", lambda d: [send(http(b"<html><title>Sign in</title></html>", "200 OK", "content-type: text/html"))], bad("malformed_response", attempts=2)),
    S_("S41", "it dies before the first event once, then good", lambda d: once(d, send_and_close(opened(d))), good(2)),
    S_("S42", "it dies after mere announcements once, then good", lambda d: once(d, send_and_close(opened(d) + chunks(*announced(d)))), good(2)),
    S_("S140", "it ends after mere announcements once, then good", lambda d: once(d, sent(d, whole(*announced(d)))), good(2)),
    S_("S43", "the last event twice", twice_ended, good()),
    S_("S44", "events and a page of HTML behind the end", lambda d: [sent(d, whole(*d.frames(), d.frame({"type": "unheard.of"}), b"<html>"))], good()),
    S_("S45", "the last event lacks its blank line", lambda d: [sent(d, whole(*d.frames()).rstrip(b"\n"))], either(good(), interrupted())),
    S_("S46", "no [DONE] behind a finish reason", lambda d: [sent(d, whole(*d.frames()).replace(d.done or b"\0", b""))], good()),
    S_("S47", "gzip in small pieces", zipped, good()),
    S_("S49", "U+2028, U+2029, U+0085, VT, FF, FS inside the text", odd_text("a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg"), good(text="a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg!")),
    S_("S50", "NUL and other control characters inside the text", odd_text("a\0b\x1b[31mc\x7f"), good(text="a\0b\x1b[31mc\x7f!")),
    S_("S51", "429 on opening once, then good", lambda d: once(d, send(http(d.error(429), "429 Too Many Requests"))), good(2)),
    S_("S52", "500 on opening, every time", refused("500 Internal Server Error"), bad("internal_server", attempts=3, status=500)),
    S_("S53", "slow but alive: what counts is the wait, not the sum", slow, good(), slow=True, options={"timeout": Timeouts(read=1, stall=1, first_byte=1)}),
    S_("S54", "the head at once, and the first event late", lambda d: [drip(*(chunks(f) for f in d.frames()), END, pause=0.02, first=opened(d))], good(), slow=True),
    S_("S55", "the caller forgets the stream", first_endless, good(2), ask=forgotten, counted=False),
    S_("S56", "the caller leaves the stream by break", first_endless, good(2), ask=left, counted=False),
    S_("S58", "a stream that says it is text/plain, or JSON", lambda d: [send(head("application/json") + chunks(*d.frames()) + END)], good()),
    S_("S59", "a stream over HTTP/1.0", lambda d: [send_and_close(old_head(d) + whole(*d.frames()))], good()),
    S_("S60", "the caller closes the stream twice", first_endless, good(2), ask=closed, counted=False),
    S_("S62", "twenty thousand texts of one letter", many, good(text=None, then=lambda s: len(s.texts) >= 20_000), modes=("sync", "asyncio")),
    S_("S63", "a clean end after three deltas, read as text", unended, interrupted(), ask=accumulated),
    S_("S64", "FIN after three deltas, and the caller reads on", after_three(act=send_and_close, ended=False), interrupted(), ask=read_again),
    S_("S65", "HTML in the middle of the stream", lambda d: [sent(d, whole(*d.begin(), *three(d), b"<html>\n<body>502</body></html>\n\n"))], either(interrupted(), interrupted("malformed_response"))),
    S_("S66", "an event nested 100 000 deep", lambda d: [sent(d, whole(*d.begin(), *three(d), d.frame(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")))], interrupted("malformed_response")),
    S_("S68", "an emoji whose halves come in two deltas", emoji, good(text="A😀B")),
    S_("S69", "[DONE] with odd spacing", lambda d: [sent(d, whole(*d.frames()).replace(b"data: [DONE]\n\n", b"data:[DONE] \n\n"))], good()),
    S_("S70", "half an emoji, and the other half never comes", lambda d: [sent(d, whole(*d.frames("A@@", "B")).replace(b"@@", rb"\ud83d"))], good(text=None, then=lambda s: bool("".join(s.texts).encode()) and s.reply.output_text.encode().endswith(b"B"))),
    S_("S74", "the stream stalls before its first event, every time", lambda d: [send_and_stall(opened(d))], bad("api_timeout", attempts=3, phase="first_byte", retryable=True), slow=True, options=LIMITS),
    S_("S76", "an error object on one line behind three deltas", lambda d: [sent(d, whole(*d.begin(), *three(d), b'{"error": {"message": "broken", "type": "server_error", "code": 502}}\n'))], interrupted(*VENDOR, "bad_request")),
    S_("S78", "only white space and comments", lambda d: [sent(d, comment(d) * 50)], EMPTY),
    S_("S79", "the call is over its time while text keeps coming", lambda d: [drip(chunks(d.delta("x")), pause=0.03, first=opened(d) + chunks(*d.begin()), again=True)], bad("api_timeout", attempts=1, phase="total", then=kept), slow=True, options={"timeout": Timeouts(total=0.4)}),
    S_("S81", "slow but alive, with a plain number of seconds: it is for each wait", slow, good(), slow=True, options={"timeout": 1}),
    S_("S83", "keep-alives for ever after three deltas, with a plain number of seconds", pings, interrupted("api_timeout"), slow=True, options={"timeout": 0.4}),
    S_("S85", "an end mark and nothing else", lambda d: [sent(d, d.done or b"data: [DONE]\n\n")], EMPTY, cannot=SSE_ONLY),
    S_("S86", "an event name without data, and data without a name", stream(lambda body: b"event: nothing\n\n" + body), good(), cannot=SSE_ONLY),
    S_("S87", "the first event twice", lambda d: [sent(d, whole(*d.begin()[:1], *d.frames()))], good()),
    S_("S88", "numbers of events that jump and go back", stream(lambda body: body.replace(b'"sequence_number":5', b'"sequence_number":1')), good()),
    S_("S89", "a call of a tool is cut by FIN", lambda d: [send_and_close(opened(d) + chunks(*cut_call(d)))], bad(INTERRUPTED, attempts=1, then=lambda s: all(call.status == "incomplete" for call in s.error.partial.function_calls)), cannot={"gemini_generate_content": "its calls come whole", "ollama_chat": "its calls come whole"}),
    S_("S90", "texts that are empty, and texts that are null", lambda d: [sent(d, whole(*d.begin(), d.delta(""), d.delta("Hello"), d.delta(""), *d.end("Hello")))], good()),
    S_("S91", "a cut in the middle of a character", lambda d: [send_and_close(opened(d) + chunks(whole(*d.begin(), *three(d))) + chunks(d.delta("ü")[: d.delta("ü").index("ü".encode()) + 1]))], interrupted(INTERRUPTED, "malformed_response")),
    S_("S92", "the error of a vendor that nobody knows", lambda d: [send(opened(d) + chunks(*d.begin(), *three(d), d.frame(d.failing("failed")).replace(b"server_error", b"gremlins").replace(b"api_error", b"gremlins")) + END)], interrupted(*VENDOR, "bad_request")),
    S_("S93", "Gemini and Chat: a finish reason nobody knows", lambda d: [sent(d, whole(*d.frames()).replace(b'"stop"', b'"tired"').replace(b'"STOP"', b'"TIRED"').replace(b'"end_turn"', b'"tired"'))], either(good(text=None, then=lambda s: s.reply.output_text == "Hello"), bad(*VENDOR, attempts=(1, 3)))),
    S_("S94", 'counts such as "11" in a stream', counts_as(b'"11"'), good(then=eleven)),
    S_("S95", "counts such as 11.0 in a stream", counts_as(b"11.0"), good(then=eleven)),
    S_("S96", "counts that are null in a stream", counts_as(b"null"), good()),
    S_("S97", "the end is told, and the body never ends", told_its_end(send_and_stall), good(), slow=True, options={"timeout": Timeouts(read=3)}),
    S_("S98", "the end is told, then keep-alives for ever", lambda d: [drip(chunks(comment(d)), pause=0.05, first=opened(d) + chunks(*d.frames()), again=True)], good(), slow=True, options={"timeout": Timeouts(read=3)}),
    S_("S99", "the end is told, then RST", told_its_end(reset), good()),
    S_("S100", "the end is told, then broken chunks", told_its_end(send_and_close, b"ZZ\r\n"), good()),
    S_("S101", "the end is told, then 300 MB", lambda d: [flood(opened(d) + chunks(*d.frames()), chunks(b": " + b"x" * 60_000 + b"\n\n"), most=300_000_000)], good()),
    S_("S102", "the end is told, and text behind it", lambda d: [sent(d, whole(*d.frames(), d.delta("forged")))], good(), cannot=BODY_ENDS_IT),
    S_("S103", "a stream behind the stream", lambda d: [sent(d, whole(*d.frames(), *d.frames("forged", "!")))], good(), cannot=BODY_ENDS_IT),
    S_("S104", "a stream with a length", lambda d: [send(http(whole(*d.frames()), "200 OK", f"content-type: {kind(d)}"))], good()),
    S_("S105", "a stream with a length, cut by FIN", lambda d: [send_and_close(http(whole(*d.begin(), *three(d)), "200 OK", f"content-type: {kind(d)}", length=9999))], interrupted()),
    S_("S107", "two documents in an event", lambda d: [sent(d, whole(*d.begin(), *three(d), d.frame(b'{"a":1}{"b":2}')))], interrupted("malformed_response")),
    S_("S108", "two documents on two lines of an event", lambda d: [sent(d, whole(*d.begin(), *three(d)) + b'data: {"a":1}\ndata: {"b":2}\n\n')], interrupted("malformed_response"), cannot=SSE_ONLY),
    S_("S112", "an id with NUL, a retry that is no number, an event name of 1 MB", between(b"id: a\0b\nretry: soon\nevent: " + b"e" * 1_000_000 + b"\n\n"), good(), cannot=SSE_ONLY),
    S_("S113", "an event that comes byte by byte and never ends", lambda d: [drip(chunks(b"x"), pause=0.05, first=opened(d) + chunks(*d.begin(), *three(d), (b'{"type":"' if d.ndjson else b'data: {"type":"')), again=True)], interrupted("api_timeout", phase="stall"), slow=True, options={"timeout": Timeouts(stall=1)}),
    S_("S114", "empty texts for ever", for_ever(lambda d: d.delta("")), bad("api_timeout", attempts=(1, 3), phase="stall"), slow=True, options={"timeout": Timeouts(stall=1)}),
    S_("S115", "events nobody knows, for ever", for_ever(lambda d: d.frame({"type": "unheard.of", "x": 1})), bad("api_timeout", attempts=(1, 3), phase="stall"), slow=True, options={"timeout": Timeouts(stall=1)}),
    S_("S116", "lines instead of events, and events instead of lines", lambda d: [sent(d, other_framing(d))], bad(*BROKEN, attempts=(1, 3))),
    S_("S117", "all events in one list", lambda d: [sent(d, b"[" + b",".join(json.dumps(event).encode() for event in d.events(("Hel", "lo"))) + b"]")], either(good(), bad("malformed_response", attempts=(1, 3)))),
    S_("S119", "a stream that says gzip, and is not", lambda d: [sent(d, whole(*d.frames()), "content-encoding: gzip")], bad("malformed_response", attempts=2)),
    S_("S120", "a gzip member for each event", lambda d: [send(opened(d, "content-encoding: gzip") + chunks(*(gzip.compress(frame) for frame in d.frames())) + END)], good()),
    S_("S122", "gzip and something behind it", lambda d: [sent(d, gzip.compress(whole(*d.frames())) + b"more", "content-encoding: gzip")], either(good(), bad("malformed_response", attempts=1, partial="Hello"))),
    S_("S124", "text behind the vendor's error event", lambda d: [sent(d, whole(*d.begin(), *three(d), d.frame(d.failing("failed")), d.delta("more"), *d.end("more")))], interrupted(*VENDOR)),
    S_("S126", "1e999 and NaN in an event", with_event(b'{"type": "x", "y": 1e999, "z": NaN}'), odd_event()),
    S_("S129", "[DONE] and nothing before it but texts", lambda d: [sent(d, whole(*d.begin(), *three(d)) + b"data: [DONE]\n\n" + whole(*d.end("x")))], either(good(text="one two three"), interrupted(INTERRUPTED, "malformed_response")), cannot=SSE_ONLY),  # the end of a Chat stream
    S_("S130", "an event named error with plain words", lambda d: [sent(d, whole(*d.begin(), *three(d)) + b"event: error\ndata: Something broke\n\n")], interrupted("malformed_response", *VENDOR), cannot=SSE_ONLY),
    S_("S131", "a stream in UTF-16", stream(lambda body: body.decode().encode("utf-16")), bad(*BROKEN, attempts=(1, 2))),
    S_("S132", "a raw line break inside a text", lambda d: [sent(d, whole(*d.begin(), *three(d), d.delta("a@b").replace(b"@", b"\n")))], interrupted("malformed_response", INTERRUPTED)),
    S_("S139", "a megabyte of blanks, then a whole answer", lambda d: [sent(d, b" \n" * 500_000 + d.good())], good(), modes=("sync",)),
]  # fmt: skip
