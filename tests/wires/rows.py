"""The rows of the mapping tables: data in `tests/wires/<wire>/*.toml`, which `test_rows.py` runs and of which
`python -m tests.mapping` makes the pages in `docs/wires`.

A file is one table of a page and a table of it one row: the sentence of the page (`page`, its cells) and cases. A list of cases
is named after the function that makes the second document of each from the first:

| list | a case |
|---|---|
| `encode_request`, `encode_response` | a document of Responses, that of the wire, losses |
| `decode_request`, `decode_response` | a document of the wire, that of Responses, losses |
| `request`, `response` | a document of Responses and that of the wire, which become each other without a loss |
| `edit_request`, `edit_response` | a document of the wire, what is changed once it is decoded, the document that it then is |
| `decode_stream` | the chunks of a wire, below each the events it makes (`> `), and the response which they make up |
| `encode_stream` | events of Responses, below each the chunks it makes (`> `); `end` stands for the end of the stream |
| `stream_response` | a response, and the chunks that tell it |

Losses are a set of `kind path` or `kind path: words of it`. Behind them may
stand, as a table: `vendor` or `dialect` (facts of a host), `asked` (the request of an answer), `now`, `model`; and where a
decoded document goes back to its wire: `again` (as what, if not as it came), `back` (losses of that), `kept` (losses with
`keep=True`, where they are others), `left` (the fields that another wire then reports).

A row says only what it is about. A stream begins with `BEGINNINGS` unless it begins otherwise (`(absent)`: with none).
A document has the fields of `USUAL` unless it says otherwise (`(absent)`), and one that is a
list is the field of `MAIN`. In what is decoded, ids that the wire's document does not have are left out; those of calls stand
as `#1`. Items of an output are completed, empty `annotations` and `summary` are left out. Opaque state is
`{"sealed": "wire.issuer", ...}`: its content is there for encoders and is not compared. `leftovers` are not compared either:
`left` and the way back say what they hold.
"""

from __future__ import annotations

import binascii
import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from llm_rest import wires
from llm_rest.losses import Loss
from llm_rest.responses import EVENT, REQUEST, RESPONSE
from llm_rest.responses.stream import Assembler, disassemble
from llm_rest.unknown import Unknown
from llm_rest.vendors.rows import DIALECTS
from tests.support.documents import differences
from tests.support.facts import plain
from tests.support.hosts import facts

HERE = Path(__file__).parent
LOSSES = ("dropped", "changed", "emulated", "withheld", "refused")
FUNCTIONS = {
    "encode_request": ("request", "body"),
    "decode_request": ("body", "request"),
    "request": ("request", "body"),
    "edit_request": ("body", "edit", "again"),
    "encode_response": ("response", "answer"),
    "decode_response": ("answer", "response"),
    "response": ("response", "answer"),
    "edit_response": ("answer", "edit", "again"),
    "decode_stream": ("chunks", "response"),
    "encode_stream": ("events",),
    "stream_response": ("of", "chunks"),
}
"""The lists of cases, and the documents of a case."""

ABSENT = "(absent)"
SEALED = re.compile(r"llm_rest\.1\.([a-z_]+\.[\w.-]+)\.([\w-]*)")

MAIN = {
    "request": "input",
    "response": "output",
    "ollama_chat.body": "messages",
    "openai_chat.body": "messages",
    "openai_chat.answer": "choices",
    "anthropic_messages.body": "messages",
    "anthropic_messages.answer": "content",
    "gemini_generate_content.body": "contents",
    "gemini_generate_content.answer": "candidates",
    "openai_responses.body": "input",
    "openai_responses.answer": "output",
}
"""The field that a document is about, where it is shown as a list."""

