"""The small documents around an answer, as each wire spells them: token counts, lists of models, what a model can do.

Follows the vendors' references (read 2026-11-20): `POST /v1/responses/input_tokens`, `POST /v1/messages/count_tokens`,
`GET /v1/models` of both, `GET /api/tags`, `/api/ps` and `/api/version`, `POST /api/show` and `/api/generate`,
`POST /v1beta/models/{model}:countTokens`, and `GET /v1beta/models`.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..vendors.models import Capabilities

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


OLLAMA = "ollama_chat"
BESIDE: dict[str, tuple[Literal["models", "running", "version", "show", "generate"], bool]] = {
    "/api/tags": ("models", True),
    "/api/ps": ("running", True),
    "/api/version": ("version", True),
    "/api/show": ("show", False),
    "/api/generate": ("generate", False),
}
"""What Ollama's clients ask beside `/api/chat`, by path, and whether it is only read."""

VERSION = "0.13.0"
"""The version of Ollama that clients are told. There are some that want 0.6.4, where `capabilities` came, or later."""

WRITTEN_AT = "2026-09-21T14:13:20Z"


def caller(headers: Mapping[str, str]) -> str:
    """The wire that a caller speaks who asks on a path that several share, by the headers it sends."""
    return next((wire for wire, names in CALLERS.items() if names & headers.keys()), "openai_responses")


def missed(path: str, headers: Mapping[str, str]) -> str:
    """The wire of a caller that asks for a path with nothing there."""
    return OLLAMA if re.match(r"(/[^/]+)?/api/(?!v1\b)", path) else caller(headers)


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
        return {"type": "model", "id": name, "display_name": name, "created_at": WRITTEN_AT}
    if wire == OLLAMA:
        # Clients keep what they learn about a model by its digest.
        digest = sha256(name.encode("utf-8", "replace")).hexdigest()
        return {
            "name": name,
            "model": name,
            "modified_at": WRITTEN_AT,
            "size": 0,
            "digest": digest,
            "details": DETAILS,
        }
    if wire == "gemini_generate_content":
        methods = ["generateContent", "streamGenerateContent", "countTokens"]
        return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods}
    return {"id": name, "object": "model", "created": 1_790_000_000, "owned_by": "llm_rest"}


DETAILS: Plain = {
    "parent_model": "",
    "format": "",
    "family": "",
    "families": [],
    "parameter_size": "",
    "quantization_level": "",
}
"""What Ollama says of the file that a model is; a model behind this server is none."""


def running(names: Sequence[str]) -> Plain:
    """The models that are loaded, in Ollama's words: all, since none has to be."""
    return {"models": [{**model(OLLAMA, name), "expires_at": WRITTEN_AT, "size_vram": 0} for name in names]}


def shown(known: Capabilities) -> Plain:
    """What a model can do, in Ollama's words. What is not known passes, as in `check`."""
    able = {"tools": known.tools, "vision": known.vision, "thinking": known.reasoning}
    window = {} if known.context_window is None else {"llm_rest.context_length": known.context_window}
    tools = "" if known.tools is False else "{{ .Tools }} "  # where clients look for them that know no capabilities
    return {
        "modelfile": "",
        "parameters": "",
        "template": f"{{{{ .System }}}} {tools}{{{{ .Prompt }}}}",
        "details": DETAILS,
        "model_info": {"general.architecture": "llm_rest", **window},
        "capabilities": ["completion", *(name for name, can in able.items() if can is not False)],
        "modified_at": WRITTEN_AT,
    }


def loaded(name: str) -> Plain:
    """The answer to `/api/generate` without a prompt, by which clients load and unload a model."""
    return {"model": name, "created_at": WRITTEN_AT, "response": "", "done": True, "done_reason": "load"}
