"""Events and the response they tell: there and back, cut short, and as hosts really send them."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.responses import events as ev
from llm_rest.responses.events import EVENT, TERMINAL
from llm_rest.responses.response import RESPONSE
from llm_rest.responses.stream import Assembler, disassemble
from tests.support.legal import faults
from tests.support.streams import assembled

EVERYTHING = RESPONSE.decode(
    b"""{"id":"resp_1","object":"response","status":"completed","model":"m","output":[
    {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],
     "content":[{"type":"reasoning_text","text":"raw"}],"encrypted_content":"xyz"},
    {"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[
      {"type":"output_text","text":"hi","annotations":[{"type":"url_citation","url":"https://a","title":"A"}],
       "logprobs":[{"token":"hi","logprob":-0.1}]},{"type":"refusal","refusal":"no"}]},
    {"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{\\"a\\":1}","status":"completed"},
    {"type":"custom_tool_call","id":"ctc_1","call_id":"c2","name":"g","input":"text"},
    {"type":"mcp_call","id":"mcp_1","server_label":"s","name":"h","arguments":"{}","output":"1"},
    {"type":"mcp_list_tools","id":"mcpl_1","server_label":"s","tools":[]},
    {"type":"code_interpreter_call","id":"ci_1","code":"1+1","container_id":"k","outputs":null,"status":"completed"},
    {"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}},
    {"type":"image_generation_call","id":"ig_1","status":"completed","result":"AAAA"},
    {"type":"compaction","id":"cmp_1","encrypted_content":"zzz"},
    {"type":"something_new","id":"x_1","field":1}],
    "usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}"""
)

OUTPUT: list[Any] = EVERYTHING.output


def test_a_response_told_in_events_comes_back() -> None:
    events = disassemble(EVERYTHING)
    assert faults(events) == []
    assert assembled(events) == EVERYTHING


def test_the_deltas_alone_tell_what_was_said() -> None:
    """Without any `done` every item is there, and none looks finished."""
    done = (ev.OutputItemDone, ev.ContentPartDone, ev.OutputTextDone, ev.FunctionCallArgumentsDone, *TERMINAL)
    response = assembled([event for event in disassemble(EVERYTHING) if not isinstance(event, done)])
    assert response.status == "in_progress"
    told: list[Any] = response.output
    reasoning, message, call = told[:3]
    assert [part.text for part in reasoning.summary] == ["a", "b"]
    assert message.content == OUTPUT[1].content
    assert call.arguments == '{"a":1}'
    assert {getattr(item, "status", "incomplete") for item in response.output} == {"incomplete"}


def test_a_call_that_was_cut_is_incomplete() -> None:
    """BUGS 28"""
    events = disassemble(EVERYTHING)
    cut = next(i for i, event in enumerate(events) if isinstance(event, ev.FunctionCallArgumentsDone))
    call: Any = assembled(events[:cut]).output[2]
    assert (call.name, call.arguments, call.status) == ("f", '{"a":1}', "incomplete")


@pytest.mark.parametrize(
    ("lines", "output"),
    [
        pytest.param(
            [
                b'{"type":"response.output_text.delta","item_id":"a","output_index":0,"content_index":0,"delta":"x"}',
                b'{"type":"response.output_text.delta","item_id":"b","output_index":0,"content_index":0,"delta":"y"}',
            ],
            b'[{"type":"message","status":"incomplete","role":"assistant","content":'
            b'[{"type":"output_text","text":"xy","annotations":[]}]}]',
            id="an item nobody announced, under a new id in every event",
        ),
        pytest.param(
            [
                b'{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c",'
                b'"name":"f","arguments":""}}',
                b'{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{}"}',
            ],
            b'[{"type":"function_call","status":"incomplete","call_id":"c","name":"f","arguments":"{}"}]',
            id="arguments without deltas",
        ),
        pytest.param(
            [b'{"type":"response.output_item.done","output_index":0,"item":{"type":"new_kind","a":1}}'],
            b'[{"type":"new_kind","a":1}]',
            id="only the end of an item of an unknown kind",
        ),
        pytest.param(
            [
                b'{"type":"response.reasoning.delta","output_index":0,"content_index":0,"delta":"h"}',
                b'{"type":"response.reasoning.done","output_index":0,"content_index":0,"text":"hm"}',
            ],
            b'[{"type":"reasoning","status":"incomplete","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}]',
            id="raw reasoning by its name in the core",
        ),
        pytest.param(
            [b'{"type":"response.output_item.added","output_index":0,"item":null}', b'{"type":"surprise","x":1}'],
            b"[]",
            id="nothing usable",
        ),
    ],
)
def test_hosts_leave_things_out(lines: list[bytes], output: bytes) -> None:
    response = assembled([EVENT.decode(line) for line in lines])
    document = b'{"id":"","status":"in_progress","output":' + output + b"}"
    assert response == RESPONSE.decode(document)


@pytest.mark.parametrize(
    "event",
    [
        b'{"type":"error","code":"overloaded","message":"later","sequence_number":9}',
        b'{"type":"error","error":{"type":"x","code":"overloaded","message":"later"}}',
        b'{"error":{"code":"overloaded","message":"later"}}',
    ],
)
def test_an_error_event_ends_the_answer_with_what_came(event: bytes) -> None:
    assembler = Assembler()
    for told in disassemble(EVERYTHING)[:-1]:
        assembler.feed(told)
    assert not assembler.finished
    assembler.feed(EVENT.decode(event))
    assert assembler.finished
    assert assembler.error is not None
    assert assembler.response.status == "failed"
    assert assembler.response.error
    assert assembler.response.error.code == "overloaded"
    assert assembler.response.output == EVERYTHING.output


def test_the_checker_finds_what_is_out_of_order() -> None:
    events = disassemble(EVERYTHING)
    assert any("no terminal" in fault for fault in faults(events[:-1]))
    assert any("before response.created" in fault for fault in faults(events[1:], numbered=False))
    assert any("sequence number" in fault for fault in faults([events[0], *events[2:]]))
    assert any("after the terminal" in fault for fault in faults([*events, events[-1]], numbered=False))
    without_end = [e for e in events if not isinstance(e, ev.OutputItemDone)]
    assert any("still open" in fault for fault in faults(without_end, numbered=False))
    without_part = [e for e in events if not isinstance(e, ev.ContentPartAdded)]
    assert any("is not open" in fault for fault in faults(without_part, numbered=False))
