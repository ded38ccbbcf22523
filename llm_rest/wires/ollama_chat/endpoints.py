"""The neighbours of `/api/chat`: the models there are, what one of them can do, and the answer to a single prompt.

Older servers say nothing of capabilities, and of a model nothing is known then. Follows Ollama's API reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET

from ...dialects import OllamaDialect
from ...unknown import Decoder, Model, Opt, extras, with_extras
from .. import Route
from .._left import as_object
from . import types
from .request import OLLAMA
from .types import Json

Capability = Literal["completion", "tools", "insert", "vision", "audio", "embedding", "thinking", "image"] | str


class Details(Model):
    parent_model: Opt[str] = UNSET
    format: Opt[str] = UNSET
    family: Opt[str] = UNSET
    families: Opt[list[str]] = UNSET
    parameter_size: Opt[str] = UNSET
    quantization_level: Opt[str] = UNSET
    context_length: Opt[int] = UNSET
    embedding_length: Opt[int] = UNSET


class ModelInfo(Model):
    """One model of `GET /api/tags`. A model of the cloud names its host."""

    name: str
    model: Opt[str] = UNSET
    modified_at: Opt[str] = UNSET
    size: Opt[int] = UNSET
    digest: Opt[str] = UNSET
    details: Opt[Details] = UNSET
    capabilities: Opt[list[Capability]] = UNSET
    remote_model: Opt[str] = UNSET
    remote_host: Opt[str] = UNSET


class ModelList(Model):
    """The answer of `GET /api/tags`."""

    models: list[ModelInfo]


class ShowRequest(Model):
    """The body of `POST /api/show`."""

    model: str
    verbose: Opt[bool] = UNSET


class Shown(Model):
    """The answer of `POST /api/show`. Keys of `model_info` begin with the architecture: `llama.context_length`."""

    capabilities: Opt[list[Capability]] = UNSET
    details: Opt[Details] = UNSET
    model_info: Opt[Json] = UNSET
    modified_at: Opt[str] = UNSET
    template: Opt[str] = UNSET
    parameters: Opt[str] = UNSET
    system: Opt[str] = UNSET
    license: Opt[str] = UNSET
    modelfile: Opt[str] = UNSET
    requires: Opt[str] = UNSET
    remote_model: Opt[str] = UNSET
    remote_host: Opt[str] = UNSET

    @property
    def context_length(self) -> int | None:
        """The largest window of the model, which is not the one it is loaded with."""
        info = self.model_info or {}
        found = info.get(f"{info.get('general.architecture')}.context_length")
        return found if isinstance(found, int) else None


class Generate(types.Request):
    """The body of `POST /api/generate`: one prompt instead of messages. Without a prompt it loads the model."""

    prompt: Opt[str] = UNSET
    suffix: Opt[str] = UNSET
    images: Opt[list[str]] = UNSET
    system: Opt[str] = UNSET
    template: Opt[str] = UNSET
    context: Opt[list[int]] = UNSET
    raw: Opt[bool] = UNSET


MODELS: Decoder[ModelList] = Decoder(ModelList)
SHOW: Decoder[ShowRequest] = Decoder(ShowRequest)
SHOWN: Decoder[Shown] = Decoder(Shown)
GENERATE: Decoder[Generate] = Decoder(Generate)


def chat_request(asked: Generate) -> types.Request:
    """The request of `/api/chat` that asks the same. It has no place for `suffix`, `template` and `context`."""
    request = types.Request(**{name: getattr(asked, name) for name in types.Request.__struct_fields__})
    request.messages = []
    if asked.prompt or asked.images:
        if asked.system and not asked.raw:
            request.messages.append(types.Message(role="system", content=asked.system))
        request.messages.append(types.Message(role="user", content=asked.prompt or "", images=asked.images))
    return with_extras(request, extras(asked))


def generated(answer: Json) -> Json:
    """The answer of `/api/generate`, or a line of its stream, for one of `/api/chat`."""
    said = as_object(answer.get("message"))
    if not said:
        return answer
    told: Json = {name: value for name, value in answer.items() if name != "message"}
    told["response"] = said.get("content") or ""
    if said.get("thinking"):
        told["thinking"] = said["thinking"]
    return told


def models_route(*, dialect: OllamaDialect = OLLAMA) -> Route:
    """Where the models are listed."""
    return Route(_beside(dialect, "tags"), method="GET")


def show_route(*, dialect: OllamaDialect = OLLAMA) -> Route:
    """Where a model is described; the body is a `ShowRequest`."""
    return Route(_beside(dialect, "show"))


def _beside(dialect: OllamaDialect, name: str) -> str:
    return f"{dialect.path.rpartition('/')[0]}/{name}"
