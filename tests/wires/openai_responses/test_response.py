"""Answers of a host, and answers as a server of ours gives them."""

from __future__ import annotations

import pytest

from llm_rest.responses import Usage
from llm_rest.wires import openai_responses as wire

# --- from a host ----------------------------------------------------------------------------------------------------


def test_an_id_that_is_a_number_is_text() -> None:
    """responses.response.3"""
    assert wire.RESPONSE.decode(b'{"id":7,"status":"completed","output":[]}').id == "7"


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ('{"input_tokens":null,"output_tokens":2,"total_tokens":null}', (0, 2, 2)),
        ('{"input_tokens":"11","output_tokens":"2","total_tokens":"13"}', (11, 2, 13)),
        ('{"input_tokens":1.1e1,"output_tokens":2,"total_tokens":13}', (11, 2, 13)),
        ('{"input_tokens":18446744073709551616,"output_tokens":-1,"total_tokens":0}', (2**64, -1, 0)),
    ],
)
def test_token_counts_are_numbers_however_they_come(counts: str, found: tuple[int, ...]) -> None:
    """responses.response.4"""
    usage = wire.RESPONSE.decode(f'{{"id":"r","status":"completed","output":[],"usage":{counts}}}'.encode()).usage
    assert isinstance(usage, Usage)
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == found
