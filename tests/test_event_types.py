"""Events of runs and of clients tell their kind by `type`, in Python as in JSON."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from llm_rest import AnyLoopEvent, ClientEvent

EVENTS = [*get_args(AnyLoopEvent), *get_args(ClientEvent)]


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_the_type_of_an_event_is_the_one_in_its_json(kind: Any) -> None:
    assert kind.type == kind.__struct_config__.tag
    assert kind.__struct_config__.tag_field == "type"
    assert "type" not in kind.__struct_fields__


def test_no_two_events_have_the_same_type() -> None:
    assert len({kind.type for kind in EVENTS}) == len(EVENTS) > 9
