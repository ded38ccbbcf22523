"""Validation of a request as its vendor does it, on the received plain JSON, independent of our own converters.

The rules are data: `refusals.txt` has those of each wire, from the vendors' references; the tables of `models.py` and
`dialects.py` have those of single models and hosts. Before changing this file, know that it must accept every request
that the real API accepted: `tests/test_simulator_peers.py` checks every recorded request.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pkgutil import get_data
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from ..errors import ErrorFacts
from ..responses import Request
from ..responses.items import ItemBase
from ..responses.parts import Part
from ..tools.schema import walk
from ..unknown import as_object
from ..vendors.dialects import REFUSALS, gemini_model, messages_model
from ..vendors.models import capabilities
from . import turns
from .plain import MISSING, Found, Place, Plain, entries, kind_of, rows

if TYPE_CHECKING:
    from ..server.handler import Context

_OWN = {"leftovers", "is_error", "extra"}
_FIELDS = {
    str(kind.__struct_config__.tag): {*kind.__struct_encode_fields__, "type"} - _OWN
    for kind in (*ItemBase.__subclasses__(), *Part.__subclasses__())
}
"""The fields of each kind of item and part of the Responses format."""
_ITEMS = {str(kind.__struct_config__.tag) for kind in ItemBase.__subclasses__()}


class Rule(NamedTuple):
    """A validation rule: one row of `refusals.txt`."""

    mark: str
    facts: list[tuple[str, str]]
    steps: list[tuple[str, str, str]]
    test: str
    words: list[str]
    message: str
    codes: list[str]

    def error(self, message: str, path: str | None = None) -> ErrorFacts:
        """The vendor's error for this rule."""
        status = next((int(word) for word in self.codes if word.isdecimal()), 400)
        kind = next((word.removeprefix("type=") for word in self.codes if word.startswith("type=")), None)
        code = next((word for word in self.codes if not word.isdecimal() and "=" not in word), None)
        return ErrorFacts(status=status, message=message, type=kind, param=path, code=code)


_ROW = re.compile(r"(?:([~*!]) )?((?:\?\S+ )*)(\S+) \| (\w+) ?(.*?) \| (.*?)(?: \[([\w =]+)\])?")
_STEP = re.compile(r"([\w,-]+)(\[\])?((?:\[[^\]]+\])*)")
_FILTER = re.compile(r"\[([\w.]+?)(!?=)([^\]]*)\]")


@cache
def rules(wire: str) -> list[Rule]:
    """The rules of a wire; none for a wire with unknown vendors."""
    text = (get_data(__name__, "refusals.txt") or b"").decode()
    head, *lines = text.partition(f"[{wire}")[2].partition("\n\n")[0].splitlines() or [""]
    kind = head.partition(" ")[2].rstrip("]")
    found: list[Rule] = []
    for line in lines:
        mark, facts, path, test, words, message, codes = cast("re.Match[str]", _ROW.fullmatch(line)).groups("")
        named = [(fact, value) for fact, _, value in (word[1:].partition(":") for word in facts.split())]
        found.append(Rule(mark, named, _STEP.findall(path), test, words.split(" "), message, [*codes.split(), kind]))
    return found


def reserved(wire: str, word: str, value: str) -> ErrorFacts:
    """The vendor's error for an invalid `key`, or for a `model` that does not exist."""
    rule = next(rule for rule in rules(wire) if rule.mark == "!" and rule.steps[0][0] == word)
    return rule.error(rule.message.format(value=value))


def problems(document: Plain, context: Context, marks: str = "") -> Iterator[ErrorFacts]:
    """The errors of the vendor; `marks` adds the rows with these marks: `~` what is not simulated, `*` signatures."""
    document = canonical(document, context.wire)
    model = str(context.model or document.get("model") or "")
    for rule in rules(context.wire):
        if rule.mark in ("", *marks) and all(_holds(*fact, context, model) for fact in rule.facts):
            seen: set[str] = set()
            for found in _places(rule.steps, document, "", context.wire):
                place = Place(*found, document, context, model, rule.words, seen)
                faults = TESTS[rule.test](place)
                for fields in [{}] if isinstance(faults, bool) and faults else faults or ():
                    yield _error(rule, place, fields)


def canonical(document: Plain, wire: str) -> Plain:
    """A request in the notation that the rules use."""
    return _CANONICAL[wire](document) if wire in _CANONICAL else document


