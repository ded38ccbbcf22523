"""Conformance tests for servers of a wire (laws), run over HTTP through a client: `llm-rest conform`.

A law is a row: its name, its text, and a function of a client that returns, or raises `Violated` or `NotApplicable`.
Laws test the protocol, not the text of a model. Before changing this file, know that every law makes requests that may
be billed, and that the exchanges of those that fail are shown as `record` writes them, without secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..client.client import Client
from ..client.content import image
from ..client.reply import Reply
from ..client.target import OutgoingRequest
from ..errors import APIStatusError, ConfigError, ConnectError, InternalServerError, LLMError, SchemaMismatchError
from ..responses.events import TERMINAL
from ..responses.items import FunctionCallOutput
from ..responses.request import Request
from ..sync import drive
from ..unknown import as_object, given
from ..vendors.rows import DIALECTS, VENDORS, NoAuth, Vendor, is_loopback
from .cassette import record

State = Literal["holds", "fails", "skipped"]


class Verdict(Struct, frozen=True):
    """The result of one law."""

    law: str
    """The name of the law."""
    title: str
    """The text of the law."""
    state: State
    """The result; `skipped` where the wire, or the model, has no such feature."""
    detail: str = ""
    """The reason, where the law is violated or was skipped."""
    exchanges: list[dict[str, Any]] = []
    """The HTTP exchanges of a law that fails, without secrets."""


class Violated(Exception):
    """Raised where a law is violated."""


class NotApplicable(Exception):
    """Raised where the law does not apply."""


def expect(condition: object, what: str) -> None:
    """Raise `Violated` unless the condition is true."""
    if not condition:
        raise Violated(what)


class City(Struct):
    """A city."""

    name: str
    population: int


TOOL: dict[str, Any] = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
BROKEN = (b"{", b"[]", b'{"model": "any", "max_tokens": 9, "input": 5, "messages": 5, "contents": 5}')
"""Bodies that are invalid on every wire."""

NAMES = {"gemini_generate_content": ("responseId", "modelVersion"), "ollama_chat": ("model",)}
"""The fields of an answer with its id and its model, where they are not `id` and `model`; Ollama's answers have no id."""

HELLO = "Reply with the word hello."
ODD = 'Repeat this exactly: Zürich 東京 🏔️ e\u0301 \u2028 \u00a0 \\ " </s> \t end'
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63f8cfc0f01f0005000"
    "1ff56c7bd1d0000000049454e44ae426082"
)


def _whole(llm: Client, wire: str) -> None:
    reply = llm.generate(HELLO)
    expect(reply.status == "completed", f"the status is {reply.status}")
    expect(reply.output_text.strip(), "there is no text")
    # What the server sent: the client derives an id where there is none.
    answer = as_object(msgspec.json.decode(reply.info.raw or b"{}"))
    for name in NAMES.get(wire, ("id", "model")):
        expect(answer.get(name), f"the answer has no {name}: {answer.get(name)!r}")


def _usage(llm: Client, wire: str) -> None:
    for found in whole_and_streamed(llm, HELLO):
        counted = found.usage
        if counted is None or not given(counted):
            raise Violated("there is no usage")
        expect(counted.input_tokens > 0 and counted.output_tokens > 0, f"usage is {counted}")


def streamed(llm: Client, input: Any, **options: Any) -> tuple[list[Any], Reply]:
    """The events of a stream, and its reply."""
    with llm.stream(input, **options) as stream:
        events = [*stream]
    return events, stream.response


def whole_and_streamed(llm: Client, input: Any, **options: Any) -> tuple[Reply, Reply]:
    """The replies to the same request, without streaming and with it."""
    return llm.generate(input, **options), streamed(llm, input, **options)[1]


def _stream(llm: Client, wire: str) -> None:
    events, reply = streamed(llm, HELLO)
    deltas = "".join(event.delta for event in events if getattr(event, "type", "") == "response.output_text.delta")
    expect(isinstance(events[-1], TERMINAL), "the last event does not end the answer")
    expect(deltas == reply.output_text, f"the deltas have {deltas!r}, the end has {reply.output_text!r}")
    expect(reply.status == "completed" and deltas.strip(), f"the status is {reply.status}, the text {deltas!r}")


def _stream_equals_whole(llm: Client, wire: str) -> None:
    one, other = whole_and_streamed(llm, HELLO)
    kinds = [[item.type for item in reply.output if item.type != "reasoning"] for reply in (one, other)]
    expect(kinds[0] == kinds[1], f"whole {kinds[0]}, streamed {kinds[1]}")
    expect(one.model == other.model, f"model whole {one.model!r}, streamed {other.model!r}")


