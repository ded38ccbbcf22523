"""The law of leaves: change one leaf of a document, and the converted document changes or a loss names the leaf.

`python -m tests.laws.leaves` runs it over all recorded documents and prints the places that fall short, grouped by source
wire, path (positions and freely chosen names left out) and target wire. A place is named by a loss at its own path, or at the
path of an ancestor of which nothing else arrived. Paths of losses are those of the source document or of what it was decoded
to; the latter are found by comparing both decoded documents, so that nothing has to be known about any wire.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from llm_rest import wires
from llm_rest.client.events import StreamReader, StreamWriter
from llm_rest.errors import DecodeError
from llm_rest.losses import Loss
from llm_rest.responses.stream import Assembler, disassemble
from tests.corpus import Exchange, exchanges
from tests.corpus.changed import all_edits, applied, otherwise, shape, written
from tests.laws.excused import excuse
from tests.laws.repeated import general, is_repeated, without_nulls
from tests.support import WIRES
from tests.support.documents import Place, at, canonical, places, replaced
from tests.support.facts import Steps, places_of, plain, steps_of

HUB = "openai_responses"


class Decoded(NamedTuple):
    """What a document was decoded to, as JSON, and the losses of that."""

    hub: Any
    losses: list[Loss]
    model: Any


class Shortfall(NamedTuple):
    """A changed leaf that neither shows in the converted document nor is named by a loss."""

    source: str
    kind: str
    way: str
    change: str
    target: str
    example: str
    hub: str


class Door:
    """Conversions of one exchange's documents of one kind."""

    def __init__(self, exchange: Exchange, kind: str) -> None:
        self._wire, self._exchange, self._kind = wires.load(exchange.wire), exchange, kind

    def decode(self, document: Any) -> Decoded | None:
        """The document as Responses; None for one that is none of this wire."""
        wire, exchange = self._wire, self._exchange
        try:
            if self._kind == "stream":
                return self._stream(document)
            raw = json.dumps(document).encode()
            if self._kind == "request":
                made, lost = wire.decode_request(
                    wire.REQUEST.decode(raw), dialect=exchange.dialect, model=exchange.model
                )
            else:
                made, lost = wire.decode_response(wire.RESPONSE.decode(raw), dialect=exchange.dialect)
        except DecodeError:
            return None
        return Decoded(plain(made), list(lost), made)

    def _stream(self, document: Any) -> Decoded:
        reader, collector = StreamReader(self._wire, dialect=self._exchange.dialect), Assembler()
        events: list[Any] = []
        for event in document:
            text = json.dumps(event)
            named = f"event: {event.get('type')}\n" if self._wire.NAMED_EVENTS and isinstance(event, dict) else ""
            line = f"{named}data: {text}\n\n" if self._wire.FRAMING == "sse" else f"{text}\n"
            events += reader.feed(line.encode())
        if self._wire.END is not None:
            events += reader.feed(b"data: " + self._wire.END + b"\n\n")
        events += reader.close()
        for event in events:
            collector.feed(event)
        return Decoded(plain(collector.response), list(reader.losses), events)

    def encode(self, model: Any, target: str) -> tuple[str, list[Loss]]:
        """The text of what was decoded as another wire writes it, and the losses of that."""
        there = wires.load(target)
        if self._kind == "request":
            body, lost = there.encode_request(model)
            where = there.route(model, stream=model.stream is True)
            return f"{where} {msgspec.json.encode(body).decode()}", list(lost)
        if self._kind == "response":
            body, lost = there.encode_response(model)
        else:
            writer = StreamWriter(there)
            sent = b"".join([*(writer.feed(event) for event in model), writer.close()])
            return sent.decode(), list(writer.losses)
        return msgspec.json.encode(body).decode(), list(lost)

    def model(self, hub: Any) -> Any:
        """A changed document of Responses as structs; None where it is none."""
        there = wires.load(HUB)
        decoder = there.REQUEST if self._kind == "request" else there.RESPONSE
        try:
            found = decoder.decode(json.dumps(hub).encode())
        except DecodeError:
            return None
        return disassemble(found) if self._kind == "stream" else found


