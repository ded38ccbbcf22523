"""`J`: bodies of good answers that are not what they should be, and those that are odd and still mean something."""

# ruff: noqa: E501 - a case is a line

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llm_rest import LLMError
from tests.hostile.documents import GONE, LONG, Documents, Plain, Raw, encode, long, put
from tests.hostile.table import Case, Expected, Seen, World, bad, either, failed, good
from tests.loopback import http, send

NOT = bad("malformed_response", attempts=2, code="network_error", retryable=False)
TOO_DEEP = bad("malformed_response", attempts=1, code="network_error", retryable=False)
OR_NOT = either(good(), NOT)


def body(make: Callable[[Documents], bytes]) -> Any:
    return lambda d: [send(http(make(d)))]


def text(data: bytes) -> Any:
    return lambda d: [send(http(data))]


def at(place: str, value: Any) -> Any:
    """A good answer with something else at a place."""
    return lambda d: [send(http(d.but(getattr(d, place), value)))]


def tokens(count: int) -> Expected:
    return good(then=lambda s: s.reply.usage.output_tokens == count)


def same_text(expected: str) -> Expected:
    """The text arrives, and can be sent on."""
    return good(text=expected, then=lambda s: bool(s.reply.output_text.encode()))


def saying(escaped: str) -> Any:
    """A good answer whose text is spelled in JSON like this."""
    return lambda d: [send(http(d.but(d.text, Raw(f'"{escaped}"'))))]


def with_block(d: Documents) -> bytes:
    """Something nobody knows beside the text."""
    block = {"type": "hologram", "hologram": {"x": 1}}
    match d.wire:
        case "openai_responses" | "anthropic_messages":
            return d.but(d.items, lambda items: [*items, block])
        case "gemini_generate_content":
            return d.but(d.text[:-2], lambda parts: [*parts, {"hologram": {"x": 1}}])
        case _:
            return d.but(d.text[:-1], lambda message: {**message, "hologram": {"x": 1}})


USAGE = {"openai_responses": "usage", "openai_chat": "usage", "anthropic_messages": "usage", "gemini_generate_content": "usageMetadata"}  # fmt: skip
FLAT = {"ollama_chat": "its counts stand beside the answer, not in an object"}


def usage(value: Any) -> Any:
    return lambda d: [send(http(d.but((USAGE[d.wire],), value)))]


def null_ids(d: Documents) -> bytes:
    document = d.whole("Hello")
    for name in ("id", "model", "created", "created_at", "modelVersion", "responseId"):
        if name in document:
            document = put(document, (name,), None)
    return encode(document)


def no_ids(d: Documents) -> bytes:
    gone = ("id", "model", "created", "created_at", "modelVersion", "responseId", "object")
    return encode({name: value for name, value in d.whole("Hello").items() if name not in gone})


def deep(levels: int) -> Raw:
    return Raw("[" * levels + "]" * levels)


def extra(value: Any) -> Any:
    return body(lambda d: encode({**d.whole("Hello"), "unheard_of": value}))


def same(seen: Seen) -> bool:
    return bool(seen.reply.output_text == "Hello")


def _unless_gemini(there: Expected) -> Any:
    """Gemini says nothing where it has nothing to say, so there it is a failed generation."""
    return lambda d: there if d.wire == "gemini_generate_content" else NOT


ODD: list[Any] = [None, True, -1, 7, Raw("-0"), Raw("11.5"), 2**64, -(2**70), Raw("9" * 5000), Raw("11." + "0" * 4000)]
ODD += [Raw("1e308"), Raw("1e999"), "many", "", ["stop"], [[]], {}, {"a": 1}]
ODD_ITEMS = [1, None, "x"]


def odd_values(place: str) -> Any:
    return lambda d: [send(http(d.but(getattr(d, place), value))) for value in ODD]


