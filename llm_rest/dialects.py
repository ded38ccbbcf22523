"""Facts in which vendors and models differ on one wire.

A converter asks for a fact, never for a vendor. A field is named after what is different, so the next vendor with the same
habit reuses it; the defaults are the wire's own vendor. Adding a host is a row in `vendors.py` that states facts from here.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class ResponsesDialect(Struct, frozen=True, kw_only=True):
    """Facts of a host that serves `openai_responses`."""

    path: str = "/responses"
    issuer: str = "openai"
    """Who can read the `encrypted_content` this host hands out."""


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
