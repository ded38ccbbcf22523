"""Facts in which vendors and models differ on one wire.

A converter asks for a fact, never for a vendor. A field is named after what is different, so the next vendor with the same
habit reuses it; the defaults are the wire's own vendor. Adding a host is a row in `vendors.py` that states facts from here.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

OPENAI = "openai"


class ResponsesDialect(Struct, frozen=True, kw_only=True):
    """Facts of a host that serves `openai_responses`."""

    path: str = "/responses"
    issuer: str = OPENAI
    """Who can read the `encrypted_content` this host hands out."""
    lacks: tuple[str, ...] = ("stop", "seed", "top_k", "presence_penalty", "frequency_penalty")
    """Fields of a request the host does not take. They stay behind and are reported, or refused where they say what to answer."""
    only: dict[str, Any] = {}
    """Fields of which the host takes one value; any other is left out and reported."""
    stateless: bool = False
    """Keeps nothing between calls: an earlier response, a conversation or a kept item cannot be named."""
    tools: tuple[str, ...] | None = None
    """The kinds of tools the host takes; `None` for all."""
    parts: tuple[str, ...] = ()
    """The kinds of input parts the host takes beyond text, images and files: `input_audio`, `input_video`."""
    efforts: dict[str, str] = {}
    """Reasoning efforts the host does not know, and the nearest it does."""
    checks_ids: bool = True
    """Refuses an item whose id lacks the prefix of its kind (`msg_`, `rs_`, `fc_`)."""
    longest_call_id: int = 64
    takes_reasoning_text: bool = False
    """Wants its own raw reasoning back (`reasoning_text`), which other hosts refuse."""
    groups_calls: bool = False
    """Wants the calls of a turn directly after one another, followed by all their outputs."""
    asks_to_keep_nothing: bool = False
    """Not the host's habit but the client's: where a request does not say what to store, nothing is kept and the encrypted
    reasoning is asked for instead."""

    @property
    def seals(self) -> bool:
        """Whether opaque state of this host travels in an envelope; the wire's own vendor's travels as it came."""
        return self.issuer != OPENAI


class ChatDialect(Struct, frozen=True, kw_only=True):
    """Facts of a host that serves `openai_chat`."""

    path: str = "/chat/completions"
    issuer: str = "openai"
    """Who can use the opaque reasoning state this host hands out."""
    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"


class MessagesDialect(Struct, frozen=True, kw_only=True):
    """Facts of a host that serves `anthropic_messages`."""

    path: str = "/v1/messages"
    issuer: str = "anthropic"
    """Who can verify the signatures this host hands out."""
