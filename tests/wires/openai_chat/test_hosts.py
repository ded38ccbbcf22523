"""Each host's row in the documentation says what a request or an answer shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from llm_rest.responses import (
    Request,
)
from llm_rest.vendors.dialects import CHAT_HOSTS
from llm_rest.vendors.rows import VENDORS
from tests.wires.openai_chat import sent

DOCS = Path(__file__).parents[3] / "docs" / "wires" / "openai_chat.md"
HERE = Path(__file__).parent


def refused(request: Request, host: str) -> list[str]:
    return sent(request, CHAT_HOSTS[host])[1]


@pytest.mark.parametrize(
    ("host", "like"),
    [
        ("nebius", "vllm"),
        ("deepinfra", "vllm"),
        ("crusoe", "vllm"),
        ("snowflake", "openrouter"),
        ("vercel_gateway", "openrouter"),
    ],
)
def test_some_hosts_are_like_others_but_for_their_opaque_state(host: str, like: str) -> None:
    # That an empty list of details is refused is known of OpenRouter alone.
    assert CHAT_HOSTS[host] == replace(CHAT_HOSTS[like], issuer=host, empty_details=True)


def test_minimax_tells_its_errors_in_status_200() -> None:
    """The body is in test_errors.py."""
    assert CHAT_HOSTS["minimax"].reasoning_field == "reasoning_details"


def test_every_issuer_is_the_host_itself() -> None:
    """BUGS 11"""
    assert {host for host, dialect in CHAT_HOSTS.items() if dialect.issuer != host} == set()


# --- the documentation ----------------------------------------------------------------------------------------------


def rows(kind: str) -> list[str]:
    return re.findall(rf"^\| (chat\.{kind}\.\w+) \|", DOCS.read_text(), re.MULTILINE)


def test_every_host_has_a_row() -> None:
    assert rows("dialect") == [f"chat.dialect.{host}" for host in CHAT_HOSTS]


def test_every_vendor_that_speaks_this_wire_has_facts() -> None:
    speakers = {name for name, vendor in VENDORS.items() if "openai_chat" in vendor.wires}
    assert speakers - CHAT_HOSTS.keys() <= {"simulator"}