def _holds(fact: str, expected: str, context: Context, model: str) -> bool:
    """Whether the row of the host or of the model has this fact."""
    models = {"gemini_generate_content": gemini_model, "anthropic_messages": messages_model}
    name = fact.removeprefix("!")
    value: Any = getattr(context.dialect, name, MISSING)
    if value is MISSING:
        value = getattr(models.get(context.wire, capabilities)(model), name)
    holds = (expected in value if isinstance(value, tuple) else value == expected) if expected else bool(value)
    return holds != fact.startswith("!")


def _places(
    steps: list[tuple[str, str, str]], holder: Plain, at: str, wire: str
) -> Iterator[tuple[str, str, str, Plain, Any]]:
    """The values at a path: the path of the object, the path of the value, its name, the object and the value."""
    (names, many, filters), *rest = steps
    for name in names.split(","):
        value = holder if name == "-" else holder.get(name, MISSING)
        path = at if name == "-" else f"{at}.{name}".lstrip(".")
        values = [(path, value)]
        if many:
            numbered = "{}.{}" if wire == "anthropic_messages" else "{}[{}]"
            values = [(numbered.format(path, i), one) for i, one in enumerate(entries(value, wire))]
        for place, one in values:
            if not all(_fits(one, *one_filter) for one_filter in _FILTER.findall(filters)):
                continue
            if not rest:
                yield at, place, name, holder, one
            elif isinstance(one, dict):
                yield from _places(rest, cast("Plain", one), place, wire)


def _fits(value: Any, names: str, sign: str, words: str) -> bool:
    for name in names.split("."):
        value = as_object(value).get(name)
    return (str(value) in words.split("|")) == (sign == "=")


def _error(rule: Rule, place: Place, fields: Plain) -> ErrorFacts:
    dotted = ("messages[", "messages.[") if place.context.wire == "openai_chat" else ("", "")
    path, at = place.path.replace(*dotted), place.at.replace(*dotted)
    if rule.message.startswith("="):
        return rule.error(REFUSALS[rule.message[1:]].message.format(path=at, length=len(entries(place.value))), path)
    *words, last = [f"'{word}'" for word in rule.words]
    about = {
        "path": path,
        "at": at,
        "name": place.name,
        "value": place.value if place.given else None,
        "kind": kind_of(place.value),
        "holder": {"name": None, "id": None, **place.holder},
        "words": " and ".join(filter(None, [", ".join(words), last])),
    }
    return rule.error(rule.message.format(**about | fields), path)


# --- tests of one value -----------------------------------------------------------------------------------------------


def _beyond(place: Place, sign: int) -> bool:
    is_number = isinstance(place.value, int | float) and not isinstance(place.value, bool)
    limit = place.words[0]
    edge = int(limit) if limit.isdecimal() else place.document.get(limit, 0) - 1
    return is_number and (place.value - edge) * sign > 0


def _keys(place: Place) -> Found:
    known = {*place.words, *(Request.__struct_encode_fields__ if "@request" in place.words else ())} - _OWN
    unknown = [name for name in as_object(place.value) if name not in known]
    named = {"names": ", ".join(sorted(unknown)), "s": "s" if len(unknown) > 1 else ""}
    return [{"name": name, **named} for name in unknown]


def _unique(place: Place) -> bool:
    seen = place.given and str(place.value) in place.seen
    place.seen.add(str(place.value))
    return seen


def _among(place: Place) -> bool:
    known = [found[4] for found in _places(_STEP.findall(place.words[0]), place.document, "", place.context.wire)]
    return place.given and place.value not in known


def _base64(place: Place) -> bool:
    try:
        binascii.a2b_base64(place.value, strict_mode=True)
    except (binascii.Error, ValueError, TypeError):
        return True
    return False


_NOT_STRICT = set(
    """
    minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength maxItems uniqueItems minProperties
    maxProperties patternProperties propertyNames not if then else oneOf prefixItems contains
    """.split()
)
"""Keywords that Anthropic rejects in a strict schema."""


def strict(schema: Any, host: str) -> Iterator[str]:
    """The errors of a host for a strict schema; from the structured-output guides, read 2026-11-20."""
    openai = host == "openai"
    if openai and as_object(schema).get("type") != "object":
        yield f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{as_object(schema).get('type')}\"'."
    for name, node in walk(schema):
        kind, where = node.get("type", "any"), f"In context=({name!r}),"
        is_object = "object" in kind or "properties" in node
        if is_object and node.get("additionalProperties") is not False:
            needed = f"{where} 'additionalProperties' is required to be supplied and to be false."
            yield needed if openai else "For 'object' type, 'additionalProperties' must be explicitly set to false"
        missing = [key for key in node.get("properties", ()) if key not in node.get("required", ())]
        if openai and is_object and missing:
            yield f"{where} 'required' must include every key in properties. Missing '{missing[0]}'."
        for word in () if openai else node:
            if word in _NOT_STRICT or (word == "minItems" and node[word] > 1):
                yield f"For '{kind}' type, property '{word}' is not supported"