HI: dict[str, Any] = {"role": "user", "content": "Hi"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}
MADE = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": [SAID]}
USUAL: dict[str, dict[str, Any]] = {
    "request": {"model": "m", "input": "Hi"},
    "response": MADE,
    "ollama_chat.body": {"model": "m", "messages": [HI], "stream": False, "truncate": False},
    "ollama_chat.request.decoded": {"stream": False, "truncation": "disabled"},
    "ollama_chat.answer": {
        "model": "m",
        "created_at": "1970-01-01T00:00:01.425188648Z",
        "message": {"role": "assistant", "content": "Hi."},
        "done": True,
        "done_reason": "stop",
    },
    "ollama_chat.response.decoded": {"id": ABSENT},
    "ollama_chat.chunk": {"model": "m", "created_at": "1970-01-01T00:00:01.425188648Z", "done": False},
    "openai_chat.body": {"model": "m", "messages": [HI]},
    "openai_chat.request.decoded": {"store": False},
    "openai_chat.answer": {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m"},
    "openai_chat.response": {"id": "chatcmpl-1"},
    "openai_chat.chunk": {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"},
    "anthropic_messages.request": {"model": "claude-opus-4-8"},
    "anthropic_messages.request.decoded": {"max_output_tokens": 32000},
    "anthropic_messages.body": {"model": "claude-opus-4-8", "max_tokens": 32000, "messages": [HI]},
    "anthropic_messages.answer": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-8",
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 2},
    },
    "anthropic_messages.response": {
        "id": "msg_1",
        "created_at": 0,
        "model": "claude-opus-4-8",
        "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
    },
    "anthropic_messages.streamed": {
        "model": "m",
        "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
    },
    "gemini_generate_content.request": {"model": "gemini-3-flash-preview"},
    "gemini_generate_content.request.decoded": {"model": ABSENT},
    "gemini_generate_content.body": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    "gemini_generate_content.answer": {"modelVersion": "m", "responseId": "r"},
    "gemini_generate_content.response": {"id": "r", "created_at": ABSENT},
    "gemini_generate_content.chunk": {"modelVersion": "m", "responseId": "r"},
    "openai_responses.body": {"model": "m", "input": [{"type": "message"} | HI]},
    "openai_responses.answer": MADE,
}
"""What documents have where a row says nothing else, and what a usual document decodes to beside that."""

BEGUN = {"id": "r", "object": "response", "status": "in_progress"}
CREATED, IN_PROGRESS = (
    {"type": f"response.{kind}", "sequence_number": number, "response": {**BEGUN, "model": "m", "output": []}}
    for number, kind in enumerate(("created", "in_progress"))
)


def message_start(id: str, **usage: int) -> dict[str, Any]:
    """The event that begins a stream of Anthropic's."""
    message = {"type": "message", "id": id, "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    return {"type": "message_start", "message": {**message, "stop_sequence": None, "usage": usage}}


BEGINNINGS: dict[str, list[tuple[Any, list[str]]]] = {
    "openai_responses.decode_stream": [
        ({"type": "response.created", "response": {**BEGUN, "output": []}}, ["created"])
    ],
    "anthropic_messages.decode_stream": [
        (message_start("msg_1", input_tokens=3, output_tokens=1), ["created; in_progress"])
    ],
    "anthropic_messages.encode_stream": [
        (CREATED, [json.dumps(message_start("r", input_tokens=0, output_tokens=0))]),
        (IN_PROGRESS, []),
    ],
    "gemini_generate_content.encode_stream": [(CREATED, []), (IN_PROGRESS, [])],
}
"""What streams begin with where a row says nothing else, and what it makes."""


class Case(NamedTuple):
    """A case of a row, as the file has it."""

    wire: str
    row: str
    function: str
    number: int
    data: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.row}-{self.function}-{self.number}"

    @property
    def way(self) -> str:
        """The function that a case of a request or a response shows, or both."""
        return self.function.partition("_")[0]

    def has(self, *names: str) -> bool:
        return all(name in self.data for name in names)

    def document(self, name: str, *kinds: str) -> Any:
        """A document of the case with what is usual for its kinds."""
        made = json.loads(self.data[name])
        if isinstance(made, list):
            made = {MAIN.get(kinds[0] if kinds else name) or MAIN[f"{self.wire}.{kinds[0] if kinds else name}"]: made}
        return complete(self.wire, made, *(kinds or (name,)))


def complete(wire: str, document: Any, *kinds: str) -> Any:
    """A document with what is usual for its kinds."""
    usual: dict[str, Any] = {}
    for kind in kinds:
        usual |= USUAL.get(kind, {}) | USUAL.get(f"{wire}.{kind}", {})
    return {field: value for field, value in (usual | document).items() if value != ABSENT}


@cache
def tables(wire: str) -> dict[str, dict[str, Any]]:
    """The files of a wire, in the order of their names."""
    return {path.stem: tomllib.loads(path.read_text()) for path in sorted((HERE / wire).glob("*.toml"))}


