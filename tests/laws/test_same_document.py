"""A document goes back as it came, whatever the model is called in between, and with any one option edited: the law of notes.

A gateway decodes a request under the name that its client knows and encodes it for the model that was meant; a program edits an
option of what it decoded. What was noted of the document stands where the option it belongs to is unchanged, or a loss names it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from llm_rest import wires
from llm_rest.responses import FunctionTool, JsonObjectFormat, ReasoningOptions, Request, TextOptions
from tests.corpus import Exchange, exchanges, file_of
from tests.corpus.canonical import canonical
from tests.corpus.changed import written
from tests.support import WIRES
from tests.support.facts import plain, unaccounted
from tests.wires.rows import cases, opened, options_of

Plain = dict[str, Any]

NAMES = {
    "anthropic_messages": ("fast", "claude-opus-4-1", "claude-sonnet-4-6", "claude-opus-5-5"),
    "gemini_generate_content": ("fast", "gemini-2.0-flash", "gemini-2.5-pro", "gemini-3-pro-preview"),
}
"""Names under which a document is decoded: an alias, and models of other capabilities than the one that was meant."""

MEANT = {
    "anthropic_messages": ("claude-haiku-4-5", "claude-sonnet-4-6", "claude-opus-5-5", "kimi-k3"),
    "gemini_generate_content": ("gemini-2.5-flash", "gemini-2.0-flash", "gemini-4-neon"),
}
"""Models that a document of our own is meant for; those of recordings are in the recordings."""


MODEL = re.compile(r"(new: )?model: ")


class Document(NamedTuple):
    """A body with the facts of its host, and the model in its URL."""

    id: str
    wire: str
    body: Plain
    dialect: Any
    model: str | None


def documents(name: str) -> Iterator[Document]:
    """Recorded requests, those of the laws, and those of the mapping rows."""
    recorded: tuple[Exchange, ...] = exchanges(name) if file_of(name).exists() else ()
    for exchange in (*recorded, *written(name)):
        if exchange.question:
            yield Document(
                exchange.id, name, json.loads(exchange.question), exchange.dialect, exchange.model or "gemini-2.5-flash"
            )
    for case in cases(name):
        if case.has("body") and case.way in ("decode", "edit", "request"):
            body, own = opened(case.document("body")), options_of(case)
            for model in MEANT.get(name, ("some-model",)):
                named = body if name == "gemini_generate_content" else {**body, "model": model}
                yield Document(f"{case} {model}", name, named, own["dialect"], model)


def decoded(document: Document, name: str | None = None) -> Any:
    """The request of a document, under another name of its model if there is one."""
    wire, body = wires.load(document.wire), document.body
    if name is not None and "model" in body:
        body = {**body, "model": name}
    model = name if name is not None and "model" not in body else document.model
    read = wire.REQUEST.decode(json.dumps(body).encode())
    return wire.decode_request(read, dialect=document.dialect, model=model)


def encoded(document: Document, request: Request) -> Any:
    body, lost = wires.load(document.wire).encode_request(request, dialect=document.dialect)
    return canonical(plain(body), document.wire, "request"), lost


def differences(before: Any, after: Any, lost: Any) -> list[str]:
    return [*unaccounted(before, after, lost), *(f"new: {each}" for each in unaccounted(after, before, lost))]


@pytest.mark.parametrize("name", WIRES)
def test_a_document_decoded_under_another_name_is_sent_as_it_came(name: str) -> None:
    found: list[str] = []
    for document in documents(name):
        request, _ = decoded(document)
        before, _ = encoded(document, request)
        for other in NAMES.get(name, ("fast", "gpt-5.2", "gpt-4.1")):
            renamed, lost = decoded(document, other)
            after, more = encoded(document, replace(renamed, model=request.model))
            changes = differences(before, after, [*lost, *more])
            found += [f"{document.id} as {other}: {each}" for each in changes if not MODEL.match(each)]
    assert found == []


# --- one option edited ----------------------------------------------------------------------------------------------


def effort(request: Request, value: str) -> Request:
    return replace(request, reasoning=replace(request.reasoning or ReasoningOptions(), effort=value))


def summary(request: Request, value: str) -> Request:
    return replace(request, reasoning=replace(request.reasoning or ReasoningOptions(), summary=value))


def text(request: Request, **fields: Any) -> Request:
    return replace(request, text=replace(request.text or TextOptions(), **fields))


MORE = FunctionTool(name="one_more_tool", parameters={"type": "object", "properties": {}})

EDITS: dict[str, tuple[Any, str]] = {
    "a longer answer": (lambda r: replace(r, max_output_tokens=70_000), r"max_?\w*tokens|num_predict"),
    "a shorter answer": (lambda r: replace(r, max_output_tokens=300), r"max_?\w*tokens|num_predict"),
    "temperature": (lambda r: replace(r, temperature=1.0), "temperature"),
    "top_p": (lambda r: replace(r, top_p=0.97), r"top_?p"),
    "effort": (
        lambda r: effort(r, "low"),
        r"thinking\.(type|budget)|effort|thinking(Level|Budget)|think(ing)?$|reasoning",
    ),
    "summary": (lambda r: summary(r, "auto"), r"summary|display|thoughts|include_reasoning|reasoning|think"),
    "one more tool": (lambda r: replace(r, tools=[*(r.tools or ()), MORE]), "^tools|^functions|toolConfig"),
    "instructions": (lambda r: replace(r, instructions="Be brief."), r"system|instructions|^messages"),
    "stop": (lambda r: replace(r, stop=["END"]), "stop"),
    "tool_choice": (
        lambda r: replace(r, tool_choice="auto"),
        r"tool_?choice|functionCallingConfig|^function_call|^thinking",
    ),
    "parallel_tool_calls": (lambda r: replace(r, parallel_tool_calls=False), r"parallel|^tool_choice"),
    "seed": (lambda r: replace(r, seed=5), "seed"),
    "user": (lambda r: replace(r, safety_identifier="u"), "user|safety_identifier"),
    "metadata": (lambda r: replace(r, metadata={"a": "b"}), "metadata|labels"),
    "store": (lambda r: replace(r, store=True), "store"),
    "service_tier": (lambda r: replace(r, service_tier="flex"), "service_?tier|speed"),
    "stream": (lambda r: replace(r, stream=True), "stream"),
    "verbosity": (lambda r: text(r, verbosity="low"), "verbosity"),
    "format": (lambda r: text(r, format=JsonObjectFormat()), r"format|response|system|schema|^messages|instructions"),
}
"""An edit of one option, and the fields of documents that are about it."""


@pytest.mark.parametrize("name", WIRES)
def test_an_edited_option_changes_nothing_else(name: str) -> None:
    found: list[str] = []
    seen: set[str] = set()
    for document in documents(name):
        options = json.dumps({**document.body, "messages": 0, "contents": 0, "input": 0, "system": 0}, sort_keys=True)
        if options in seen:
            continue
        seen.add(options)
        request, _ = decoded(document)
        before, known = encoded(document, request)
        for what, (edit, own) in EDITS.items():
            after, lost = encoded(document, edit(request))
            for each in differences(before, after, [*lost, *known]):
                place = each.removeprefix("new: ").partition(": ")[0]
                if not re.search(own, place, re.IGNORECASE) and not each.endswith((": {}", ": null")):
                    found.append(f"{document.id}, {what}: {each}")
    assert found == []
