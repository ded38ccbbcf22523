"""Counting, compaction, and what a server kept."""

from __future__ import annotations

import pytest

from llm_rest.errors import ConfigError
from llm_rest.losses import Loss
from llm_rest.responses import (
    CompactedResponse,
    Compaction,
    FunctionTool,
    Message,
    OutputText,
    Reasoning,
    Request,
    Usage,
)
from llm_rest.responses.carriers import PREFIX
from llm_rest.vendors.dialects import ResponsesDialect
from llm_rest.wires import Route
from llm_rest.wires import openai_responses as endpoints
from tests.oracles.test_open_responses import faults
from tests.support.facts import plain

XAI = ResponsesDialect(issuer="xai")


def test_what_has_a_size_is_counted_and_the_rest_is_no_loss() -> None:
    request = Request(
        model="m",
        input="Hi",
        tools=[FunctionTool(name="f")],
        temperature=1,
        stop="x",
        extra={"openai_responses": {"personality": "friendly", "other": 1}},
    )
    body, lost = endpoints.encode_count(request)
    assert plain(body) == {
        "model": "m",
        "input": "Hi",
        "tools": [{"type": "function", "name": "f"}],
        "personality": "friendly",
    }
    assert lost == []


def test_what_is_lost_of_the_input_is_lost_in_its_count_too() -> None:
    request = Request(input=[Reasoning(summary=[], encrypted_content="gAAA")])
    assert endpoints.encode_count(request, dialect=XAI)[1] == [
        Loss("input[0].encrypted_content", "opaque state of another issuer", "withheld")
    ]


def test_a_count_asks_for_nothing_to_be_kept_of_it() -> None:
    body, _ = endpoints.encode_count(Request(model="m"), dialect=ResponsesDialect(stores_nothing=True))
    assert plain(body) == {"model": "m"}


def test_a_count_is_read() -> None:
    assert endpoints.COUNT.decode(b'{"object":"response.input_tokens","input_tokens":16}').input_tokens == 16


def test_a_compaction_takes_the_conversation_and_little_else() -> None:
    request = Request(model="m", input="Hi", instructions="Be brief.", temperature=1, service_tier="flex")
    body, lost = endpoints.encode_compact(request)
    assert plain(body) == {"model": "m", "input": "Hi", "instructions": "Be brief.", "service_tier": "flex"}
    assert lost == []


def test_a_compaction_without_a_model_is_refused() -> None:
    assert [(loss.path, loss.kind) for loss in endpoints.encode_compact(Request(input="Hi"))[1]] == [
        ("model", "refused")
    ]


def test_a_compaction_of_another_host_returns_to_it_alone() -> None:
    answer = CompactedResponse(id="r", output=[Compaction(id="cmp_1", encrypted_content="opaque")])
    decoded, _ = endpoints.decode_compacted(answer, dialect=XAI)
    (item,) = decoded.output
    assert isinstance(item, Compaction)
    assert item.encrypted_content.startswith(PREFIX)
    assert endpoints.encode_compacted(decoded, dialect=XAI)[0].output == answer.output
    assert endpoints.decode_compacted(answer)[0] is answer


def test_a_served_compaction_has_every_key_of_the_core() -> None:
    answer = CompactedResponse(
        id="resp_1",
        output=[
            Message(role="user", content="Hi"),
            Message(role="assistant", content=[OutputText(text="Hi", leftovers={"openai_chat": {"x": 1}})]),
            Compaction(encrypted_content="gAAA"),
        ],
        usage=Usage(input_tokens=1, output_tokens=2),
    )
    for given in (answer, CompactedResponse(id="r", output=[])):
        assert faults(plain(endpoints.encode_compacted(given)[0]), "CompactResource") == []


@pytest.mark.parametrize(
    ("route", "expected"),
    [
        (endpoints.count_route(), Route("/responses/input_tokens")),
        (endpoints.compact_route(dialect=ResponsesDialect(path="/v1/responses")), Route("/v1/responses/compact")),
        (endpoints.retrieve_route("resp_1"), Route("/responses/resp_1", method="GET")),
        (
            endpoints.retrieve_route(
                "resp_1", include=("a", "b"), stream=True, starting_after=0, include_obfuscation=False
            ),
            Route(
                "/responses/resp_1",
                {
                    "stream": "true",
                    "include[]": ("a", "b"),
                    "starting_after": "0",
                    "include_obfuscation": "false",
                },
                method="GET",
            ),
        ),
        (endpoints.cancel_route("resp_1"), Route("/responses/resp_1/cancel")),
        (endpoints.delete_route("resp_1"), Route("/responses/resp_1", method="DELETE")),
        (
            endpoints.input_items_route("resp_1", after="msg_1", limit=5, order="asc", include=("a",)),
            Route(
                "/responses/resp_1/input_items",
                {"after": "msg_1", "limit": "5", "order": "asc", "include[]": ("a",)},
                method="GET",
            ),
        ),
        (endpoints.input_items_route("resp_1"), Route("/responses/resp_1/input_items", method="GET")),
    ],
)
def test_each_endpoint_has_its_place(route: Route, expected: Route) -> None:
    assert route == expected


def test_an_id_cannot_lead_elsewhere() -> None:
    assert endpoints.retrieve_route("x/y?z#a").path == "/responses/x%2Fy%3Fz%23a"
    for name in ("../x", "x/../y", "..%2Fx", "%252e%252e/x"):
        with pytest.raises(ConfigError, match="leads to another path"):
            endpoints.retrieve_route(name)


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_is_no_id_is_refused_before_it_deletes_the_wrong_thing(name: str) -> None:
    with pytest.raises(ConfigError):
        endpoints.delete_route(name)


def test_a_page_of_items_says_where_the_next_begins() -> None:
    raw = b'{"object":"list","data":[{"type":"reasoning","summary":[],"encrypted_content":"o"}],"last_id":"a","has_more":true}'
    page = endpoints.ITEMS.decode(raw)
    assert (page.last_id, page.has_more) == ("a", True)
    assert endpoints.decode_input_items(page)[0] is page
    (item,) = endpoints.decode_input_items(page, dialect=XAI)[0].data
    assert isinstance(item, Reasoning)
    assert str(item.encrypted_content).startswith(PREFIX)


def test_a_deletion_is_confirmed() -> None:
    assert endpoints.DELETED.decode(b'{"id":"resp_1","object":"response","deleted":true}').deleted is True
