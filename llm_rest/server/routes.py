"""Routes: the wire and the endpoint of a path and its headers; and the documents of small endpoints (model lists and such).

A path may begin with the name of a vendor, whose dialect is then used: `/v1/chat/completions`, `/chat/completions` and
`/groq/chat/completions` all reach the Chat wire. Before changing this file, know that it serves the paths that our own clients
request: they come from each wire's `route`, so every listed wire is served. Token counts, lists of models and capabilities
follow the vendors' references (read 2026-11-20): `POST /v1/responses/input_tokens`, `POST /v1/messages/count_tokens`,
`GET /v1/models` of both, `GET /api/tags`, `/api/ps` and `/api/version`, `POST /api/show` and `/api/generate`,
`POST /v1beta/models/{model}:countTokens`, and `GET /v1beta/models`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import unquote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import wires
from ..errors import ErrorFacts, printable
from ..responses import Request
from ..vendors.rows import DIALECTS, VENDORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..vendors.models import Capabilities

Purpose = Literal["answer", "count", "models", "model", "running", "version", "show", "generate"]
StoredPurpose = Literal["stored", "items", "cancel", "compact"]


class Route(Struct, frozen=True):
    """The endpoint of a path, and its methods; `model` is the model, or the stored response, in the path."""

    purpose: Purpose | StoredPurpose
    wire: str
    dialect: Any
    vendor: str | None = None
    model: str | None = None
    streams: bool = False  # regardless of the body
    methods: tuple[str, ...] = ("POST",)


READ = ("GET", "HEAD")

_MODEL = "MODEL"
_VERSION = "(?:/v1(?:beta1?)?)?"
_MODELS = re.compile(_VERSION + "/models(?:/(?P<model>.+))?")


def find(path: str, headers: Mapping[str, str]) -> list[Route]:
    """The routes of `path`, which differ by method; none for a path that is not served."""
    path = "/" + path.strip("/")
    first, _, rest = path[1:].partition("/")
    vendor = first if first in VENDORS else None
    below = f"/{rest}" if vendor else path
    found_routes: list[Route] = []
    for served, route in _routes(vendor):
        if found := _pattern(served).fullmatch(below):
            model = found.groupdict().get("model")
            if model and any(other.model is None for other in found_routes):
                continue  # a fixed path, such as /compact, is not an id
            found_routes.append(replace(route, model=unquote(model)) if model else route)
    if not found_routes and (found := _MODELS.fullmatch(below)):
        wire, name = _wire_of_shared_path(below, headers), found["model"] and unquote(found["model"])
        found_routes.append(Route("model" if name else "models", wire, DIALECTS[wire](), vendor, name, methods=READ))
    if below in OLLAMA_ENDPOINTS and vendor in (None, "ollama"):
        purpose, methods = OLLAMA_ENDPOINTS[below]
        found_routes.append(Route(purpose, OLLAMA, DIALECTS[OLLAMA](), vendor, methods=methods))
    return found_routes


def wire_of(path: str, headers: Mapping[str, str]) -> str:
    """The wire of a request for `path`, also for a path that is not served."""
    routes = find(path.partition("?")[0], headers)
    return routes[0].wire if routes else wire_of_unknown_path(path, headers)


def not_found(method: str, path: str, wire: str) -> ErrorFacts:
    """The error for a path that is not served."""
    first = path.strip("/").partition("/")[0]
    served = ", ".join(_served(first if first in VENDORS else None))
    message = f"Invalid URL ({printable(method, 20)} {printable(path, 200)}); there is {served}."
    kind = "not_found_error" if wire == "anthropic_messages" else "invalid_request_error"
    return ErrorFacts(status=404, message=message, type=kind)


@lru_cache(maxsize=128)
def _routes(vendor: str | None) -> tuple[tuple[str, Route], ...]:
    """The paths that are served below `/{vendor}`, or without a vendor, with their routes."""
    surfaces: Sequence[tuple[str, Any]] = [(name, DIALECTS[name]()) for name in wires.NAMES if name in DIALECTS]
    if vendor is not None:
        row = VENDORS[vendor]
        wire_of = [(s.wire, s.dialect or DIALECTS[s.wire]()) for s in row.surfaces if s.wire in wires.NAMES]
        surfaces = [(wire, replace(dialect, issuer=vendor)) for wire, dialect in wire_of]
    found: list[tuple[str, Route]] = []
    for wire, dialect in surfaces:
        request, route_of = Request(model=_MODEL, input=""), wires.load(wire).route
        path, streaming = route_of(request, dialect=dialect).path, route_of(request, dialect=dialect, stream=True).path
        route = Route("answer", wire, dialect, vendor)
        found.append((path, route))
        if streaming != path:
            found.append((streaming, replace(route, streams=True)))
        if wire in COUNT_TOKENS:
            found.append((COUNT_TOKENS[wire].path_from(path), replace(route, purpose="count")))
        if wire == "openai_responses":
            found += [
                (path + below, replace(route, purpose=purpose, methods=methods)) for below, purpose, methods in _STORED
            ]
    return tuple(found)


_STORED: tuple[tuple[str, StoredPurpose, tuple[str, ...]], ...] = (
    ("/compact", "compact", ("POST",)),
    (f"/{_MODEL}/input_items", "items", READ),
    (f"/{_MODEL}/cancel", "cancel", ("POST",)),
    (f"/{_MODEL}", "stored", (*READ, "DELETE")),
)
"""The routes below the one for responses."""


@lru_cache(maxsize=256)
def _pattern(path: str) -> re.Pattern[str]:
    """The pattern of a path with or without the version that base URLs may contain, the model as a group."""
    plain = re.escape(re.sub("^/v1(beta1?)?/", "/", path))
    return re.compile(_VERSION + plain.replace(_MODEL, "(?P<model>[^?]+?)"))


def _served(vendor: str | None) -> list[str]:
    prefix = f"/{vendor}" if vendor else ""
    paths = [path.replace(_MODEL, "{model}") for path, _ in _routes(vendor)]
    return [prefix + (path if path.startswith(("/v1", "/api")) else f"/v1{path}") for path in (*paths, "/v1/models")]


Plain = dict[str, Any]


class CountTokens(Struct, frozen=True):
    """The endpoint of a wire for counting tokens: its path, its document and the field with the number.

    The path follows the one for answers, where it replaces `instead_of`. `missing` are fields that the wire requires
    and counting does not; `inside` is a field that may contain the request.
    """

    path: str
    shape: Plain
    field: str
    missing: Plain = {}
    instead_of: str = ""
    inside: str = ""

    def path_from(self, path: str) -> str:
        """The path for counting, from the one for answers."""
        return path.removesuffix(self.instead_of) + self.path

    def request(self, body: bytes) -> bytes:
        """The request whose tokens are counted, as a document of the wire."""
        if not (self.missing or self.inside) or body.lstrip()[:1] != b"{":
            return body
        try:
            document: Plain = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return body  # the wire's decoder reports the error
        whole: Any = document.get(self.inside)
        return msgspec.json.encode({**self.missing, **(cast("Plain", whole) if isinstance(whole, dict) else document)})

    def answer(self, tokens: int) -> Plain:
        """The document with the number of tokens."""
        return {**self.shape, self.field: tokens}


COUNT_TOKENS = {
    "openai_responses": CountTokens("/input_tokens", {"object": "response.input_tokens"}, "input_tokens"),
    "anthropic_messages": CountTokens("/count_tokens", {}, "input_tokens", {"max_tokens": 1}),
    "gemini_generate_content": CountTokens(
        ":countTokens", {}, "totalTokens", instead_of=":generateContent", inside="generateContentRequest"
    ),
}

CALLER_HEADERS = {
    "anthropic_messages": {"anthropic-version", "x-api-key"},
    "gemini_generate_content": {"x-goog-api-key", "x-goog-api-client"},
}
"""The headers (lower-case names) that only the clients of a wire send."""

OLLAMA = "ollama_chat"
OLLAMA_ENDPOINTS: dict[str, tuple[Purpose, tuple[str, ...]]] = {
    "/api/tags": ("models", READ),
    "/api/ps": ("running", READ),
    "/api/version": ("version", READ),
    "/api/show": ("show", ("POST",)),
    "/api/generate": ("generate", ("POST",)),
}
"""Ollama's endpoints beside `/api/chat`, by path, with their methods."""

