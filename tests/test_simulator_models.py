"""The simulator as each vendor: it refuses what the model table lists, and `check` finds it before."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from msgspec import Struct
from msgspec.structs import replace

from llm_rest import Client
from llm_rest.errors import BadRequestError, CapabilityError
from llm_rest.responses import FunctionCallOutput, FunctionTool, Message, Request
from llm_rest.simulator import handle
from llm_rest.vendors.dialects import REFUSALS
from llm_rest.vendors.models import ROWS, Capabilities, capabilities, check
from llm_rest.vendors.rows import VENDORS, Vendor
from tests.support import WHOLE

SIMULATOR = "inproc:llm_rest.simulator"


def simulated(name: str) -> Vendor:
    """The vendor, with the simulator of this process behind its name."""
    row = VENDORS[name]
    also = tuple(replace(surface, base_url=None) for surface in row.other_wires)
    return replace(row, base_url=f"{SIMULATOR}/{name}", other_wires=also)


class Model(NamedTuple):
    """A model of the table, at a vendor, on one of its wires."""

    name: str
    vendor: str
    wire: str

    def client(self, **options: Any) -> Client:
        """A client of the simulator as that vendor; every loss is an error."""
        options = {"on_loss": "raise", **options}
        return Client(self.name, vendor=simulated(self.vendor), wire=self.wire, api_key="any", **options)

    def refuses(self, request: Request) -> list[str]:
        """The paths of the problems of a request, according to the table."""
        known = capabilities(self.name, self.vendor)
        return [problem.path for problem in check(request, known, self.wire)]


def models() -> Iterator[Model]:
    """Every row of the table at every vendor that it names and on each wire; of rows with equal facts the first."""
    seen: list[tuple[Capabilities, str, str]] = []
    for row in ROWS:
        for vendor in ("openrouter",) if row.at is None else filter(None, row.at):
            for wire in VENDORS[vendor].wires:
                known = (replace(row.facts, source=""), vendor, wire)
                if WHOLE or known not in seen:
                    seen.append(known)
                    yield Model(row.prefix or "some-model", vendor, wire)


class City(Struct):
    """A typed answer."""

    name: str


OFFERED = FunctionTool(name="weather", parameters={"type": "object", "properties": {}}, strict=False)


def test_every_model_takes_what_the_table_lists_and_no_more() -> None:
    """Default calls, calls with tools, typed calls and two turns with a tool, for every model of the table at its vendors."""
    done: Counter[str] = Counter()
    for model in models():
        with model.client() as llm:
            assert llm.generate("hi").output_text == "hi", model
            assert llm.generate_json('json {"name": "Oslo"}', City) == City("Oslo"), model
            if model.refuses(Request(input="hi", tools=[OFFERED])):
                with pytest.raises(CapabilityError):
                    llm.generate("hi", tools=[OFFERED])
                done["refused"] += 1
            else:
                said: list[Any] = [Message(role="user", content="hi")]
                first = llm.generate(said, tools=[OFFERED])
                outputs = [FunctionCallOutput(call_id=call.call_id, output="4") for call in first.function_calls]
                last = llm.generate([*said, *first.output, *outputs], tools=[OFFERED])
                assert last.output_text == "weather said: 4", model
                done["with tools"] += 1
    assert done["with tools"] > 120
    assert done["refused"] > 10


# --- refusals -------------------------------------------------------------------------------------------------------

INCLUDED: dict[str, Any] = {"include": ["reasoning.encrypted_content"]}
TOOLS: dict[str, Any] = {"tools": [OFFERED]}
LOW: dict[str, Any] = {"reasoning": {"effort": "low"}}
RESPONSES, CHAT, GEMINI = "openai_responses", "openai_chat", "gemini_generate_content"

REFUSED = [
    ("encrypted_reasoning", Model("gpt-4o", "openai", RESPONSES), INCLUDED, "include"),
    ("encrypted_reasoning", Model("gpt-5-chat-latest", "openai", RESPONSES), INCLUDED, "include"),
    ("chat_tools", Model("gpt-5.4", "openai", CHAT), {**TOOLS, **LOW}, "reasoning.effort"),
    ("chat_tools", Model("gpt-5.6-terra", "openai", CHAT), TOOLS, "reasoning.effort"),
    ("chat_tools", Model("gpt-6-sol", "openai", CHAT), TOOLS, "reasoning.effort"),
    ("chat_tools", Model("gpt-6-astra", "openai", CHAT), TOOLS, "tools"),
    ("chat_tools", Model("gpt-6.2-sol", "openai", CHAT), TOOLS, "tools"),
    ("instructions", Model("gemma-3-27b-it", "google", GEMINI), {"instructions": "Be brief."}, "instructions"),
    ("tools", Model("gemma-3-27b-it", "google", GEMINI), TOOLS, "tools"),
]
"""What `check` and the simulator refuse alike: the fact, the model, the options, and the path of the problem."""


def words(fact: str, **names: Any) -> str:
    return REFUSALS[fact].message.format(**names)


@pytest.mark.parametrize(("fact", "model", "options", "path"), REFUSED)
def test_what_a_vendor_refuses_is_a_problem_before_it_is_sent_and_its_error_after(
    fact: str, model: Model, options: dict[str, Any], path: str
) -> None:
    with model.client(on_loss="ignore") as llm:
        with pytest.raises(CapabilityError) as before:
            llm.generate("hi", **options)
        assert f"{path}: " in before.value.message
        if fact != "encrypted_reasoning":
            with pytest.raises(BadRequestError) as after:
                llm.generate("hi", **options, invalid_options="send")
            assert after.value.message == words(fact, model=model.name)
        reply = llm.generate("hi", **options, invalid_options="drop")
        assert reply.output_text or reply.function_calls
        assert path in [loss.path for loss in reply.info.losses]


@pytest.mark.parametrize(
    "model",
    [
        Model("gpt-4.1", "openai", RESPONSES),
        Model("gpt-4o", "openai", CHAT),
        Model("gemini-2.5-flash", "google", GEMINI),
    ],
)
@pytest.mark.parametrize(("outside", "nearest"), [(2.5, 2), (-1, 0)])
def test_a_temperature_outside_the_range_is_a_problem_before_it_is_sent_and_an_error_after(
    model: Model, outside: float, nearest: float
) -> None:
    with model.client(on_loss="ignore") as llm:
        with pytest.raises(CapabilityError, match="a temperature from 0 to 2"):
            llm.generate("hi", temperature=outside)
        with pytest.raises(BadRequestError, match=str(outside)):
            llm.generate("hi", temperature=outside, invalid_options="send")
        losses = llm.generate("hi", temperature=outside, invalid_options="drop").info.losses
        assert [(loss.path, loss.kind) for loss in losses] == [("temperature", "changed")]
        assert not llm.generate("hi", temperature=nearest).info.losses


def post(path: str, body: dict[str, Any], status: int = 200) -> Any:
    """The simulator's answer; of an error its message."""
    answer = handle("POST", path, {}, json.dumps(body).encode())
    document = json.loads(answer.body)
    assert answer.status == status, document
    return document if status == 200 else document["error"]["message"]