def cases(wire: str) -> Iterator[Case]:
    """Every case of a wire's rows."""
    for table in tables(wire).values():
        for row, fields in table.items():
            for function in FUNCTIONS.keys() & fields:
                for number, entries in enumerate(fields[function]):
                    yield Case(wire, row, function, number, dict(entered(function, entries)))


def entered(function: str, entries: list[Any]) -> Iterator[tuple[str, Any]]:
    """The fields of a case."""
    names = iter(FUNCTIONS[function])
    found: set[str] = set()
    for entry in entries:
        if isinstance(entry, dict):
            yield from entry.items()
        elif entry.partition(" ")[0] in LOSSES:
            found.add(entry)
        else:
            yield next(names), entry
    yield "lost", found


# --- documents ------------------------------------------------------------------------------------------------------


def opened(document: Any) -> Any:
    """A document with opaque state as the envelope it travels in."""
    match document:
        case {"sealed": str(sender), **payload}:
            body = binascii.b2a_base64(json.dumps(payload, separators=(",", ":")).encode(), newline=False)
            return f"llm_rest.1.{sender}.{body.decode().translate(str.maketrans('+/', '-_')).rstrip('=')}"
        case {"type": "output_text", **rest} if "annotations" not in rest and isinstance(rest.get("text"), str):
            return opened(document | {"annotations": []})
        case {"type": "reasoning", **rest} if "summary" not in rest:
            return opened(document | {"summary": []})
        case dict():
            return {name: opened(value) for name, value in document.items()}
        case list():
            return [opened(value) for value in document]
        case _:
            return document


def comparable(document: Any, source: str | None = None) -> Any:
    """A document as rows show it: without leftovers, and without ids that its source does not have."""
    made: dict[str, str] = {}
    if source is not None and isinstance(document.get("output"), list):
        items = [finished(item) if isinstance(item, dict) else item for item in document["output"]]
        document = document | {"output": items}

    def walk(value: Any) -> Any:
        match value:
            case {"sealed": str(sender)}:
                return {"sealed": sender}
            case dict():
                empty = {("annotations", ()), ("summary", ()), ("logprobs", ())}
                fields = {name: walk(inner) for name, inner in value.items() if name != "leftovers"}
                fields = {name: inner for name, inner in fields.items() if inner != [] or (name, ()) not in empty}
                return {
                    name: inner for name, inner in fields.items() if not (name in ("id", "item_id") and is_made(inner))
                }
            case list():
                return [walk(inner) for inner in value]
            case str() if found := SEALED.fullmatch(value):
                return {"sealed": found[1]}
            case str() if value.startswith("call_") and is_made(value):
                return made.setdefault(value, f"#{len(made) + 1}")
            case _:
                return value

    def is_made(value: Any) -> bool:
        return source is not None and isinstance(value, str) and value not in source

    return walk(document)


def finished(item: dict[str, Any]) -> dict[str, Any]:
    """An item of an output as rows show it: they say its status where it is not completed."""
    status = item.get("status", ABSENT)
    rest = {name: value for name, value in item.items() if name != "status"}
    return rest if status == "completed" else rest | {"status": status}


def same_input(document: dict[str, Any]) -> dict[str, Any]:
    """A request with its input as a list, whose messages say that they are some."""
    said = document.get("input")
    items = [{"role": "user", "content": said}] if isinstance(said, str) else said
    if not isinstance(items, list):
        return document
    return document | {"input": [{"type": "message"} | each if "role" in each else each for each in items]}


def lost(losses: Iterable[Loss]) -> set[str]:
    return {f"{loss.kind} {loss.path}: {loss.what}" for loss in losses}


# --- running --------------------------------------------------------------------------------------------------------


def dialect_of(case: Case) -> Any:
    """The facts of the host that a case is about."""
    if vendor := case.data.get("vendor"):
        return facts(vendor, case.wire)
    kind = DIALECTS[case.wire]
    return msgspec.convert({**plain(kind()), **case.data["dialect"]}, kind) if case.has("dialect") else kind()


def options_of(case: Case) -> dict[str, Any]:
    """What a converter is called with beside its document."""
    asked = {"request": REQUEST.decode(json.dumps(opened(json.loads(case.data["asked"]))))} if case.has("asked") else {}
    return (
        {"dialect": dialect_of(case)}
        | asked
        | {name: case.data[name] for name in ("model", "now") if name in case.data}
    )


