"""`B` bodies that are no requests, `Z` bodies that are too large, packed, or larger inside than outside."""

# ruff: noqa: E501 - a case is a line

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

from tests.gateway.attacks.raw import CHUNKED, PATHS, VERSION, asked, chunk, http, one
from tests.gateway.attacks.table import CLOSED, Attack, Does, answers, each, judged, sent
from tests.gateway.attacks.world import Place
from tests.gateway.upstreams import TURNS, question

MiB = 1024 * 1024
COUNTING = (
    "/v1/messages/count_tokens",
    "/v1/responses/input_tokens",
    "/v1beta/models/openai_chat:countTokens",
    "/v1/responses/compact",
)


def everywhere(body: bytes, *expected: int, paths: tuple[str, ...] = (*PATHS.values(), *COUNTING)) -> Does:
    """That body to whatever takes one; a clear error, in JSON, from each."""

    def does(place: Place) -> list[str]:
        found: list[str] = []
        for path in paths:
            if path.endswith("/compact") and place.name == "simulator":
                continue  # it makes nothing shorter
            line = place.line(http(body, VERSION, path=path)).hear(one)
            found += [f"{path} {fault}" for fault in judged(line, expected, closes=False)]
            for answer in line.answers:
                if answer.status >= 400 and not json.loads(answer.body).get("error"):
                    found.append(f"{path} says {answer.body!r}")
        return found

    return does


def bodies(*those: bytes, expected: tuple[int, ...] = (400, 422)) -> Does:
    return each(*((body[:30].decode("latin-1"), everywhere(body, *expected)) for body in those))


def shapes(wrong: Any, *expected: int) -> Does:
    """The request of each wire with something else in some of its fields."""

    def does(place: Place) -> list[str]:
        requests = ((wire, asked(wire, wire, said=wrong(wire))) for wire in PATHS)
        return answers(place, requests, *(expected or (400, 404, 422)))

    return does


def conversation(said: Any, *expected: int) -> tuple[str, Does]:
    return repr(said)[:40], shapes(lambda wire: {TURNS[wire]: said}, *expected)


def tools(said: Any, *expected: int) -> tuple[str, Does]:
    return f"tools {said!r}"[:40], shapes(lambda wire: {"tools": said}, *expected)


DEEP = 100_000

