"""The law of leaves for the client: change one leaf of an answer, and the reply, a loss or `reply.info.leftovers` changes.

`python -m tests.laws.answers` runs it over all recorded answers and streams and prints the places that fall short, grouped by
wire and path. What nobody can read or check does not count as shown: envelopes of opaque state, and ids that were derived
from the document. A field that a later event of the stream repeats counts by its last value.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from llm_rest import wires
from llm_rest.client.events import StreamReader
from llm_rest.client.reply import AnswerSource, CallInfo, reply
from llm_rest.errors import DecodeError
from llm_rest.losses import Loss
from llm_rest.responses.carriers import PREFIX
from llm_rest.responses.stream import Assembler
from tests.corpus import Exchange
from tests.corpus.changed import all_edits, applied, shape
from tests.laws.excused import unseen
from tests.laws.leaves import documents, sources
from tests.laws.repeated import general, is_repeated, without_nulls
from tests.support import WIRES
from tests.support.documents import Place, canonical


class Seen(NamedTuple):
    """What a caller sees of an answer, as texts that can be compared."""

    reply: str
    losses: tuple[Loss, ...]
    leftovers: str


class Shortfall(NamedTuple):
    """A changed leaf that a caller does not see."""

    wire: str
    kind: str
    way: str
    change: str
    example: str


IDS = ("id", "call_id", "item_id", "previous_response_id")


def visible(value: Any, raw: str) -> Any:
    """A reply without envelopes, and without ids that the vendor did not give."""
    if isinstance(value, dict):
        return {
            name: visible(inner, raw)
            for name, inner in value.items()
            if not (name in IDS and isinstance(inner, str) and inner not in raw)
        }
    if isinstance(value, list):
        return [visible(inner, raw) for inner in value]
    return "" if isinstance(value, str) and value.startswith(PREFIX) else value


def seen(exchange: Exchange, kind: str, document: Any) -> Seen | None:
    """What a caller sees of a whole answer, or of the events of a stream; `None` for one that is none of the wire."""
    wire, dialect = wires.load(exchange.wire), exchange.dialect
    text = json.dumps(document)
    try:
        if kind == "stream":
            reader, collector = StreamReader(wire, dialect=dialect, keep=False), Assembler()
            events = [event for body in framed(wire, document) for event in reader.feed(body)]
            for event in (*events, *reader.close()):
                collector.feed(event)
            response, losses, raw = collector.response, reader.losses, b""
            frames = reader.kept.data() if reader.kept is not None else ()
        else:
            raw, frames = text.encode(), ()
            response, losses = wire.decode_response(wire.RESPONSE.decode(raw), dialect=dialect, keep=False)
    except DecodeError:
        return None
    made = reply(response, CallInfo(raw=raw, source=AnswerSource(exchange.wire, dialect, frames)))
    whole = json.loads(json.dumps(made.to_dict()))
    return Seen(canonical(visible(whole, text)), tuple(losses), canonical(made.info.leftovers))


def framed(wire: Any, events: list[Any]) -> Iterator[bytes]:
    """The events of a stream in bytes, with the end mark of the wire."""
    for event in events:
        yield f"data: {json.dumps(event)}\n\n".encode() if wire.FRAMING == "sse" else f"{json.dumps(event)}\n".encode()
    if wire.END is not None:
        yield b"data: " + wire.END + b"\n\n"


class AnswerLaw:
    """The law for the client; each change of a kind of place is tried once for each vendor."""

    def __init__(self) -> None:
        self.tried = 0
        self.repeated = 0
        self._done: set[Any] = set()

    def check(self, exchange: Exchange, kind: str, document: Any) -> Iterator[Shortfall]:
        base: Seen | None = None
        for change, leaf, value in all_edits(document):
            place = leaf[:-1] if change.startswith("add") else leaf
            like = (exchange.wire, exchange.vendor, kind, change, general(place), *shape(document, place)[1:])
            if kind == "stream" and place and isinstance(event := document[place[0]], dict):
                like = (*like, event.get("type"))
            if like in self._done:
                continue
            if change == "empty" and value != "":
                continue  # the leaves in it are removed one at a time
            if change == "other" and value == "x":
                value = "brand new"
            changed = applied(document, leaf, value)
            if without_nulls(changed) == without_nulls(document):
                continue
            base = base or seen(exchange, kind, document)
            if base is None:
                return
            after = seen(exchange, kind, changed)
            if after is None:
                self._done.add(like)
                continue
            self.tried += 1
            if after != base:
                self._done.add(like)
            elif kind == "stream" and not change.startswith("add") and is_repeated(document, leaf, change, changed):
                self.repeated += 1
            else:
                self._done.add(like)
                yield Shortfall(
                    exchange.wire,
                    kind,
                    way_of(kind, document, leaf),
                    change,
                    f"{exchange.id} {'.'.join(map(str, place))}",
                )


def way_of(kind: str, document: Any, leaf: Place) -> str:
    """The general path of a leaf; in a stream of typed events with the type."""
    if kind != "stream" or not leaf:
        return general(leaf)
    event = document[leaf[0]]
    name = event.get("type") if isinstance(event, dict) else None
    return f"[{name}]{general(leaf[1:])}" if isinstance(name, str) and len(leaf) > 1 else general(leaf)


def run(name: str, kinds: Iterable[str] = ("response", "stream"), every: int = 1) -> tuple[list[Shortfall], AnswerLaw]:
    """All shortfalls of the answers of a wire, with the excused ones."""
    law, found = AnswerLaw(), list[Shortfall]()
    for exchange in sources(name)[::every]:
        for kind, document in documents(exchange):
            if kind in kinds:
                found += law.check(exchange, kind, document)
    return found, law


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.laws.answers", description=__doc__)
    parser.add_argument("wires", nargs="*", metavar="WIRE", help=f"source wires; all unless named: {', '.join(WIRES)}")
    parser.add_argument("--kind", action="append", choices=["response", "stream"], help="a kind of document")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only one exchange of N")
    parser.add_argument("--all", action="store_true", help="list excused places, too")
    given = parser.parse_args(arguments)
    short = 0
    for name in given.wires or WIRES:
        found, law = run(name, given.kind or ("response", "stream"), given.every)
        groups: dict[tuple[str, str], list[Shortfall]] = {}
        for one in found:
            if given.all or unseen(one) is None:
                groups.setdefault((one.kind, one.way), []).append(one)
        for (kind, way), ones in sorted(groups.items()):
            print(f"{name} {kind} {way}: {', '.join(sorted({one.change for one in ones}))}  e.g. {ones[0].example}")
        pairs = Counter((one.kind, one.way, one.change) for one in found)
        print(
            f"{name}: {law.tried} changed answers, {len(groups)} places fall short, {len(pairs)} (place, change) pairs with the"
            f" excused; {law.repeated} changes that a later event repeats\n"
        )
        short += len(groups)
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
