"""The small documents around an answer, as each wire spells them: token counts and lists of models.

Follows the vendors' references (read 2026-11-20): `POST /v1/responses/input_tokens`, `POST /v1/messages/count_tokens`,
`GET /v1/models` of both, `GET /api/tags`, `POST /v1beta/models/{model}:countTokens`, and `GET /v1beta/models`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Plain = dict[str, Any]


class Counted(Struct, frozen=True):
    """How a wire is asked to count: where, in what, and the field that says how many.

    The path is what follows the wire's own, of which `instead_of` gives way. `missing` are fields that the wire's requests need
    and counting does not; `inside` is a field that may hold the request.
    """

    path: str
    shape: Plain
    field: str
    missing: Plain = {}
    instead_of: str = ""
    inside: str = ""

    def beside(self, path: str) -> str:
        """The path for counting, from the one for answers."""
        return path.removesuffix(self.instead_of) + self.path

    def request(self, body: bytes) -> bytes:
        """The request whose tokens are asked for, as the wire's own documents spell it."""
        if not (self.missing or self.inside) or body.lstrip()[:1] != b"{":
            return body
        try:
            asked: Plain = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return body  # the wire's decoder says what is wrong with it
        whole: Any = asked.get(self.inside)
        return msgspec.json.encode({**self.missing, **(cast("Plain", whole) if isinstance(whole, dict) else asked)})

    def answer(self, tokens: int) -> Plain:
        """The document that says how many tokens there are."""
        return {**self.shape, self.field: tokens}


COUNTED = {
    "openai_responses": Counted("/input_tokens", {"object": "response.input_tokens"}, "input_tokens"),
    "anthropic_messages": Counted("/count_tokens", {}, "input_tokens", {"max_tokens": 1}),
    "gemini_generate_content": Counted(
        ":countTokens", {}, "totalTokens", instead_of=":generateContent", inside="generateContentRequest"
    ),
}

CALLERS = {
    "anthropic_messages": {"anthropic-version", "x-api-key"},
    "gemini_generate_content": {"x-goog-api-key", "x-goog-api-client"},
}
"""The headers (lower-case names) by which a caller of a wire is known."""


LISTED = {"/api/tags": "ollama_chat"}
"""Where a wire lists its models that does not on the path several share."""


def caller(headers: Mapping[str, str]) -> str:
    """The wire that a caller speaks who asks on a path that several share, by the headers it sends."""
    return next((wire for wire, names in CALLERS.items() if names & headers.keys()), "openai_responses")


def models(wire: str, names: Sequence[str]) -> Plain:
    """The list of models."""
    data = [model(wire, name) for name in names]
    if wire == "anthropic_messages":
        ends = {"first_id": names[0] if names else None, "last_id": names[-1] if names else None}
        return {"data": data, "has_more": False, **ends}
    return {"models": data} if wire in ("ollama_chat", "gemini_generate_content") else {"object": "list", "data": data}


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
    if wire == "gemini_generate_content":
        methods = ["generateContent", "streamGenerateContent", "countTokens"]
        return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods}
    return {"id": name, "object": "model", "created": 1_790_000_000, "owned_by": "llm_rest"}
