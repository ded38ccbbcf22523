"""What callers give and do: `H` their input, `M` misuse, `K` what must stay secret."""

# ruff: noqa: E501 - a case is a line

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import pickle
import socket
import urllib.parse
from collections.abc import Iterator
from typing import Any

from llm_rest import image, user
from tests.hostile.cases_streams import opened
from tests.hostile.documents import Documents
from tests.hostile.table import (
    KEY,
    LEFT_OUT,
    Case,
    Expected,
    Seen,
    World,
    bad,
    either,
    good,
    streamed,
)
from tests.loopback import END, Loopback, chunks, head, http, loopback, send, send_and_close

REFUSED = ("config", "capability", "client_closed", "loss")
PROMPT = "a-very-private-prompt"


def ok(d: Documents) -> list[Any]:
    return [send(http(d.good()))]


def refused(*kinds: str, **facts: Any) -> Expected:
    """Said before a byte is sent, and not asked again."""
    return bad(*(kinds or REFUSED), attempts=0, code="invalid_request", retryable=False, **facts)


NOT_SENT = refused(then=lambda s: s.connections == 0)


def asking(*input: Any, **options: Any) -> Any:
    async def ask(world: World) -> Any:
        return await world.client().generate(*input, **options)

    return ask


def clients(**options: Any) -> Any:
    async def ask(world: World) -> Any:
        return await world.client(**options).generate("Hi")

    return ask


@contextlib.contextmanager
def environment(**values: str | None) -> Iterator[None]:
    """These variables, and none that could hold a key or name a proxy."""
    before = dict(os.environ)
    for name in [*os.environ]:
        if name.upper().endswith(("_KEY", "_TOKEN", "_PROXY", "_BASE_URL", "_HOST")):
            del os.environ[name]
    os.environ.update({name: value for name, value in values.items() if value is not None})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


async def without_a_key(world: World) -> Any:
    with environment():
        return await world.client(api_key=LEFT_OUT).generate("Hi")


async def key_of_the_environment(world: World) -> Any:
    """A key with a line break behind it, as a file or a secret store gives it."""
    vendor = world.documents.model.partition("/")[0]
    with environment(**{f"{vendor.upper()}_API_KEY": KEY + "\n"}):
        return await world.client(api_key=LEFT_OUT).generate("Hi")


def cyclic() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def sent_as_json(seen: Seen) -> bool:
    return all(json.loads(body) is not None for body in seen.bodies) and b"NaN" not in b"".join(seen.bodies)


async def inner_image(world: World) -> Any:
    """The URL of an image that points at this machine: nobody but the vendor may look."""
    with loopback(send(http(b"image"))) as bait:
        try:
            url = bait.url + "/latest/meta-data.png"
            return await world.client(on_loss="ignore").generate(user("What is this?", image(url)))
        finally:
            assert bait.heads == []


async def odd_model(world: World) -> Any:
    name = world.documents.model.partition("/")[0]
    return await world.client(model=f"{name}/../../admin?key=x#y").generate("Hi")


def deep_list(levels: int) -> Any:
    found: Any = "x"
    for _ in range(levels):
        found = [found]
    return found


def tool(parameters: Any) -> list[Any]:
    return [{"type": "function", "name": "f", "parameters": parameters}]


SOMETIMES = either(good(text=None), refused())

