"""One schema goes in, and each wire's vendor gets what it takes of it: said with every change, and forbidding no right answer."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec
from hypothesis import example, given, settings

from llm_rest.client.call import PreparedCall
from llm_rest.client.client import Client
from llm_rest.client.options import settings_of
from llm_rest.client.structured import Output
from llm_rest.client.target import Targets
from llm_rest.client.typed import choose_way
from llm_rest.errors import SchemaMismatchError
from llm_rest.responses import Request
from llm_rest.simulator.refusals import strict
from llm_rest.tools.schema import problems, unchecked
from tests.laws.harness import every_wire
from tests.structured.schemas import Pair, fitting
from tests.support import WHOLE

PLACES = {
    "openai_responses": ("text", "format", "schema"),
    "openai_chat": ("response_format", "json_schema", "schema"),
    "anthropic_messages": ("output_config", "format", "schema"),
    "gemini_generate_content": ("generationConfig", "responseJsonSchema"),
    "ollama_chat": ("format",),
}
"""Where each wire has the schema of the answer."""


@cache
def target(wire: str) -> Any:
    where = Targets("simulator/simulator", api_key=None, base_url=None, wire=wire, vendor=None, provider=None)
    return where.find("simulator/simulator")


def native(wire: str, schema: dict[str, Any]) -> tuple[Any, list[str]] | None:
    """The schema as it is sent where the wire can be held to it, and the paths of what was changed."""
    there = target(wire)
    way = choose_way(Output(schema), PreparedCall(there, settings_of({}), Request(model="m", input="x"), []))
    if way.strategy != "native":
        return None
    body, lost = there.wire.encode_request(way.request, dialect=there.dialect)
    found = msgspec.json.decode(msgspec.json.encode(body))
    for step in PLACES[wire]:
        found = found[step]
    return found, [loss.path for loss in [*way.lost, *lost] if loss.path.startswith("text.format")]


def filled(value: Any, schema: Any, root: Any) -> Any:
    """The value with a null for every property that the schema requires and the value lacks: how strict hosts answer."""
    if isinstance(schema, bool):
        return value
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    for arm in schema.get("anyOf", ()):
        tried = filled(value, arm, root)
        if not problems({**arm, "$defs": root.get("$defs", {})}, tried):
            return tried
    if isinstance(value, list):
        listed = schema.get("prefixItems", [])
        rest = [schema.get("items", {})] * len(value)
        return [filled(one, inner, root) for one, inner in zip(value, [*listed, *rest], strict=False)]
    if isinstance(value, dict) and "properties" in schema:
        missing = dict.fromkeys(name for name in schema.get("required", ()) if name not in value)
        return {
            **{name: filled(one, schema["properties"].get(name, {}), root) for name, one in value.items()},
            **missing,
        }
    return value


@every_wire
@settings(max_examples=200 if WHOLE else 50)
@given(pair=fitting())
@example(pair=({"type": "integer", "exclusiveMinimum": 2}, 3))
def test_what_is_sent_forbids_no_right_answer(name: str, pair: Pair) -> None:
    schema, value = pair
    output = Output[Any](schema)
    before = copy.deepcopy(schema)
    sent = native(name, schema)
    assert schema == before, "the schema of the caller was changed"
    if sent is None:
        return
    answer = {"value": value} if output.wraps else value
    answer = filled(answer, sent[0], sent[0])
    if name == "gemini_generate_content":
        # There `oneOf` is the same as `anyOf`, says its guide.
        sent = msgspec.json.decode(msgspec.json.encode(sent).replace(b'"oneOf":', b'"anyOf":'))
    assert problems(sent[0], answer) == []
    # Where null and nothing are both allowed, what a strict host answers for nothing is null.
    assert without_nulls(output.value(msgspec.json.encode(answer).decode())[0]) == without_nulls(value)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(one) for name, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


@every_wire
@settings(max_examples=100 if WHOLE else 25)
@given(pair=fitting())
def test_every_change_is_told(name: str, pair: Pair) -> None:
    sent = native(name, pair[0])
    if sent is not None:
        places = list(changes(Output(pair[0]).sent_schema, sent[0], "text.format.schema"))
        # A change is told where it is, below, or at the schema that was put into another one.
        told = [place for place in places if any(path.startswith(place) or place.startswith(path) for path in sent[1])]
        assert told == places


def inside(schema: dict[str, Any]) -> dict[str, Any]:
    """The schemas directly inside one, by their places."""
    found = {f".{word}": schema[word] for word in ("items", "additionalProperties", "not") if word in schema}
    for word in ("anyOf", "oneOf", "allOf", "prefixItems"):
        found |= {f".{word}[{i}]": one for i, one in enumerate(schema.get(word, ()))}
    for word in ("properties", "patternProperties", "$defs"):
        found |= {f".{word}.{name}": one for name, one in schema.get(word, {}).items()}
    return found


def changes(asked: Any, sent: Any, path: str) -> Iterator[str]:
    """The places of the schemas that are not sent as they were asked, whatever is inside them."""
    if not isinstance(asked, dict) or not isinstance(sent, dict):
        if asked != sent:
            yield path
        return
    one, other = inside(asked), inside(sent)
    holders = {place.lstrip(".").split(".")[0].split("[")[0] for place in (*one, *other)} | {"required", "properties"}
    alone = [{word: value for word, value in schema.items() if word not in holders} for schema in (asked, sent)]
    if alone[0] != alone[1] or list(one) != list(other) or asked.get("required", []) != sent.get("required", []):
        yield path
    for place in one.keys() & other.keys():
        yield from changes(one[place], other[place], f"{path}{place}")


@settings(max_examples=200 if WHOLE else 50)
@given(fitting())
def test_vendors_take_what_is_sent(pair: Pair) -> None:
    """BUGS 51 and 52"""
    anthropic = native("anthropic_messages", pair[0])
    if anthropic is not None:
        assert list(strict(anthropic[0], "anthropic")) == []
    responses = native("openai_responses", pair[0])
    if responses is not None and "text.format.strict" not in responses[1]:
        assert list(strict(responses[0], "openai")) == []


@every_wire
@given(pair=fitting())
def test_no_vendor_refuses_what_is_asked(name: str, pair: Pair) -> None:
    # That a keyword is not checked here is a loss, and no reason to refuse the schema.
    on_loss: Any = "ignore" if unchecked(pair[0]) else "raise"
    with Client("simulator/simulator", wire=name, on_loss=on_loss) as llm, suppress(SchemaMismatchError):
        llm.generate("Hi", output=pair[0], max_repairs=0)