VERSION = "0.13.0"
"""The reported version of Ollama. Some clients require 0.6.4 or later, which introduced `capabilities`."""

WRITTEN_AT = "2026-09-21T14:13:20Z"


def _wire_of_shared_path(path: str, headers: Mapping[str, str]) -> str:
    """The wire of a request on a path that several wires share: by the version in the path, else by the headers."""
    if path.startswith("/v1beta/models"):
        return "gemini_generate_content"
    return next((wire for wire, names in CALLER_HEADERS.items() if names & headers.keys()), "openai_responses")


def wire_of_unknown_path(path: str, headers: Mapping[str, str]) -> str:
    """The wire of a request for a path that is not served."""
    return OLLAMA if re.match(r"(/[^/]+)?/api/(?!v1\b)", path) else _wire_of_shared_path(path, headers)


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
        # Clients cache the details of a model by its digest.
        digest = sha256(name.encode("utf-8", "replace")).hexdigest()
        about = {"modified_at": WRITTEN_AT, "size": 0, "digest": digest, "details": DETAILS}
        return {"name": name, "model": name, **about}
    if wire == "gemini_generate_content":
        methods = ["generateContent", "streamGenerateContent", "countTokens"]
        return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods}
    return {"id": name, "object": "model", "created": 1_790_000_000, "owned_by": "llm_rest"}


DETAILS: Plain = {
    **dict.fromkeys(("parent_model", "format", "family", "parameter_size", "quantization_level"), ""),
    "families": [],
}
"""Ollama's fields for the file of a model; a model of this server has none."""


def running(names: Sequence[str]) -> Plain:
    """Ollama's list of loaded models: all models."""
    return {"models": [{**model(OLLAMA, name), "expires_at": WRITTEN_AT, "size_vram": 0} for name in names]}


def shown(known: Capabilities) -> Plain:
    """Ollama's description of a model. Unknown capabilities count as supported, as in `check`."""
    able = {"tools": known.tools, "vision": known.vision, "thinking": known.reasoning}
    window = {} if known.context_window is None else {"llm_rest.context_length": known.context_window}
    tools = "" if known.tools is False else "{{ .Tools }} "  # older clients search the template for tools
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
    """The answer to `/api/generate` without a prompt, with which clients load and unload a model."""
    return {"model": name, "created_at": WRITTEN_AT, "response": "", "done": True, "done_reason": "load"}