def _turns(llm: Client, wire: str) -> None:
    messages = [
        {"role": "user", "content": "My name is Ada."},
        {"role": "assistant", "content": "Hello Ada."},
        {"role": "user", "content": "What is my name?"},
    ]
    reply = llm.generate(messages, instructions="Answer in one word.")
    expect(reply.status == "completed", f"the status is {reply.status}")


def _tools(llm: Client, wire: str) -> None:
    prompt = "What is the weather in Oslo?"
    replies = whole_and_streamed(llm, prompt, tools=[TOOL], tool_choice="required")
    for reply, where in zip(replies, ("", " in the stream"), strict=True):
        expect(reply.function_calls, f"there is no call{where}")
        call = reply.function_calls[0]
        expect(call.name == TOOL["name"] and call.call_id, f"the call is {call.name!r}, id {call.call_id!r}")
        arguments = msgspec.json.decode(call.arguments)
        expect(isinstance(arguments, dict), f"the arguments are {call.arguments!r}")
    reply = replies[0]
    outputs = [FunctionCallOutput(call_id=call.call_id, output="4 degrees, rain") for call in reply.function_calls]
    last = llm.generate([{"role": "user", "content": prompt}, *reply.output, *outputs], tools=[TOOL])
    expect(last.output_text.strip() or last.function_calls, "there is no answer after the result")


def _schema(llm: Client, wire: str) -> None:
    try:
        found = llm.generate_json(
            "Give the city Oslo with about 700000 people.", City, strategy="native", max_repairs=0
        )
    except SchemaMismatchError as problem:
        raise Violated(f"the answer does not match the schema: {problem.message}") from None
    expect(found.name, f"the value is {found!r}")


def _unicode(llm: Client, wire: str) -> None:
    for reply in whole_and_streamed(llm, ODD):
        expect(reply.output_text.strip(), "there is no text")
        expect("\ufffd" not in reply.output_text, "the text holds a replacement character")


def _stop(llm: Client, wire: str) -> None:
    reply = llm.generate("Count from 1 to 9, separated by spaces: 1 2 3 4 5 6 7 8 9", stop=["5"])
    _unless_lost(reply, "stop")
    expect("5" not in reply.output_text, f"the text continues: {reply.output_text!r}")


def _limit(llm: Client, wire: str) -> None:
    prompt = "Write a poem of two hundred words about the sea, the wind and the long way home to the harbour." * 3
    for reply in whole_and_streamed(llm, prompt, max_output_tokens=16):
        expect(reply.status == "incomplete", f"the status is {reply.status}")
        reason = reply.incomplete_details.reason if reply.incomplete_details else None
        expect(reason == "max_output_tokens", f"the reason is {reason!r}")


def _picture(llm: Client, wire: str) -> None:
    try:
        reply = llm.generate([image(PIXEL), "What is this?"])
    except APIStatusError as problem:
        if problem.status is not None and 400 <= problem.status < 500:
            raise NotApplicable(f"refused with {problem.status}") from None
        raise
    expect(reply.status == "completed", f"the status is {reply.status}")


def _errors(llm: Client, wire: str) -> None:
    caller = llm._caller  # pyright: ignore[reportPrivateUsage]  (what no client would send)
    target, settings = caller.resolve({})
    for body, streams in product(BROKEN, (False, True)):
        route = target.wire.route(Request(model=target.model, input="hello"), dialect=target.dialect, stream=streams)
        if streams:
            body = body.replace(b"}", b', "stream": true}')
        try:
            drive(caller.send(target, settings, OutgoingRequest(route, body), lambda sent: sent, None))
        except APIStatusError as problem:
            expect(400 <= (problem.status or 0) < 500, f"status {problem.status} for the body {body.decode()}")
            expect(problem.message, f"the error for the body {body.decode()} has no message")
        else:
            raise Violated(f"accepted the body {body.decode()}")


def _unknown(llm: Client, wire: str) -> None:
    try:
        reply = llm.generate("hello", extra={wire: {"x_llm_rest_unknown": {"a": [1]}}})
    except APIStatusError as problem:
        expect(problem.status and 400 <= problem.status < 500, f"status {problem.status}")
    else:
        expect(reply.status == "completed", f"the status is {reply.status}")


def _cancel(llm: Client, wire: str) -> None:
    for _ in range(3):
        with llm.stream("Count from 1 to 100.") as stream:
            next(stream)
    expect(llm.generate("hello").status == "completed", "the call after it fails")


