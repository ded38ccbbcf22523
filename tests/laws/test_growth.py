"""What is n times as long costs n times as much: every conversion of every wire, both ways, whole and streamed.

Counted are the lines of Python that run, which are the same every time, and never seconds.

Of the other wires, and of the ways to stream an answer, each shape is measured with one, and another than the shape before.
`LLM_REST_TESTS=whole` (`make test-whole`) measures it with all of them, which takes several times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, TypeVar

import msgspec
import pytest

from llm_rest import wires
from llm_rest.responses import Message, Request, Response
from llm_rest.responses import events as ev
from llm_rest.responses.stream import disassemble
from llm_rest.transport.framing import NDJSON, SSE
from llm_rest.vendors.rows import DIALECTS
from tests.laws import growth as shapes
from tests.laws.growth import ANSWERS, HISTORIES, HOSTED, OWN_ANSWERS, OWN_HISTORIES, OWN_STREAMS
from tests.laws.harness import every_wire
from tests.support import WHOLE, WIRES
from tests.support.counting import MOST, growth
from tests.support.hosts import facts
from tests.support.streams import assembled, read, written

encode = msgspec.json.Encoder().encode
T = TypeVar("T")


def some(among: Sequence[T], name: str, shape: str, shapes: Iterable[str]) -> Sequence[T]:
    """What this shape of this wire is measured with."""
    number = [*shapes].index(shape) + WIRES.index(name)
    return among if WHOLE else [among[number % len(among)]]


def check(**grown: float) -> None:
    assert {name: round(factor, 1) for name, factor in grown.items() if factor > MOST} == {}


def test_the_law_sees_what_grows_too_fast() -> None:
    def search(n: int) -> Callable[[], object]:
        return lambda: [i for i in range(n) for j in range(i) if j == n]

    assert growth(search) > 2 * MOST
    assert growth(lambda n: lambda: [i + 1 for i in range(n)]) <= MOST


def decoded(name: str, shape: str, n: int) -> tuple[Callable[[], Any], Any]:
    """How a history is read from the bytes of a wire, and what comes of it."""
    wire = wires.load(name)
    document = encode(shapes.history(name, {**HISTORIES, **OWN_HISTORIES}[shape](n)))
    dialect = DIALECTS[name]()

    def decode() -> Any:
        return wire.decode_request(wire.REQUEST.decode(document), dialect=dialect, model="m")

    return decode, decode()[0]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("name", "shape"), [*product(WIRES, HISTORIES), *product(["gemini_generate_content"], OWN_HISTORIES)]
)
def test_reading_a_history_costs_what_its_length_does(name: str, shape: str) -> None:
    check(reading=growth(lambda n: decoded(name, shape, n)[0]))


@pytest.mark.sample(4)
@every_wire
@pytest.mark.parametrize("shape", HISTORIES)
def test_writing_a_history_costs_what_its_length_does(name: str, shape: str) -> None:
    """For the wires that it may have come from."""
    wire, dialect = wires.load(name), DIALECTS[name]()

    def writing(source: str) -> Callable[[int], Callable[[], object]]:
        def work(n: int) -> Callable[[], object]:
            request = decoded(source, shape, n)[1]
            return lambda: wire.encode_request(request, dialect=dialect)

        return work

    check(**{source: growth(writing(source)) for source in some(WIRES, name, shape, HISTORIES)})


@pytest.mark.parametrize(("host", "shape"), [("perplexity", "many answers in a row"), ("openrouter", "many thoughts")])
def test_writing_a_history_for_a_host_with_rules_of_its_own_costs_what_its_length_does(host: str, shape: str) -> None:
    """Roles that take turns at one, and thoughts in entries at the other."""

    def writing(n: int) -> Callable[[], object]:
        request = decoded("openai_chat", shape, n)[1]
        return lambda: wires.load("openai_chat").encode_request(request, dialect=facts(host, "openai_chat"))

    check(writing=growth(writing))


def answer(shape: str, n: int) -> Response:
    return wires.load("openai_responses").RESPONSE.decode(encode(shapes.answer("openai_responses", ANSWERS[shape](n))))


@pytest.mark.sample(4)
@every_wire
@pytest.mark.parametrize("shape", ANSWERS)
def test_an_answer_costs_what_its_length_does(name: str, shape: str) -> None:
    wire, dialect = wires.load(name), DIALECTS[name]()

    def writing(n: int) -> Callable[[], object]:
        response = answer(shape, n)
        return lambda: wire.encode_response(response, dialect=dialect)

    def reading(n: int) -> Callable[[], object]:
        document = encode(wire.encode_response(answer(shape, n), dialect=dialect)[0])
        return lambda: wire.decode_response(wire.RESPONSE.decode(document), dialect=dialect)

    def streaming(n: int) -> Callable[[], object]:
        events = disassemble(answer(shape, n))
        return lambda: written(name, events)

    def side_by_side(n: int) -> Callable[[], object]:
        events = disassemble(answer(shape, n))
        begun = [event for event in events if isinstance(event, ev.OutputItemAdded)]
        rest = [event for event in events[2:-1] if not isinstance(event, ev.OutputItemAdded)]
        rest.sort(key=lambda event: -getattr(event, "output_index", 0))
        return lambda: written(name, [*events[:2], *begun, *rest, events[-1]])

    def received(n: int) -> Callable[[], object]:
        stream = b"".join(written(name, disassemble(answer(shape, n)))[0])
        return lambda: assembled(read(name, [stream]))

    streams = some([streaming, side_by_side, received], name, shape, ANSWERS)
    check(**{work.__name__: growth(work) for work in (writing, reading, *streams)})


@pytest.mark.parametrize(("name", "shape"), [(name, shape) for name in OWN_ANSWERS for shape in OWN_ANSWERS[name]])
def test_an_answer_of_a_vendor_costs_what_its_length_does(name: str, shape: str) -> None:
    """Read, and written and streamed for the clients of other wires."""
    source, dialect = wires.load(name), DIALECTS[name]()

    def reading(n: int) -> Callable[[], Any]:
        document = encode(shapes.answer(name, OWN_ANSWERS[name][shape](n)))
        return lambda: source.decode_response(source.RESPONSE.decode(document), dialect=dialect)

    def writing(wire: str) -> Callable[[int], Callable[[], object]]:
        def work(n: int) -> Callable[[], object]:
            response = reading(n)()[0]
            return lambda: wires.load(wire).encode_response(response, dialect=DIALECTS[wire]())

        return work

    def streaming(wire: str) -> Callable[[int], Callable[[], object]]:
        def work(n: int) -> Callable[[], object]:
            events = disassemble(reading(n)()[0])
            return lambda: written(wire, events)

        return work

    clients = some(WIRES, name, shape, OWN_ANSWERS[name])
    check(reading=growth(reading), **{wire: growth(writing(wire)) for wire in clients})
    check(**{wire: growth(streaming(wire)) for wire in clients})


@pytest.mark.sample(4)
@pytest.mark.parametrize(("name", "shape"), [(name, shape) for name in OWN_STREAMS for shape in OWN_STREAMS[name]])
def test_a_stream_of_a_vendor_costs_what_its_length_does(name: str, shape: str) -> None:
    """Read and assembled, and streamed on for the clients of other wires."""
    frame = NDJSON.encode if wires.load(name).FRAMING == "ndjson" else SSE.encode

    def reading(n: int) -> Callable[[], list[Any]]:
        stream = b"".join(frame(encode(event)) for event in shapes.stream(name, OWN_STREAMS[name][shape](n)))
        return lambda: read(name, [stream])

    def assembling(n: int) -> Callable[[], object]:
        events = reading(n)()
        return lambda: assembled(events)

    def streaming(wire: str) -> Callable[[int], Callable[[], object]]:
        def work(n: int) -> Callable[[], object]:
            events = reading(n)()
            return lambda: written(wire, events)

        return work

    clients = some(WIRES, name, shape, OWN_STREAMS[name])
    check(reading=growth(reading), assembling=growth(assembling), **{wire: growth(streaming(wire)) for wire in clients})


def test_items_of_another_vendor_before_a_run_of_tools_cost_what_their_number_is() -> None:
    """They wait for what may hold them, and the run behind them says how many of them are its own."""
    wire = wires.load("anthropic_messages")
    document = shapes.answer("anthropic_messages", [HOSTED] * 2)
    run = wire.decode_response(wire.RESPONSE.decode(encode(document)))[0].output
    foreign = answer("tools of a vendor", 1).output[0]

    def writing(n: int) -> Callable[[], object]:
        items = [Message(role="user", content="Hi"), *[foreign] * n, *run, Message(role="user", content="Hi")]
        request = Request(model="claude-opus-4-8", input=[*items])
        return lambda: wire.encode_request(request)

    check(writing=growth(writing))
    body = writing(3)()[0]  # type: ignore[index]
    assert [block.__struct_config__.tag for block in body.messages[1].content] == [
        "server_tool_use",
        "web_search_tool_result",
    ] * 2
