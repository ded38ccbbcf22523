"""A client of the Messages wire that did not ask for thinking gets an answer that begins with its text, whoever answers."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from llm_rest import wires
from llm_rest.responses import FunctionCall, Message, OutputText, Reasoning, Request, Response, WebSearchCall
from llm_rest.responses.items import Search
from llm_rest.responses.parts import SummaryText
from llm_rest.responses.stream import disassemble
from llm_rest.server.handler import Context, HandlerEvent
from tests.gateway.upstreams import Echo, before, events_of, question

SIGNATURE = "c2lnbmF0dXJl"
ASKED = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4000}
UNASKED: list[dict[str, Any]] = [{}, {"thinking": {"type": "disabled"}}, {"output_config": {"effort": "high"}}]


def text(said: str) -> Message:
    return Message(id="msg_1", role="assistant", status="completed", content=[OutputText(text=said, annotations=[])])


OPENAI = Reasoning(id="rs_1", summary=[], encrypted_content="gAAAA-opaque")
SHOWN = Reasoning(id="rs_1", summary=[SummaryText(text="Hm.")], encrypted_content="gAAAA-opaque")
SEARCH = WebSearchCall(id="ws_1", status="completed", action=Search(query="x"))
CALL = FunctionCall(id="fc_1", call_id="c1", name="f", arguments="{}", status="completed")


class Vendor(Echo):
    """A vendor that answers with these items."""

    def __init__(self, *items: Any) -> None:
        super().__init__()
        self.items = items

    async def answer(self, request: Request, context: Context) -> Response:
        await super().answer(request, context)
        return Response(id="resp_1", created_at=1, status="completed", model=request.model or "", output=[*self.items])

    async def stream(self, request: Request, context: Context) -> AsyncGenerator[HandlerEvent]:
        yield disassemble(await self.answer(request, context))


def content(answer: Any) -> list[dict[str, Any]]:
    """The blocks of an answer, whole or streamed, as a client sends them back."""
    assert answer.status_code == 200, answer.text
    if answer.headers["content-type"] == "application/json":
        return list(answer.json()["content"])
    blocks: list[dict[str, Any]] = []
    for event in events_of(answer.text):
        if event["type"] == "content_block_start":
            blocks.append(event["content_block"])
        elif event["type"] == "content_block_delta":
            for name, value in event["delta"].items():
                if name != "type":
                    name = "input" if name == "partial_json" else name
                    before = blocks[-1].get(name) or ""
                    blocks[-1][name] = (before if isinstance(before, str) else "") + value
    for block in blocks:
        if isinstance(block.get("input"), str):
            block["input"] = json.loads(block["input"])
    return blocks


def ask(http: Any, *turns: Any, stream: bool, **fields: Any) -> list[dict[str, Any]]:
    path, document = question("anthropic_messages", "m", "Hi", stream=stream, **fields)
    document["messages"] += turns
    return content(http.post(path, json=document))


def kinds(blocks: list[dict[str, Any]]) -> list[str]:
    return [block["type"] for block in blocks]


each_way = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
CASES: dict[str, tuple[list[Any], list[str], list[str]]] = {
    "encrypted reasoning": ([OPENAI, text("Yo")], ["text"], ["redacted_thinking", "text"]),
    "a summary": ([SHOWN, text("Yo")], ["text"], ["thinking", "text"]),
    "a search": ([SEARCH, text("Yo")], ["text"], ["redacted_thinking", "text"]),
    "before a call": ([OPENAI, CALL], ["tool_use"], ["redacted_thinking", "tool_use"]),
    "behind the text": ([text("Yo"), OPENAI], ["text"], ["text"]),
    "between text and call": (
        [text("Yo"), OPENAI, CALL],
        ["text", "tool_use"],
        ["text", "redacted_thinking", "tool_use"],
    ),
    "nothing but state": ([OPENAI], [], ["redacted_thinking"]),
}


@each_way
@pytest.mark.parametrize("case", CASES)
def test_only_who_asks_for_thinking_gets_blocks_of_thinking(case: str, stream: bool) -> None:
    """And the last block is what the model said: `claude -p` prints that one."""
    items, plainly, thinking = CASES[case]
    vendor = Vendor(*items)
    with before(vendor, wire="openai_responses") as http:
        for fields in UNASKED:
            assert kinds(ask(http, stream=stream, **fields)) == plainly, fields
        assert kinds(ask(http, stream=stream, **ASKED)) == thinking


FOLLOWED = [case for case, (items, *_) in CASES.items() if items[-1] is not OPENAI]
"""OpenAI takes no reasoning that nothing follows."""


@each_way
@pytest.mark.parametrize("fields", [{}, ASKED], ids=["unasked", "asked"])
@pytest.mark.parametrize("case", FOLLOWED)
def test_what_the_client_did_not_get_returns_to_the_vendor_with_its_turn(
    case: str, fields: dict[str, Any], stream: bool
) -> None:
    items, *_ = CASES[case]
    vendor = Vendor(*items)
    with before(vendor, wire="openai_responses") as http:
        blocks = ask(http, stream=stream, **fields)
        result = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": "4"} for block in blocks if "id" in block
        ]
        said = [*result, {"type": "text", "text": "And?"}]
        ask(http, {"role": "assistant", "content": blocks}, {"role": "user", "content": said}, stream=stream, **fields)
    sent = vendor.body["input"]
    expected = [item.type for item in items]
    assert [item.get("type", "message") for item in sent][1 : 1 + len(items)] == expected
    assert "gAAAA-opaque" in json.dumps(sent) or OPENAI not in items


GEMINI = wires.load("gemini_generate_content")
PARTS: dict[str, list[dict[str, Any]]] = {
    "on the text": [{"text": "Yo", "thoughtSignature": SIGNATURE}],
    "on nothing": [{"text": "Yo"}, {"text": "", "thoughtSignature": SIGNATURE}],
    "before a call": [{"text": "Yo"}, {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": SIGNATURE}],
    "on a text before a call": [
        {"text": "Yo", "thoughtSignature": SIGNATURE},
        {"functionCall": {"name": "f", "args": {}}},
    ],
}


@each_way
@pytest.mark.parametrize("fields", [{}, ASKED], ids=["unasked", "asked"])
@pytest.mark.parametrize("case", PARTS)
def test_gemini_gets_the_signature_of_its_text_again(case: str, fields: dict[str, Any], stream: bool) -> None:
    """`message.content[0].text` works, as in every example of the SDK, and the last block is no thinking."""
    answer = {"candidates": [{"content": {"role": "model", "parts": PARTS[case]}, "finishReason": "STOP", "index": 0}]}
    response, _ = GEMINI.decode_response(GEMINI.RESPONSE.decode(json.dumps(answer).encode()))
    vendor = Vendor(*response.output)
    with before(vendor, model="simulator/gemini-3-pro-preview", wire="gemini_generate_content") as http:
        blocks = ask(http, stream=stream, **fields)
        assert (blocks[0]["type"], blocks[0].get("text")) == ("text", "Yo")
        assert blocks[-1]["type"] in ("text", "tool_use")
        assert fields or "redacted_thinking" not in kinds(blocks)
        calls = [block for block in blocks if block["type"] == "tool_use"]
        said = [{"type": "tool_result", "tool_use_id": call["id"], "content": "4"} for call in calls]
        more = [{"role": "assistant", "content": blocks}, {"role": "user", "content": said or "And?"}]
        ask(http, *more, stream=stream, **fields)
    assert json.dumps(vendor.body["contents"][1]).count(SIGNATURE) == 1


@each_way
def test_the_simulated_gemini_serves_the_first_line_of_every_example(http: Any, stream: bool) -> None:
    path, document = question("anthropic_messages", "gemini_generate_content", "say Hi.", stream=stream)
    assert content(http.post(path, json=document)) == [{"type": "text", "text": "Hi."}]