H = [
    Case("H01", "an API key with CR LF and a header in it", ok, NOT_SENT, ask=clients(api_key=f"{KEY}\r\nx-evil: 1")),
    Case("H02", "an API key of the environment with a line break behind it", ok, either(good(), refused(then=lambda s: s.connections == 0)), ask=key_of_the_environment, cannot={"ollama_chat": "its key is for the vendor's cloud only, and is not sent here"}),
    Case("H03", "an API key with characters outside Latin-1", ok, NOT_SENT, ask=clients(api_key="sk-schlüssel-✓")),
    Case("H04", "an API key of blanks", ok, NOT_SENT, ask=clients(api_key="   ")),
    Case("H05", "no API key anywhere", ok, refused("config", then=lambda s: "API_KEY" in (s.error.hint or "")), ask=without_a_key, cannot={"ollama_chat": "a server at home wants none"}),
    Case("H06", "an API key that is no text", ok, NOT_SENT, ask=clients(api_key=12345)),
    Case("H07", "an extra header whose value has CR LF", ok, NOT_SENT, ask=asking("Hi", extra_headers={"x-a": "b\r\nx-evil: 1"})),
    Case("H08", "an extra header whose name has a blank, or a colon", ok, NOT_SENT, ask=asking("Hi", extra_headers={"x a:": "b"})),
    Case("H09", "a prompt with NUL and control characters", ok, good(then=lambda s: json.loads(s.bodies[0]) is not None), ask=asking("a\0b\x1b[31m\x7f")),
    Case("H10", "a prompt with half a surrogate pair", ok, either(good(), refused(then=lambda s: s.connections == 0)), ask=asking("half \ud83d")),
    Case("H11", "an image URL that points at an internal address", ok, either(good(text=None), refused()), ask=inner_image),
    Case("H12", "an image that is file:///etc/passwd", ok, either(good(text=None, then=lambda s: b"root:" not in s.bodies[0]), refused(), refused("config")), ask=asking([{"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": "file:///etc/passwd"}]}], on_loss="ignore")),
    Case("H13", "the model name ../../admin?key=x#y", ok, either(good(then=lambda seen: all(b"/admin?" not in head.partition(b"\r\n")[0] and b"#" not in head.partition(b"\r\n")[0] for head in seen.heads )), refused()), ask=odd_model),
    Case("H14", "a model name with CR LF, with blanks", ok, refused(), ask=clients(model="openai/gpt\r\nx: y")),
    Case("H15", "temperature NaN", ok, NOT_SENT, ask=asking("Hi", temperature=float("nan"))),
    Case("H17", "a set in the input", ok, either(good(text=None, then=sent_as_json), refused()), ask=asking([{"role": "user", "content": {"a set"}}])),
    Case("H18", "an input that holds itself", ok, NOT_SENT, ask=asking(cyclic())),
    Case("H20", "a class, a lambda and a module in the input", ok, NOT_SENT, ask=asking([{"role": "user", "content": lambda: 1}])),
    Case("H21", "a schema nested 5 000 deep", ok, SOMETIMES, ask=asking("Hi", tools=tool({"type": "object", "properties": {"a": deep_list(5000)}}), on_loss="ignore")),
    Case("H26", "a prompt of 5 MB", ok, good(then=lambda s: len(s.bodies[0]) > 5_000_000), ask=asking("x" * 5_000_000)),
    Case("H27", "U+2028 and emoji in the prompt", ok, good(then=lambda s: "\u2028😀".encode() in s.bodies[0] or b"\\u2028" in s.bodies[0]), ask=asking("a\u2028😀")),
    Case("H28", "an integer of 5 000 digits", ok, either(refused(), good(text=None)), ask=asking("Hi", max_output_tokens=10**4000)),
    Case("H31", "a tool without a name, one with a name of 10 kB", ok, either(refused(), good(text=None)), ask=asking("Hi", tools=[{"type": "function", "name": "x" * 10_000, "parameters": {}}], on_loss="ignore")),
    Case("H32", "a role nobody knows", ok, either(refused(), good(text=None)), ask=asking([{"role": "wizard", "content": "Hi"}], on_loss="ignore")),
]  # fmt: skip


# --- misuse ---------------------------------------------------------------------------------------------------------


async def after_close(world: World) -> Any:
    llm = world.client()
    await llm.generate("Hi")
    await llm.aclose()
    return await llm.generate("Hi")


async def stream_after_close(world: World) -> Any:
    llm = world.client()
    await llm.aclose()
    await llm.aclose()
    return await world.read(llm.stream("Hi"))


async def read_twice(world: World) -> Any:
    stream = world.client().stream("Hi")
    first = await world.read(stream)
    async for _ in stream:
        raise AssertionError("it tells everything again")
    return first


async def async_provider(vendor: str, account: str | None) -> str:
    return KEY


def frames(d: Documents) -> list[Any]:
    return [send(opened(d) + chunks(*d.frames()) + END)]


M = [
    Case("M01", "a call after close", ok, bad("client_closed", attempts=1, code="invalid_request"), ask=after_close, counted=False),
    Case("M02", "a stream after close, and close twice", ok, refused("client_closed"), ask=stream_after_close, counted=False),
    Case("M04", "timeout 0, NaN, a word", ok, refused("config"), ask=clients(timeout=float("nan"))),
    Case("M05", "a base URL without a scheme", ok, refused("config"), ask=clients(base_url="api.example.com/v1")),
    Case("M06", "a base URL of ftp, with a user, with a query", ok, refused("config", then=lambda s: "hunter2" not in str(s.error)), ask=clients(base_url="https://ada:hunter2@api.example.com/v1")),
    Case("M09", "a key over plain http to another machine", ok, refused("config", then=lambda s: "http" in str(s.error)), ask=clients(base_url="http://api.example.com/v1"), cannot={"ollama_chat": "servers at home are reached by plain http; a key is then refused, as H33 says"}),
    Case("M10", "a stream that is read twice", frames, good(), ask=read_twice),
    Case("M12", "retry 0, -1, a word", ok, refused("config"), ask=clients(retry=0)),
    Case("M14", "an http= that is no client", ok, refused("config"), ask=clients(http=object())),
    Case("M15", "max_connections 0", ok, refused("config"), ask=clients(max_connections=0)),
    Case("M16", "an async token provider in the sync client", ok, refused("config"), ask=clients(api_key=LEFT_OUT, credentials=async_provider), modes=("sync",)),
]  # fmt: skip