WRONG = [
    Attack("B01", "an empty body", bodies(b"", b" ", b"\n\n")),
    Attack("B02", "a body without anything in it", bodies(b"{}", b'{"":{}}')),
    Attack("B03", "a JSON list", bodies(b"[]", b"[{}]", b'[{"model":"openai_chat"}]')),
    Attack("B04", "a JSON string, number, true", bodies(b'"hi"', b"5", b"true", b"-0.0")),
    Attack("B05", "null", bodies(b"null")),
    Attack("B06", "no JSON", bodies(b"{", b"model=x&stream=true", b"<xml/>", b"{'model':'x'}", b'{"model":"x",}', b"{}{}", b"NaN", b'{"a":Infinity}', b"\x00", b"\xef\xbb\xbf{}")),
    Attack("B07", "invalid UTF-8", bodies(b'{"model":"\xff\xfe"}', b'{"\xff":1}', b'{"model":"\xc0\xaf"}', b'{"model":"\xed\xa0\x80"}', b"\xff\xfe{\x00}\x00", b'{"model":"m","messages":[{"role":"user","content":"\x80"}],"input":"\x80","contents":"\x80"}')),
    Attack("B08", "half a character, escaped", each(
        ("model", everywhere(b'{"model":"\\ud800"}', 400, 404, 422)),
        ("text", lambda place: answers(place, ((wire, asked(wire, wire, "\ud83d")) for wire in PATHS), 200, 400)),
    )),
    Attack("B09", "nested 100,000 deep", bodies(b"[" * DEEP, b'{"a":' * DEEP, b'{"model":' + b"[" * DEEP + b"]" * DEEP + b"}", b'{"a":' * DEEP + b"1" + b"}" * DEEP)),
    Attack("B10", "nested as deep as may be, where anything may stand", each(*(
        (str(depth), shapes(lambda wire, depth=depth: {"metadata": json.loads('{"a":' * depth + "1" + "}" * depth), "tools": [{"type": "function", "name": "f", "function": {"name": "f"}, "parameters": json.loads('{"properties":' * depth + "{}" + "}" * depth)}]}, 200, 400)) for depth in (50, 390, 900)
    ))),
    Attack("B11", "a number of 5001 digits", each(
        ("alone", bodies(b"9" * 5001)),
        ("wherever it stands", everywhere(b'{"model":"openai_chat","max_tokens":' + b"9" * 5001 + b"}", 200, 400, 422)),
        ("negative", everywhere(b'{"model":"openai_chat","temperature":-' + b"9" * 5001 + b"}", 400, 422)),
        ("in a schema", lambda place: raw_number(place, "9" * 5001)),
    )),
    Attack("B12", "numbers beyond what counts", each(*(
        (number, lambda place, number=number: raw_number(place, number)) for number in ("1e400", "-1", "18446744073709551616", "1e-400", "0.1e1", "-0", "99999999999999999999999999")
    ))),
    Attack("B13", "the conversation in the wrong shape", each(*(
        conversation(said) for said in (5, {}, {"role": "user"}, [5], [[]], [None], [{}], [{"role": 5}], [{"role": "user", "content": 5, "parts": 5}], [{"role": "user", "content": [5], "parts": [5]}], [{"role": {}, "content": "x"}])
    ))),
    Attack("B14", "no conversation, or an empty one", each(conversation([], 200, 400, 422), conversation(None, 200, 400, 422), conversation("", 200, 400, 422), ("not there", lambda place: answers(place, ((wire, http(json.dumps({"model": wire}).encode(), VERSION, path=PATHS[wire])) for wire in PATHS), 200, 400, 422)))),
    Attack("B15", "tools in the wrong shape", each(*(tools(said) for said in (5, "f", [5], ["f"], [[]])), *(tools(said, 200, 400, 422) for said in ({}, [{}], [None], [{"type": "function"}], [{"type": "function", "function": 5}], [{"functionDeclarations": 5}])))),
    Attack("B16", "options in the wrong shape", each(
        *((name, shapes(lambda wire, name=name: {name: {"a": [5]}}, 200, 400, 422)) for name in ("model", "stream", "temperature", "max_tokens", "max_output_tokens", "generationConfig", "options", "system", "instructions", "response_format", "text", "format", "tool_choice", "stop", "metadata", "user", "reasoning", "thinking", "include", "store")),
    )),
    Attack("B17", "the same names again and again", each(
        ("in one object", everywhere(b'{"model":"openai_chat",' * 1 + b",".join([b'"model":"nobody"'] * 5000) + b"}", 200, 400, 404, 422)),
        ("prototypes", everywhere(b'{"__proto__":{"model":"openai_chat"},"constructor":{"prototype":{}},"__class__":"x"}', 400, 422)),
    )),
    Attack("B18", "20,000 names that nobody knows", everywhere(json.dumps({f"field{n}": n for n in range(20_000)}).encode(), 400, 422)),
    Attack("B19", "names that nobody knows, on every turn others", shapes(lambda wire: {TURNS[wire]: [{"role": "user", "content": "hi", "parts": [{"text": "hi"}], f"x{n}": n} for n in range(3000)]}, 200, 400)),
    Attack("B20", "a form, and other kinds of content", each(*(
        (kind, sent(http(b"a=b", f"Content-Type: {kind}"), 400, 415, 422, closes=False)) for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", "application/json; charset=utf-16", "\x7f", "")
    ))),
]  # fmt: skip