KINDS = {"request": ("body", REQUEST), "response": ("answer", RESPONSE)}


def encoded(case: Case, kind: str) -> dict[str, Any]:
    """What becomes of a document of Responses on the wire."""
    wire: Any = wires.load(case.wire)
    name, decoder = KINDS[kind]
    options = {key: value for key, value in options_of(case).items() if key in ("dialect", "request")}
    ours = decoder.decode(json.dumps(opened(case.document(kind))))
    body, losses = getattr(wire, f"encode_{kind}")(ours, **options)
    return {name: comparable(plain(body)), "lost": lost(losses)}


def decoded(case: Case, kind: str) -> dict[str, Any]:
    """What becomes of a document of the wire in Responses, and how it comes back."""
    wire: Any = wires.load(case.wire)
    name, decoder = KINDS[kind]
    options = options_of(case)
    text = json.dumps(opened(case.document(name)))
    body = getattr(wire, kind.upper()).decode(text)
    decode, encode = getattr(wire, f"decode_{kind}"), getattr(wire, f"encode_{kind}")
    bare, losses = decode(body, **options, keep=False)
    kept, with_kept = decode(body, **options, keep=True)
    found = {kind: comparable(same_input(plain(bare)), text), "lost": lost(losses), "kept": lost(with_kept)}
    if edit := case.data.get("edit"):
        kept = decoder.decode(json.dumps(edited(plain(kept), json.loads(edit))))
    again, back = encode(kept, **{key: options[key] for key in options if key in ("dialect", "request")})
    other: Any = wires.load("openai_chat" if case.wire == "ollama_chat" else "ollama_chat")
    abroad, without = (lost(getattr(other, f"encode_{kind}")(each)[1]) for each in (kept, bare))
    left = {each.partition(": ")[0].partition(" ")[2] for each in abroad - without}
    return {**found, "again": comparable(plain(again)), "back": lost(back), "left": left}


def edited(document: Any, edits: dict[str, Any]) -> Any:
    """A document with other values at some places (`input[0].content`); `(absent)` takes the field away."""
    for path, value in edits.items():
        *way, last = [int(step) if step.isdigit() else step for step in re.split(r"[.\[\]]+", path) if step]
        at = document
        for step in way:
            at = at[step]
        if value == ABSENT:
            del at[last]
        else:
            at[last] = value
    return document


def outline(event: Any) -> str:
    """An event in a few words."""
    if isinstance(event, Unknown):
        return json.dumps(
            {name: value for name, value in event.items() if name != "sequence_number"}, ensure_ascii=False
        )
    said = plain(event)
    words = [said["type"].removeprefix("response.")]
    if "item" in said:
        words.append(said["item"]["type"])
    words += [json.dumps(said[name], ensure_ascii=False) for name in ("delta", "message") if name in said]
    return " ".join(words)


def interleaved(text: str) -> Iterator[tuple[Any, list[str]]]:
    """Each document of a stream with the lines below it. What stands below `end` is said once the stream is over."""
    found: list[tuple[Any, list[str]]] = []
    for line in text.strip().splitlines():
        if line.startswith("> "):
            found[-1][1].append(line[2:])
        else:
            found.append((None if line == "end" else json.loads(line), []))
    return iter(found)


def stream_of(case: Case, name: str) -> list[tuple[Any, list[str]]]:
    """Each document of a stream with the lines below it; `(absent)` stands for the usual beginning of a stream without any."""
    text = case.data.get(name, "").strip()
    found = list(interleaved(text.removeprefix(ABSENT)))
    usual = BEGINNINGS.get(f"{case.wire}.{case.function}", [])
    starts = text.startswith(ABSENT) or any((found[0][0] or {}).get("type") == one["type"] for one, _ in usual if found)
    return found if starts or not found else [*usual, *found]


