"""The small documents around an answer, as each wire spells them: token counts and lists of models.

Follows the vendors' references (read 2026-11-20): `POST /v1/responses/input_tokens`, `POST /v1/messages/count_tokens`,
`GET /v1/models` of both, and `GET /api/tags`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Plain = dict[str, Any]


class Counted(Struct, frozen=True):
    """How a wire is asked to count: the path below its own, fields its documents need and counting does not, the answer."""

    path: str
    shape: Plain
    field: str
    missing: Plain = {}

    def answer(self, tokens: int) -> Plain:
        """The document that says how many tokens there are."""
        return {**self.shape, self.field: tokens}


COUNTED = {
    "openai_responses": Counted("/input_tokens", {"object": "response.input_tokens"}, "input_tokens"),
    "anthropic_messages": Counted("/count_tokens", {}, "input_tokens", {"max_tokens": 1}),
}


LISTED = {"/api/tags": "ollama_chat"}
"""Where a wire lists its models that does not on the path several share."""


def caller(headers: Mapping[str, str]) -> str:
    """The wire that a caller speaks who asks on a path that several share, by the headers (lower-case names) it sends."""
    return "anthropic_messages" if {"anthropic-version", "x-api-key"} & headers.keys() else "openai_responses"


def models(wire: str, names: Sequence[str]) -> Plain:
    """The list of models."""
    data = [model(wire, name) for name in names]
    if wire == "anthropic_messages":
        ends = {"first_id": names[0] if names else None, "last_id": names[-1] if names else None}
        return {"data": data, "has_more": False, **ends}
    return {"models": data} if wire == "ollama_chat" else {"object": "list", "data": data}


def model(wire: str, name: str) -> Plain:
    """One model."""
    if wire == "anthropic_messages":
        return {"type": "model", "id": name, "display_name": name, "created_at": "2026-09-21T14:13:20Z"}
    if wire == "ollama_chat":
        return {
            "name": name,
            "model": name,
            "modified_at": "2026-09-21T14:13:20Z",
            "size": 0,
            "digest": "",
            "details": {},
        }
    return {"id": name, "object": "model", "created": 1_790_000_000, "owned_by": "llm_rest"}