_OLLAMA_SCHEMA = {"required": "array", "enum": "array", "properties": "object", "type": "string array"}


def _unreadable(place: Place) -> Found:
    """Parts of a schema that Ollama's server cannot decode into its own structure."""
    left = [("", as_object(place.value))]
    for path, schema in left:
        for name, kinds in _OLLAMA_SCHEMA.items():
            if kind_of(schema.get(name)) not in ("null", *kinds.split()):
                yield {"name": f"{path}.{name}", "kind": kind_of(schema[name])}
        left += [(f"{path}.properties", as_object(inner)) for inner in as_object(schema.get("properties")).values()]
        left += [(f"{path}.anyOf", inner) for inner in rows(schema.get("anyOf"))]


# --- OpenAI ---------------------------------------------------------------------------------------------------------


def _typed_items(document: Plain) -> Plain:
    """The document with the type of each item, which messages and references may leave out."""
    items = [
        {"type": "message" if "role" in item else "item_reference", **item} for item in rows(document.get("input"))
    ]
    return {**document, "input": items} if items else document


def _fields(place: Place) -> Found:
    """Unknown fields of this kind of item or part."""
    known = _FIELDS.get(str(as_object(place.value).get("type")))
    return [{"name": name} for name in place.value if name not in (*known, "parsed", *place.words)] if known else []


def _choice(place: Place) -> Found:
    known = (*place.context.dialect.tool_choices, "any")
    word = place.value if isinstance(place.value, str) else as_object(place.value).get("type")
    return [] if word is None or word in known else [{"value": word, "words": ", ".join(known[:-1])}]


def _call_id(place: Place) -> Found:
    dialect, value = place.context.dialect, str(place.value)
    most = dialect.longest_call_id
    if dialect.exact_call_id and not re.fullmatch(f"[a-zA-Z0-9]{{{most}}}", value):
        yield {"problem": f"Tool call id was {value} but must be a-z, A-Z, 0-9, with a length of {most}."}
    elif len(value) > most and dialect.issuer == "openai":
        wrong = f"Invalid '{place.path}': string too long. Expected a maximum length of {most}"
        yield {"problem": f"{wrong}, but got {len(value)} instead."}


# --- Messages -------------------------------------------------------------------------------------------------------


VERSIONS = ("2023-06-01", "2026-10-21")


def _text_blocks(document: Plain) -> Plain:
    """The document with plain texts converted to text blocks."""
    messages = rows(document.get("messages"))
    for i, message in enumerate(messages):
        if message.get("content") and isinstance(message["content"], str):
            messages[i] = {**message, "content": [{"type": "text", "text": message["content"]}]}
    return {**document, "messages": messages}


def _betas(place: Place) -> Found:
    """Unknown fields, and fields that require a beta header which the request does not have (`field=name`)."""
    fields = [name for name in place.document if name not in place.words]
    known = {word.partition("=")[0] for word in place.words if fields and _has_beta(place, word)}
    return [{"name": name} for name in fields if name not in known]


def _has_beta(place: Place, beta: str) -> bool:
    betas = [name.strip() for name in place.context.headers.get("anthropic-beta", "").split(",")]
    return any(map(re.compile(beta.rpartition("=")[2]).match, betas))


def _marks(value: Any) -> int:
    """The number of blocks with `cache_control`; inputs of calls and schemas of tools are the caller's own JSON."""
    inner = [one for name, one in as_object(value).items() if name not in ("input", "input_schema")]
    return sum(map(_marks, inner + entries(value))) + bool(as_object(value).get("cache_control"))


def _blank(place: Place) -> bool:
    """Whether a text is white space. Models write it before a call, and recorded requests with it were accepted."""
    calls = place.value.get("role") == "assistant" and '"tool_use"' in str(msgspec.json.encode(place.value))
    return not calls and any(not str(block.get("text", "x")).strip() for block in rows(place.value.get("content")))


# --- Gemini ---------------------------------------------------------------------------------------------------------

_CHOSEN = frozenset(
    "args response parameters parametersJsonSchema responseSchema responseJsonSchema labels partMetadata".split()
)
"""Fields whose inner names are the caller's own."""


def _camel(value: Any) -> Any:
    """A document with its names in camelCase; ProtoJSON also accepts snake_case."""
    if isinstance(value, list):
        return [_camel(inner) for inner in cast("Any", value)]
    if not isinstance(value, dict):
        return value
    renamed = {re.sub("(?<=[a-z0-9])_([a-z])", lambda m: m[1].upper(), n): v for n, v in cast("Plain", value).items()}
    return {name: inner if name in _CHOSEN else _camel(inner) for name, inner in renamed.items()}