def streamed(case: Case) -> dict[str, Any]:
    """What is told after each chunk of a stream, and the response that it all makes up."""
    wire: Any = wires.load(case.wire)
    machine = wire.decode_stream(**options_of(case), keep=False)
    assembler = Assembler()
    told: list[list[str]] = []
    chunks = [chunk and opened(complete(case.wire, chunk, "chunk")) for chunk, _ in stream_of(case, "chunks")]
    for chunk in chunks:
        events = machine.close() if chunk is None else machine.feed(wire.EVENT.decode(json.dumps(chunk)))
        told.append([outline(event) for event in events])
        for event in events:
            assembler.feed(event)
    if None not in chunks:
        told += [[outline(event) for event in events]] if (events := machine.close()) else []
    response = comparable(plain(assembler.response), json.dumps(chunks)) if case.has("response") else None
    return {"told": told, "response": response, "lost": lost(machine.losses)}


def complete_line(wire: str, line: Any) -> Any:
    return complete(wire, line, "chunk") if isinstance(line, dict) else line


def written(case: Case) -> dict[str, Any]:
    """What is written for each event of a stream."""
    wire: Any = wires.load(case.wire)
    machine = wire.encode_stream(**{key: value for key, value in options_of(case).items() if key != "now"})
    given: list[Any] = [EVENT.decode(json.dumps(opened(e))) if e else e for e, _ in stream_of(case, "events")]
    if case.has("of"):
        given = list(disassemble(RESPONSE.decode(json.dumps(opened(case.document("of", "response"))))))
    made: list[list[Any]] = []
    for event in given:
        said = machine.close() if event is None else machine.feed(event)
        made.append([comparable(plain(one)) for one in said])
    if None not in given:
        made += [[comparable(plain(one)) for one in machine.close()]]
        made = made if made[-1] else made[:-1]
    return {"told": made, "lost": lost(machine.losses)}


def expected_losses(case: Case, name: str = "lost") -> set[str]:
    return set(case.data.get(name, ()))


def problems(case: Case) -> list[str]:
    """Where a case does not hold, in words; empty when it does."""
    if case.has("events") or case.has("chunks"):
        return list(stream_problems(case))
    kind = "request" if case.has("request") or case.has("body") else "response"
    name = KINDS[kind][0]
    found: list[str] = []
    if case.way in ("encode", kind):
        result = encoded(case, kind)
        found += differences(comparable(case.document(name)), result[name])
        found += sets("lost", expected_losses(case), result["lost"])
    if case.way in ("decode", "edit", kind):
        result = decoded(case, kind)
        body = comparable(case.document(name))
        if case.has(kind):
            ours = same_input(case.document(kind, kind, f"{kind}.decoded"))
            found += differences(comparable(ours), result[kind])
        found += sets("lost", expected_losses(case), result["lost"])
        found += sets("kept", expected_losses(case, "kept" if case.has("kept") else "lost"), result["kept"])
        found += differences(comparable(case.document("again", name)) if case.has("again") else body, result["again"])
        found += sets("back", expected_losses(case, "back"), result["back"])
        found += sets("left", expected_losses(case, "left"), result["left"])
    return found


def sets(name: str, one: set[str], other: set[str]) -> list[str]:
    """Where two sets of losses differ. Words behind the path of an expected one must stand in what is said of it."""
    found = [f"{name}: {each} missing" for each in sorted(one) if not any(is_loss(each, made) for made in other)]
    return found + [
        f"{name}: {made} too much" for made in sorted(other) if not any(is_loss(each, made) for each in one)
    ]


def is_loss(expected: str, made: str) -> bool:
    path, _, words = expected.partition(": ")
    return path == made.partition(": ")[0] and words in made.partition(": ")[2]


def stream_problems(case: Case) -> Iterator[str]:
    if case.has("of"):
        result = written(case)
        result["told"] = [[one for each in result["told"] for one in each]]
        told: list[Any] = [[json.loads(line) for line in case.data["chunks"].strip().splitlines()]]
    elif case.has("events"):
        result = written(case)
        told = [[json.loads(line) for line in below] for _, below in stream_of(case, "events")]
    else:
        result = streamed(case)
        told = ["; ".join(below) for _, below in stream_of(case, "chunks")]
        result["told"] = ["; ".join(each) for each in result["told"]]
        if case.has("response"):
            response = case.document("response", "response", "response.decoded", "streamed")
            yield from differences(comparable(response), result["response"])
    if case.function != "decode_stream":
        told = [[comparable(opened(complete_line(case.wire, line))) for line in each] for each in told]
    yield from differences(told, result["told"])
    yield from sets("lost", expected_losses(case), result["lost"])
