"""Requests on their way to a host of the Chat wire: what the rows of the mapping tables do not show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from llm_rest.responses import FunctionCall, FunctionCallOutput, FunctionTool, Request
from llm_rest.vendors.dialects import CHAT_HOSTS, ChatDialect
from llm_rest.vendors.rows import VENDORS
from llm_rest.wires import openai_chat as wire
from tests.wires.openai_chat import OPENAI, sent

PAGE = Path(__file__).parents[3] / "docs" / "wires" / "openai_chat.md"


def test_messages_come_last_in_the_body_so_that_a_longer_conversation_begins_with_the_same_bytes() -> None:
    """BUGS 81"""
    request = Request(model="m", input="Hi", tools=[FunctionTool(name="f")], temperature=0.5, max_output_tokens=9)
    assert [*sent(request)[0]][-1] == "messages"


def test_mistral_takes_call_ids_of_nine_letters_and_digits() -> None:
    """chat.request.48 and BUGS 34"""

    def ids(*given: str) -> list[str]:
        items = [item(id) for id in given for item in (_call, _output)]
        messages = sent(Request(model="m", input=[*items]), CHAT_HOSTS["mistral"])[0]["messages"]
        calls = [call["id"] for message in messages for call in message.get("tool_calls", ())]
        assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == calls
        return calls

    fitted, other = ids("call_x|fc_y", "call_x|fc_z")
    assert re.fullmatch("[a-zA-Z0-9]{9}", fitted)
    assert fitted != other
    assert ids(fitted) == [fitted]


def _call(id: str) -> FunctionCall:
    return FunctionCall(call_id=id, name="f", arguments="{}")


def _output(id: str) -> FunctionCallOutput:
    return FunctionCallOutput(call_id=id, output="4")


@pytest.mark.parametrize(
    ("dialect", "path"),
    [
        (OPENAI, "/chat/completions"),
        (CHAT_HOSTS["ollama"], "/v1/chat/completions"),
        (ChatDialect(path="/d/{model}"), "/d/a%2Fb"),
    ],
)
def test_the_route_is_a_fact_of_the_host(dialect: ChatDialect, path: str) -> None:
    assert wire.route(Request(model="a/b"), dialect=dialect, stream=True).path == path


# --- hosts ----------------------------------------------------------------------------------------------------------


def test_every_issuer_is_the_host_itself() -> None:
    """BUGS 11"""
    assert {host for host, dialect in CHAT_HOSTS.items() if dialect.issuer != host} == set()


def test_every_host_has_a_row_and_every_vendor_of_this_wire_is_a_host() -> None:
    rows = re.findall(r"^\| chat\.dialect\.(\w+) \|", PAGE.read_text(), re.MULTILINE)
    assert rows == [*CHAT_HOSTS]
    speakers = {name for name, vendor in VENDORS.items() if "openai_chat" in vendor.wires}
    assert speakers - CHAT_HOSTS.keys() <= {"simulator"}