def each_odd(*, never: bool) -> Any:
    """A call for each odd value: an answer or an error of the right kind, or always an error."""

    async def ask(world: World) -> Any:
        llm = world.client(retry=1)
        for value in ODD:
            found = await failed(llm.generate("Hi"))
            if isinstance(found, LLMError):
                assert found.kind in ("malformed_response", "internal_server"), (value, found)
            else:
                assert not never, value

    return ask


OBJECTS = {"anthropic_messages": "its arguments are objects", "gemini_generate_content": "its arguments are objects", "ollama_chat": "its arguments are objects"}  # fmt: skip
called = good(text=None, then=lambda s: s.reply.function_calls[0].arguments.replace(" ", "") == '{"a":1}')


def calling(d: Documents, arguments: Any) -> Plain:
    """An answer that calls a tool."""
    if d.wire == "openai_responses":
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": arguments}
        return {**d.whole(""), "output": [{**item, "status": "completed"}]}
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {**d.whole(""), "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


NO_LIST = {"ollama_chat": "its answer is one message, no list"}

J = [
    Case("J01", "truncated", body(lambda d: d.good()[:-9]), NOT),
    Case("J02", "a comma behind the last field", body(lambda d: d.good()[:-1] + b",}"), NOT),
    Case("J04", "NaN as a count", at("count", Raw("NaN")), NOT),
    Case("J05", "-Infinity and Infinity as a count", at("count", Raw("-Infinity")), NOT),
    Case("J06", "11.0 tokens", at("count", Raw("11.0")), tokens(11)),
    Case("J07", "1.1e1 tokens", at("count", Raw("1.1e1")), tokens(11)),
    Case("J08", '"11" tokens', at("count", "11"), tokens(11)),
    *(Case(name, f"odd values at the place of {place}", odd_values(place), good(len(ODD), text=None), ask=each_odd(never=place == "items"), counted=False) for name, place in [("J09", "count"), ("J40", "finish"), ("J47", "name"), ("J53", "text"), ("J35", "items")]),
    Case("J13", "usage null", usage(None), good(), cannot=FLAT),
    Case("J14", "usage absent, and counts absent", lambda d: [send(http(d.but((USAGE.get(d.wire, "eval_count"),), GONE)))], good()),
    Case("J15", "an unknown field nested 100 000 deep", extra(deep(100_000)), TOO_DEEP),
    Case("J16", "a known field nested 100 000 deep", at("text", deep(100_000)), TOO_DEEP),
    Case("J17", "200 000 open brackets", text(b"[" * 200_000), TOO_DEEP),
    Case("J18", "an unknown field nested 390 deep", extra(deep(390)), good()),
    Case("J19", "a lone surrogate in the text", saying(r"Hel\ud83d lo"), same_text("Hel� lo")),
    Case("J20", "a lone low surrogate, and a reversed pair", saying(r"\ude00\ud83dHi"), same_text("��Hi")),
    Case("J21", "a raw control character in a string", body(lambda d: d.good("He@lo").replace(b"@", b"\x01")), OR_NOT),
    Case("J22", "a raw line break in a string", body(lambda d: d.good("He@lo").replace(b"@", b"\n")), OR_NOT),
    Case("J23", "overlong UTF-8", body(lambda d: d.good("He@lo").replace(b"@", b"\xc0\xaf")), NOT),
    Case("J24", "invalid UTF-8, and surrogates in UTF-8", body(lambda d: d.good("He@lo").replace(b"@", b"\xed\xa0\xbd")), NOT),
    Case("J25", "white space around", body(lambda d: b" \r\n\t" + d.good() + b"\n\n "), good()),
    Case("J26", "a word behind the document", body(lambda d: d.good() + b" trailing"), NOT),
    Case("J27", "two documents", body(lambda d: d.good() + d.good()), NOT),
    Case("J31", "null", text(b"null"), NOT),
    Case("J33", "{}", text(b"{}"), NOT),
    Case("J34", "[]", text(b"[]"), NOT),
    Case("J36", "the list of what was said is missing", at("items", GONE), _unless_gemini(bad("internal_server", attempts=3))),
    Case("J37", "it holds 1, null and 'x'", at("items", ODD_ITEMS), NOT, cannot=NO_LIST),
    Case("J39", "an end nobody knows", at("finish", "tired"), lambda d: good(text=None, then=same)),
    Case("J41", "a block nobody knows, beside the text", body(with_block), good()),
    Case("J42", "unknown fields everywhere", body(lambda d: encode(_strewn(d.whole("Hello")))), good()),
    Case("J43", "20 MB of text", lambda d: [long(d.good(LONG), 20)], good(text=None, then=lambda s: len(s.reply.output_text) == 20_000_000)),
    Case("J44", "20 MB of escapes", lambda d: [long(d.good(LONG), 3, rb"\u0041")], good(text=None, then=lambda s: len(s.reply.output_text) == 3_000_000), modes=("sync",)),
    Case("J45", "id, model and created null", body(null_ids), good()),
    Case("J46", "id, model and created absent", body(no_ids), good()),
    Case("J49", "usage with null inside", usage(lambda counts: dict.fromkeys(counts)), good(), cannot=FLAT),
    Case("J50", "a count that is null", at("count", None), good()),
    Case("J56", "white space and nothing else", text(b" \n "), NOT),
    Case("J57", "JSON behind a guard against scripts", body(lambda d: b")]}',\n" + d.good()), NOT),
    Case("J59", "an end that is null", at("finish", None), either(good(text=None, then=same), NOT, bad("internal_server", attempts=3, partial="Hello"))),
    Case("J61", "an emoji spelled as a pair", saying(r"\ud83d\ude00"), same_text("😀")),
    Case("J62", "NUL in the text", saying(r"a\u0000b"), same_text("a\0b")),
    Case("J64", "the arguments of a call are an object", body(lambda d: encode(calling(d, {"a": 1}))), called, cannot=OBJECTS),
    Case("J75", "a count with a zero in front", at("count", Raw("011")), NOT),
    Case("J76", "a count with a plus, in hex, with a bare point", at("count", Raw("+11")), NOT),
    Case("J82", "a cut in the middle of a character", body(lambda d: d.good("\u00fc" * 50).partition("\u00fc".encode())[0] + b"\xc3"), NOT),
    Case("J83", "NUL instead of the last brace", body(lambda d: d.good()[:-1] + b"\0"), NOT),
    Case("J85", "2 MB of blanks around the document", body(lambda d: b" " * 1_000_000 + d.good() + b"\r" * 1_000_000), good()),
    Case("J87", "keys such as __proto__, and an empty one", body(lambda d: encode({**d.whole("Hello"), "__proto__": {"a": 1}, "": 1})), good()),
    Case("J88", "a key of the document twice, of different kinds", body(lambda d: d.good()[:-1] + b',"unheard_of":1,"unheard_of":[]}'), good()),
    Case("J90", "the document in a list", body(lambda d: b"[" + d.good() + b"]"), NOT),
    Case("J91", "the document within another", body(lambda d: b'{"data":' + d.good() + b"}"), _unless_gemini(bad("internal_server", attempts=3))),
    Case("J97", "usage is a list", usage([]), NOT, cannot=FLAT),
    Case("J98", "usage is a word", usage("many"), NOT, cannot=FLAT),
    Case("J99", "usage is empty", usage({}), good(), cannot=FLAT),
    Case("J100", "the list of what was said holds a list", at("items", [[]]), NOT, cannot=NO_LIST),
    Case("J102", "marks that turn text around, and characters that do not exist", saying("\ufeffa\u202eb\uffff"), same_text("\ufeffa\u202eb\uffff")),
    Case("J63", "a document of the framing of streams", body(lambda d: b"data: " + d.good() + b"\n\n"), NOT),
]  # fmt: skip


def _strewn(value: Any) -> Any:
    if isinstance(value, dict):
        return {**{name: _strewn(entry) for name, entry in value.items()}, "x_unheard_of": {"deep": [1, None]}}
    return [_strewn(entry) for entry in value] if isinstance(value, list) else value