# --- secrets --------------------------------------------------------------------------------------------------------


async def quiet(world: World) -> Any:
    """Any logger may say anything at DEBUG but the key and the prompt."""
    stream, root = io.StringIO(), logging.getLogger()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s %(args)s"))
    before, root.level = root.level, logging.DEBUG
    root.addHandler(handler)
    try:
        llm = world.client()
        await llm.generate(PROMPT)
        return await world.read(llm.stream(PROMPT))
    finally:
        await world.close()
        root.removeHandler(handler)
        root.level = before
        assert not [secret for secret in (KEY, PROMPT) if secret in stream.getvalue()], stream.getvalue()


async def observed(world: World) -> Any:
    heard: list[Any] = []
    reply = await world.client(on_event=heard.append).generate(PROMPT)
    assert heard
    assert not [event for event in heard if KEY in repr(event) or PROMPT in repr(event)]
    assert KEY not in repr(reply.info)
    assert KEY not in pickle.dumps(reply).decode("latin-1")
    return reply


def in_a_header(seen: Seen) -> bool:
    line, _, rest = seen.heads[0].partition(b"\r\n")
    return (
        KEY.encode() not in urllib.parse.unquote_to_bytes(line)
        and rest.count(KEY.encode()) == 1
        and KEY.encode() not in seen.bodies[0]
    )


def both(d: Documents) -> list[Any]:
    return [send(http(d.good())), *frames(d)]


def echoing(d: Documents) -> list[Any]:
    """An error that repeats every header it got."""
    message = f"bad header {KEY} in request; body was {PROMPT}"
    return [send(http(d.error(400, message), "400 Bad Request", f"x-request-id: {KEY}"))]


def echo(connection: socket.socket, server: Loopback) -> bool:
    """A server that repeats what it receives."""
    connection.sendall(connection.recv(65_536))
    return False


def repeating(*heads: str) -> Any:
    """Answers that are none, with the key in each of them, one attempt after the other."""
    return lambda d: [send_and_close(head.encode()) for head in heads]


def hidden(seen: Seen) -> bool:
    return KEY[:12] not in repr(vars(seen.error))


K = [
    Case("K02", "an error that repeats the key, in its message and its headers", echoing, bad("bad_request", status=400)),
    Case("K06", "every logger at DEBUG: no key, no prompt", both, good(2), ask=quiet, counted=False),
    Case("K21", "every logger at DEBUG, and an error that repeats key and prompt", echoing, bad("bad_request", status=400), ask=quiet),
    Case("K08", "what event hooks, replies and their pickles show", ok, good(), ask=observed),
    Case("K09", "the key on the wire: in a header, never in the URL or the body", ok, good(then=in_a_header)),
    Case("K13", "an error event in a stream that repeats the key", lambda d: [send(http(d.error(500, f"failed for {KEY}")))], bad("internal_server", "api_status", "bad_request", "overloaded", attempts=(1, 3)), ask=streamed),
    Case("K15", "a server that says what it hears", lambda d: [], bad("protocol", attempts=3, then=hidden), before=echo),
    Case("K16", "the key as a status, a header and the length of a chunk", repeating(f"HTTP/1.1 {KEY}\r\n\r\n", f"HTTP/1.1 200 OK\r\n{KEY}\r\n\r\n", f"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{KEY}\r\n"), bad("protocol", attempts=3, then=hidden)),
    Case("K17", "the key as a content coding, and of a stream", repeating(f"HTTP/1.1 200 OK\r\ncontent-encoding: {KEY}\r\n\r\n"), bad("protocol", "stream_interrupted", attempts=1, retryable=False, then=hidden), ask=streamed),
    Case("K18", "the key as the host of a redirect", lambda d: [send(http(b"", "302 Found", f"location: http://{KEY}.example/"))], bad("protocol", then=hidden)),
    Case("K19", "a text that is cut within the key", lambda d: [send(http(b"x" * (4096 - len(KEY) + 1) + KEY.encode(), "400 Bad Request"))], bad("bad_request", status=400, then=hidden)),
    Case("K20", "a chunk of a stream that repeats the key instead of its length", lambda d: [send_and_close(head("text/event-stream") + chunks(*d.begin(), d.delta("Hi")) + KEY.encode() + b"\r\n")], bad("stream_interrupted", attempts=1, then=hidden), ask=streamed),
]  # fmt: skip