def _models(llm: Client, wire: str) -> None:
    try:
        found = llm.models.list()
    except ConfigError as problem:
        raise NotApplicable(problem.message) from None
    expect(found, "the list is empty")


class Law(NamedTuple):
    """One law: its name, its text, and its test."""

    name: str
    title: str
    check: Callable[[Client, str], None]


LAWS = (
    Law("whole", "a whole answer is complete, with an id, a model and text", _whole),
    Law("usage", "input and output tokens are counted, whole and streamed", _usage),
    Law("stream", "a stream ends with its terminal event, and its deltas are its text", _stream),
    Law("stream-equals-whole", "a streamed answer has the items and the model of a whole one", _stream_equals_whole),
    Law("turns", "a conversation with instructions is accepted", _turns),
    Law("tools", "a required tool is called with JSON, whole and streamed, and its result is taken", _tools),
    Law("schema", "a JSON Schema is enforced or followed", _schema),
    Law("unicode", "characters of every kind go through", _unicode),
    Law("stop", "a stop sequence ends the text", _stop),
    Law("limit", "the token limit makes the answer incomplete, with the reason", _limit),
    Law("image", "an image is taken, or refused with a 4xx", _picture),
    Law("errors", "an invalid request is a 4xx with a message, whole and streamed", _errors),
    Law("unknown-fields", "an unknown field is ignored, or refused with a 4xx", _unknown),
    Law("cancel", "a stream that is left harms no later call", _cancel),
    Law("models", "the list of models is not empty", _models),
)


def _unless_lost(reply: Reply, path: str) -> None:
    for loss in reply.losses:
        if loss.path.startswith(path):
            raise NotApplicable(str(loss))


def host(wire: str, url: str, *, keyed: bool) -> Vendor:
    """The vendor row for a server of this wire at a URL, without any other facts."""
    like = next((row for row in VENDORS.values() if row.wire == wire and row.base_url), None)
    auth = like.auth if keyed and like is not None else NoAuth()
    return Vendor(name="host", wire=wire, base_url=url, dialect=DIALECTS[wire](), auth=auth)


def conform(wire: str, url: str, model: str, api_key: Any = None, names: tuple[str, ...] = ()) -> Iterator[Verdict]:
    """Test a server: the verdicts, one law after the other.

    Raises `ConnectError` where the server is not reachable for the first law; for a later one that is part of its verdict.
    """
    if missing := set(names) - {law.name for law in LAWS}:
        raise ConfigError(f"there is no law {min(missing)!r}", hint=f"there are {', '.join(law.name for law in LAWS)}")
    # Some servers identify the wire by its headers, or require any key; none is sent unencrypted to another machine.
    keyed = api_key is not None or not url.startswith("http://") or is_loopback(urlsplit(url).hostname or "")
    vendor, api_key = host(wire, url, keyed=keyed), api_key or ("none" if keyed else None)
    options: dict[str, Any] = {"on_loss": "ignore", "invalid_options": "send", "retry": 1, "timeout": 120}
    with Client(f"host/{model}", vendor=vendor, api_key=api_key, **options) as llm, TemporaryDirectory() as folder:
        for number, law in enumerate(law for law in LAWS if not names or law.name in names):
            yield _verdict(law, llm, wire, Path(folder, "exchanges.jsonl"), tries=2 if number else 0)


def _verdict(law: Law, llm: Client, wire: str, path: Path, tries: int) -> Verdict:
    """The verdict on a law, after at most so many connections that broke; none may break where `tries` is 0."""
    state: State = "fails"
    try:
        with record(path):
            law.check(llm, wire)
        return Verdict(law.name, law.title, "holds")
    except (Violated, NotApplicable) as problem:
        state, detail = "skipped" if isinstance(problem, NotApplicable) else "fails", str(problem)
    except ConnectError as problem:
        if not tries:
            raise
        # After an invalid request some servers close a connection without saying so: a law has a second try.
        if tries > 1:
            return _verdict(law, llm, wire, path, tries - 1)
        detail = f"{type(problem).__name__}: {problem}"
    except InternalServerError as problem:
        detail = f"the server failed: {problem.message}"
    except (LLMError, msgspec.MsgspecError, TypeError, ValueError) as problem:
        detail = f"{type(problem).__name__}: {problem}"
    verdict = Verdict(law.name, law.title, state, detail)
    if state == "fails" and path.exists():
        exchanges = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()[1:-1]]
        verdict = replace(verdict, exchanges=exchanges[-2:])
    return verdict