THOUGHT = {"role": "user", "content": "reason Hm.\nsay Yes."}
NEXT = {"role": "user", "content": "hi"}


@pytest.mark.parametrize("vendor", ["openai", "azure_openai", "meta"])
@pytest.mark.parametrize(
    ("fields", "fact"),
    [
        ({"status": "completed"}, "reasoning_status"),
        ({"status": None}, "reasoning_status"),
        ({"content": [{"type": "reasoning_text", "text": "Hm."}]}, "reasoning_content"),
        ({"content": []}, ""),
        ({"content": None}, ""),
        ({}, ""),
    ],
)
def test_reasoning_goes_back_to_openai_and_azure_without_status_and_content(
    vendor: str, fields: dict[str, Any], fact: str
) -> None:
    path = f"/{vendor}/responses"
    said = post(path, {"model": "gpt-5", "input": [THOUGHT]})["output"]
    said[0] |= fields
    body = {"model": "gpt-5", "input": [THOUGHT, *said, NEXT]}
    if fact and vendor != "meta":
        assert post(path, body, 400) == words(fact, path="input[1]", length=1)
    else:
        post(path, body)
    # The client leaves out what would be refused.
    with Model("gpt-5", vendor, RESPONSES).client(on_loss="ignore") as llm:
        assert llm.generate(body["input"]).output_text == "hi"


def long(tokens: int, **fields: Any) -> dict[str, Any]:
    contents = [{"role": "user", "parts": [{"text": "hi"}]}]
    return {"contents": contents, "generationConfig": {"maxOutputTokens": tokens}, **fields}


def returned(details: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "Yes.", "reasoning_details": details}
    return {"model": "m", "messages": [NEXT, said, NEXT]}


GEMINI_4 = "/google/v1beta/models/gemini-4-neon"
WHOLE_OUTPUT = words("whole_output", limit=32_768)
MINIMAL = {"model": "gpt-6-astra", "input": "hi", "reasoning": {"effort": "minimal"}}
COLD = {"model": "gpt-5", "input": "hi", "temperature": 0.2}


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/openrouter/chat/completions", returned(None), ""),
        ("/openrouter/chat/completions", returned([]), words("empty_details", path="messages.[1]")),
        ("/minimax/chat/completions", returned([]), ""),
        (f"{GEMINI_4}:generateContent", long(32_769), WHOLE_OUTPUT),
        (f"{GEMINI_4}:generateContent", long(32_769, continuationToken="t"), ""),
        (f"{GEMINI_4}:generateContent", long(32_768), ""),
        ("/google/v1beta/models/gemini-3.8-flash:generateContent", long(32_769), ""),
        # with the message of `check` where that of the vendor is unknown
        ("/openai/responses", MINIMAL, "'minimal' is not supported by this model; it supports low, medium"),
        ("/v1/responses", COLD, "temperature is not supported"),
        ("/groq/responses", COLD, ""),
    ],
)
def test_a_host_refuses_what_its_models_do_not_take(path: str, body: dict[str, Any], message: str) -> None:
    assert message in str(post(path, body, 400 if message else 200))
    if message == WHOLE_OUTPUT:
        streamed = path.replace("generateContent", "streamGenerateContent?alt=sse")
        assert handle("POST", streamed, {}, json.dumps(body).encode()).status == 200


def test_a_refusal_has_the_text_of_the_vendor_and_its_source() -> None:
    assert all(refusal.message and "2026" in refusal.source for refusal in REFUSALS.values())


def test_sampling_options_that_gemini_4_ignores_are_a_loss_and_no_error() -> None:
    with Model("gemini-4-argon", "google", GEMINI).client(on_loss="ignore") as llm:
        reply = llm.generate("hi", temperature=0.5, top_p=0.5, top_k=3)
    assert reply.output_text == "hi"
    assert {loss.path for loss in reply.info.losses} == {"temperature", "top_p", "top_k"}