BOOKKEEPING = ("leftovers", "spelling", "instead", "call", "message", "block", *WIRES)


def bare(steps: Iterable[Any]) -> Steps:
    """A path without the steps that only say where a wire keeps what Responses has no word for."""
    steps = tuple(steps)
    if "spelling" in steps and "as" in steps:  # what came in place of what we write, by the paths of its document
        steps = steps[steps.index("as") + 1 :]
    return tuple(one for step in steps for one in steps_of(str(step)) if one not in BOOKKEEPING)


def differing(one: Any, other: Any, place: Place = ()) -> Iterator[Place]:
    """Where two documents differ; in lists of different length, the first entry that does. A note is what it holds."""
    if place and place[-1] == "block" and isinstance(one, list) and isinstance(other, list):
        yield from differing(json.loads(one[0]), json.loads(other[0]), place)
    elif isinstance(one, dict) and isinstance(other, dict):
        for name in one.keys() | other.keys():
            if name not in one or name not in other:
                yield (*place, name)
            else:
                yield from differing(one[name], other[name], (*place, name))
    elif isinstance(one, list) and isinstance(other, list):
        for i, (left, right) in enumerate(zip(one, other, strict=False)):
            found = list(differing(left, right, (*place, i)))
            yield from found
            if found and len(one) != len(other):
                return
        if len(one) != len(other):
            yield (*place, min(len(one), len(other)))
    elif canonical(one) != canonical(other):
        yield place


FORMAL = ("type", "id", "call_id", "status", "role")


def arrived(door: Door, hub: Any, above: Place, apart: Iterable[Place], target: str) -> bool:
    """Whether anything below a place of a document of Responses, apart from some places, shows at the target."""
    try:
        inner = at(hub, above)
    except (KeyError, IndexError, TypeError):
        return False
    same = door.model(hub)
    text = None if same is None else door.encode(same, target)[0]
    for place in places(inner):
        whole = (*above, *place)
        value = at(inner, place)
        if (
            isinstance(value, dict | list)
            or value in (None, "")
            or "leftovers" in place
            or (place and place[-1] in FORMAL)
        ):
            continue
        if any(whole[: len(one)] == one for one in apart):
            continue
        model = door.model(replaced(hub, whole, otherwise(value)))
        if model is None:
            continue
        new, lost = door.encode(model, target)
        # Where the loss is gone too, the value decides what is taken, which is not what arrived.
        if new != text and any(bare(steps_of(loss.path)) == bare(above) for loss in lost):
            return True
    return False


def _place(hub: Any, steps: Steps) -> Place:
    """Steps of a loss as a place: numbers where they are positions."""
    found: list[Any] = []
    for step in steps:
        found.append(int(step) if isinstance(hub, list) and step.isdigit() else step)
        try:
            hub = hub[found[-1]]
        except (KeyError, IndexError, TypeError):
            hub = None
    return tuple(found)