def with_schema(**fields: Any) -> Any:
    """A tool of every wire, in whose schema these stand."""
    schema = {"type": "object", "properties": {}, **fields}
    function = {"name": "f", "parameters": schema}
    declared = {"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema}]}
    tool = {"type": "function", "name": "f", "input_schema": schema, "parameters": schema, "function": function}
    return {"tools": [{**tool, **declared}]}


def replaced(place: Place, said: Any, old: str, new: str, *expected: int) -> list[str]:
    """Each wire's request with these fields, in whose JSON something is spelled otherwise."""
    requests = ((wire, *question(wire, wire, "hi")) for wire in PATHS)
    raws = (
        (wire, http(json.dumps({**document, **said}).replace(f'"{old}"', new).encode(), VERSION, path=path))
        for wire, path, document in requests
    )
    return answers(place, raws, *expected)


def raw_number(place: Place, number: str) -> list[str]:
    """A number as it is spelled, wherever numbers stand."""
    options = {
        **dict.fromkeys(("temperature", "top_p"), "@"),
        "generationConfig": {"temperature": "@", "maxOutputTokens": "@"},
        "options": {"num_ctx": "@"},
    }
    return [
        fault
        for said in (options, with_schema(properties={"a": {"type": "integer", "maximum": "@"}}))
        for fault in replaced(place, said, "@", number, 200, 400, 422)
    ]


# --- sizes ----------------------------------------------------------------------------------------------------------


def hundred(first: bytes, piece: bytes) -> Does:
    """100 MB of a body that is larger than may be."""

    def does(place: Place) -> list[str]:
        line = place.line(first).send(*[piece] * 100).hear()
        return [*judged(line, (413, CLOSED), closes=True), *([] if line.sent < 100 * MiB else ["takes in all of it"])]

    return does


def small_chunks(place: Place) -> list[str]:
    line = place.line(http(None, CHUNKED)).send(*[chunk(b" ") * 10_000] * 10, chunk(b"")).hear(one)
    return judged(line, (400, 408, 413), closes=False)


def together(place: Place) -> list[str]:
    """40 that are each as large as may be."""
    lines = [place.line(http(None, f"Content-Length: {8 * MiB}")) for _ in range(40)]
    for _ in range(7):
        for line in lines:
            line.send(b" " * MiB)
    statuses = [line.hear(one).statuses for line in lines]
    retry = [answer.headers.get("retry-after") for line in lines for answer in line.answers if answer.status == 503]
    found = [f"answers {status}" for status in statuses if status not in ([503], [408], [400], [])]
    return [*found, *([] if retry and all(retry) else ["nobody is told to come back"])]


def packed(place: Place) -> list[str]:
    bomb = gzip.compress(bytes(20 * MiB), 9) * 50
    requests = ((path, http(bomb, "Content-Encoding: gzip", path=path)) for path in PATHS.values())
    return answers(place, requests, 415, 413, 400, closes=True)


CODINGS = ("deflate", "br", "zstd", "gzip, identity", "identity, gzip", "x-gzip", "GZIP", "gzip" + ", gzip" * 100, "compress", "none")  # fmt: skip


def otherwise(place: Place) -> list[str]:
    requests = ((coding, http(zlib.compress(b"{}"), f"Content-Encoding: {coding}")) for coding in CODINGS)
    return answers(place, requests, 415, 413, 400, closes=True)


def swollen(value: str) -> Does:
    """A body as large as may be that is many times larger once it is read; wherever anything may stand."""
    many = "[" + ",".join([value] * (7 * MiB // (len(value) + 1))) + "]"
    return lambda place: replaced(place, with_schema(many="@many"), "@many", many, 200, 400, 413)


def turns(count: int, *expected: int) -> Does:
    said = [{"role": "user", "content": "", "parts": []}] * count
    return shapes(lambda wire: {TURNS[wire]: said}, *expected)


SIZES = [
    Attack("Z01", "a length of 10 GB, 100 MB of it sent", hundred(http(None, "Content-Length: 10000000000"), b"x" * MiB)),
    Attack("Z02", "100 MB in chunks, which say no length", hundred(http(None, CHUNKED), chunk(b"x" * MiB))),
    Attack("Z03", "100,000 chunks of a byte", small_chunks),
    Attack("Z04", "40 large bodies at once", together, mib=128),
    Attack("Z05", "a gzip bomb of a gigabyte", packed),
    Attack("Z06", "other ways to pack a body", otherwise),
    Attack("Z07", "7 MiB of empty lists", swollen("[]"), mib=400),
    Attack("Z08", "7 MiB of empty objects", swollen("{}"), mib=400, whole=True),
    Attack("Z09", "7 MiB of numbers", swollen("9"), mib=400, whole=True),
    Attack("Z13", "7 MiB of strings", each(*((value, swollen(value)) for value in ('""', '"["', '"a",[]'))), mib=400, whole=True),
    Attack("Z10", "150,000 turns", turns(150_000, 400)),
    Attack("Z11", "2,000 turns of which each says nothing", turns(2000, 200, 400)),
    Attack("Z12", "a text that is full of braces", sent(asked("openai_chat", "openai_chat", '{"a":{}}' * 100_000), 200, closes=False)),
]  # fmt: skip

CASES = [*WRONG, *SIZES]