def _in_camel(document: Plain) -> Plain:
    """The request in camelCase; a token-counting request may contain the whole request."""
    whole: Plain = _camel(document)
    return as_object(whole.get("generateContentRequest")) or whole


def _mixed(place: Place) -> Found:
    names = [name for tool in rows(place.value, place.context.wire) for name in tool]
    hosted = sorted({*names} - {"functionDeclarations"})
    return [{"names": ", ".join(hosted)}] if hosted and "functionDeclarations" in names else []


TESTS: dict[str, Callable[[Place], Found | bool | None]] = {
    **turns.TESTS,
    "needed": lambda p: p.value in (MISSING, None, "", [], {}) and not any(map(p.holder.get, p.words)),
    "notnull": lambda p: not p.given and not any(map(p.holder.get, p.words)),
    "never": lambda p: p.value is not MISSING,
    "absent": lambda p: p.given,
    "with": lambda p: p.given and bool(p.value) and not p.holder.get(p.words[0]),
    "without": lambda p: p.given and p.holder.get(p.words[0]) is not None,
    "min": lambda p: _beyond(p, -1),
    "max": lambda p: _beyond(p, 1),
    "most": lambda p: len(entries(p.value)) > int(p.words[0]),
    "least": lambda p: kind_of(p.value) in ("array", "string") and len(p.value) < int(p.words[0]),
    "like": lambda p: p.given and not re.fullmatch(p.words[0], str(p.value)),
    "named": lambda p: not isinstance(p.value, str) or not re.fullmatch(p.words[0], p.value),
    "in": lambda p: str(p.value if p.given else None) not in p.words,
    "notin": lambda p: str(p.value) in p.words,
    "is": lambda p: kind_of(p.value) not in p.words,
    "keys": _keys,
    "lacks": lambda p: [
        {"name": name, "names": name, "s": ""} for name in p.document if name in p.context.dialect.lacks
    ],
    "unique": _unique,
    "among": _among,
    "oneof": lambda p: [
        {"held": held[1]} for held in [[n for n in p.words if n in as_object(p.value)]] if len(held) > 1
    ],
    "anyof": lambda p: not any(word in as_object(p.value) for word in p.words),
    "entries": lambda p: any(len(name) > 64 or len(str(text)) > 512 for name, text in as_object(p.value).items()),
    "json": lambda p: "json" not in str([p.document.get(word) for word in p.words]).lower(),
    "strict": lambda p: [{"problem": wrong} for wrong in strict(p.value, p.words[0])],
    "header": lambda p: p.words[0] not in p.context.headers,
    "notversion": lambda p: p.context.headers.get("anthropic-version", VERSIONS[0]) not in VERSIONS,
    "newest": lambda p: p.value is not MISSING and p.context.headers.get("anthropic-version") == VERSIONS[-1],
    "manystrict": lambda p: (
        [{"count": n}] if (n := sum(bool(tool.get("strict")) for tool in rows(p.value))) > int(p.words[0]) else []
    ),
    "isnot": lambda p: kind_of(p.value) in ("array", "bool", "number", "string") and p.value not in ("", *p.words),
    "base64": _base64,
    "unreadable": _unreadable,
    "item": lambda p: [] if (kind := as_object(p.value).get("type")) in _ITEMS else [{"value": kind}],
    "fields": _fields,
    "choice": _choice,
    "callid": _call_id,
    "plain": lambda p: isinstance(p.value, list) and p.holder.get("role") in p.context.dialect.plain_text,
    "noreasoning": lambda p: p.context.dialect.reasoning_field not in p.holder and p.given and bool(p.value),
    "alternate": lambda p: any(one.get("role") == two.get("role") == "user" for one, two in pairwise(rows(p.value))),
    "betas": _betas,
    "beta": lambda p: p.given and not _has_beta(p, p.words[0]),
    "marks": lambda p: [{"count": count}] if (count := _marks(p.value)) > int(p.words[0]) else [],
    "empty": lambda p: (
        not p.value.get("content") and (p.value is not p.document["messages"][-1] or p.value.get("role") != "assistant")
    ),
    "first": lambda p: [message.get("role") for message in rows(p.value)[:1]] not in ([], p.words),
    "blank": _blank,
    "mixed": _mixed,
}

_CANONICAL: dict[str, Callable[[Plain], Plain]] = {
    "openai_responses": _typed_items,
    "anthropic_messages": _text_blocks,
    "gemini_generate_content": _in_camel,
}
"""The conversion of a request to the notation of the rules, by wire."""
