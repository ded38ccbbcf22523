"""The neighbours of `/api/chat`: the models there are, and what one of them can do.

Older servers say nothing of capabilities, and of a model nothing is known then. Follows Ollama's API reference (read 2026-11-20).
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET

from ...dialects import OllamaDialect
from ...unknown import Decoder, Model, Opt
from .. import Route
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


MODELS: Decoder[ModelList] = Decoder(ModelList)
SHOWN: Decoder[Shown] = Decoder(Shown)


def models_route(*, dialect: OllamaDialect = OLLAMA) -> Route:
    """Where the models are listed."""
    return Route(_beside(dialect, "tags"), method="GET")


def show_route(*, dialect: OllamaDialect = OLLAMA) -> Route:
    """Where a model is described; the body is a `ShowRequest`."""
    return Route(_beside(dialect, "show"))


def _beside(dialect: OllamaDialect, name: str) -> str:
    return f"{dialect.path.rpartition('/')[0]}/{name}"