class Law:
    """The law of leaves for documents of one wire; each change of a kind of place is tried once for each vendor."""

    def __init__(self, targets: Iterable[str]) -> None:
        self.targets = tuple(targets)
        self.tried = 0
        self._seen: set[Any] = set()

    def check(self, exchange: Exchange, kind: str, document: Any) -> Iterator[Shortfall]:
        door = Door(exchange, kind)
        base: Decoded | None = None
        texts: dict[str, tuple[str, list[Loss]]] = {}
        for change, leaf, value in all_edits(document):
            place = leaf[:-1] if change.startswith("add") else leaf
            like = (exchange.wire, exchange.vendor, kind, change, general(place), *shape(document, place)[1:])
            if like in self._seen or (change == "empty" and value != ""):  # the leaves in it are removed one at a time
                continue
            changed = applied(document, leaf, value)
            if without_nulls(changed) == without_nulls(document):
                continue
            if kind == "stream" and not change.startswith("add") and is_repeated(document, leaf, change, changed):
                continue  # not the last value of its field
            self._seen.add(like)
            if base is None:
                base = door.decode(document)
                if base is None:
                    return
                texts = {to: door.encode(base.model, to) for to in self.targets if to != exchange.wire}
            after = door.decode(changed)
            if after is None:
                continue
            leaves = list(differing(base.hub, after.hub))
            named = leaf[1:] if kind == "stream" else leaf  # the event's number is no part of a path
            for target, (text, lost) in texts.items():
                self.tried += 1
                new, new_lost = door.encode(after.model, target)
                if new != text:
                    continue
                told = base if change == "drop" else after
                losses = [*told.losses, *(lost if change == "drop" else new_lost)]
                if self._named(door, told.hub, [named, *leaves], losses, target):
                    continue
                hub = " ".join(sorted({general(one) for one in leaves})[:3]) or "(lost in decoding)"
                example = f"{exchange.id} {'.'.join(map(str, place))}"
                yield Shortfall(exchange.wire, kind, general(leaf), change, target, example, hub)

    def _named(self, door: Door, hub: Any, leaves: list[Place], losses: list[Loss], target: str) -> bool:
        ways = [bare(leaf) for leaf in leaves]
        ancestors: set[Place] = set()
        for loss in losses:
            for steps in (steps_of(loss.path), *places_of(loss)):
                named = bare(steps)
                if any(named[: len(way)] == way for way in ways):
                    return True
                if any(way[: len(named)] == named for way in ways):
                    if loss.kind == "withheld":
                        return True
                    ancestors.add(_place(hub, steps))
        return any(not arrived(door, hub, above, leaves, target) for above in ancestors)


def documents(exchange: Exchange) -> Iterator[tuple[str, Any]]:
    """The documents of an exchange: the request, the answer, the events of a short stream."""
    for kind, raw in (("request", exchange.question), ("response", exchange.answer)):
        document = None if raw is None else json.loads(raw)
        if isinstance(document, dict):
            yield kind, document
    events = [json.loads(event) for event in exchange.events()]
    if 0 < len(events) <= 60:
        yield "stream", events


def sources(name: str) -> list[Exchange]:
    """What was recorded of a wire, and the documents that we wrote."""
    return [*exchanges(name), *written(name)]


def run(name: str, targets: Iterable[str], kinds: Iterable[str], every: int = 1) -> tuple[list[Shortfall], int]:
    """All shortfalls of the documents of a wire, and how many conversions were compared."""
    law, found = Law(targets), list[Shortfall]()
    for exchange in sources(name)[::every]:
        for kind, document in documents(exchange):
            if kind in kinds:
                found += law.check(exchange, kind, document)
    return found, law.tried


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.laws.leaves", description=__doc__)
    parser.add_argument("wires", nargs="*", metavar="WIRE", help=f"source wires; all unless named: {', '.join(WIRES)}")
    parser.add_argument("--to", action="append", choices=WIRES, help="a target wire; all of them unless given")
    parser.add_argument("--kind", action="append", choices=["request", "response", "stream"], help="a kind of document")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only one exchange of N")
    parser.add_argument("--all", action="store_true", help="list excused places, too")
    given = parser.parse_args(arguments)
    short = 0
    for name in given.wires or WIRES:
        found, tried = run(name, given.to or WIRES, given.kind or ("request", "response", "stream"), given.every)
        groups: dict[tuple[str, str], list[Shortfall]] = {}
        for one in found:
            if given.all or excuse(one) is None:
                groups.setdefault((one.kind, one.way), []).append(one)
        for (kind, way), ones in sorted(groups.items()):
            changes, targets = (
                ", ".join(sorted({getattr(one, field) for one in ones})) for field in ("change", "target")
            )
            print(f"{name} {kind} {way} -> {targets}: {changes}  [{ones[0].hub}] e.g. {ones[0].example}")
        print(
            f"{name}: {tried} changed conversions, {len(groups)} places fall short, {len(found)} changes with the excused\n"
        )
        short += len(groups)
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
