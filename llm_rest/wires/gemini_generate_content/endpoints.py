"""The neighbours of `:generateContent`: counting tokens, and the list of models.

Before changing this file, know that the two hosts want different bodies: the Developer API counts a whole request only where
it stands inside `generateContentRequest`, and Vertex knows no such field. Follows the references of `countTokens` and
`models.list` of both (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from ...losses import Losses
from ...unknown import MOST_UNKNOWN, Decoder, given
from ...vendors.dialects import GeminiDialect
from .. import Route
from .._left import report_unknown
from . import types
from .request import DEFAULT, collected, decode_request, encode_request, place
from .spelling import ProtoDecoder

if TYPE_CHECKING:
    from ...losses import Loss
    from ...responses.request import Request

# --- counting -------------------------------------------------------------------------------------------------------


class CountRequest(types.Document):
    """`POST {model}:countTokens`: a whole request, or the fields of one that have a size."""

    contents: types.Maybe[list[types.Content]] = UNSET
    system_instruction: types.Maybe[types.Content] = UNSET
    tools: types.Maybe[list[types.Tool]] = UNSET
    generation_config: types.Maybe[types.GenerationConfig] = UNSET
    model: types.Maybe[str] = UNSET
    instances: types.Maybe[list[types.Json]] = UNSET
    generate_content_request: types.Maybe[types.Request] = UNSET


class Count(types.Document):
    """How many tokens an input has."""

    total_tokens: int = 0
    total_billable_characters: types.Maybe[int] = UNSET
    cached_content_token_count: types.Maybe[int] = UNSET
    prompt_tokens_details: types.Maybe[list[types.Json]] = UNSET
    cache_tokens_details: types.Maybe[list[types.Json]] = UNSET

    @property
    def input_tokens(self) -> int:
        """The tokens of the input, by the name other wires have for it."""
        return self.total_tokens


COUNT_REQUEST: Decoder[CountRequest] = ProtoDecoder(CountRequest, most_unknown=MOST_UNKNOWN)
COUNT: Decoder[Count] = ProtoDecoder(Count)

_COUNTED = ("contents", "system_instruction", "tools", "generation_config")


def encode_count(request: Request, *, dialect: GeminiDialect = DEFAULT) -> tuple[CountRequest, list[Loss]]:
    """The body that asks how many tokens a request has."""
    body, lost = encode_request(request, dialect=dialect)
    if "generateContentRequest" in dialect.lacks:
        return CountRequest(**{name: getattr(body, name) for name in _COUNTED}), lost
    body.model = collected(request.model or "", dialect)
    return CountRequest(generate_content_request=body), lost


def decode_count(
    body: CountRequest, *, dialect: GeminiDialect = DEFAULT, model: str | None = None
) -> tuple[Request, list[Loss]]:
    """The request whose tokens are to be counted; `model` is the one its URL names."""
    whole = body.generate_content_request
    if not given(whole):
        whole = types.Request(
            contents=body.contents or [],
            system_instruction=body.system_instruction,
            tools=body.tools,
            generation_config=body.generation_config,
        )
    elif model is None and given(whole.model):
        model = whole.model
    lost = Losses()
    report_unknown(body, "", lost)
    if body.instances:
        lost.dropped("instances", "the form that models before Gemini take")
    request, more = decode_request(whole, dialect=dialect, model=model)
    return request, [*lost, *more]


def count_route(request: Request, *, dialect: GeminiDialect = DEFAULT) -> Route:
    """Where counting is asked for."""
    return Route(f"{place(request.model or '', dialect)}:countTokens")


# --- models ---------------------------------------------------------------------------------------------------------


class ModelInfo(types.Document):
    """One model, named with its collection: `models/...`."""

    name: str
    base_model_id: types.Maybe[str] = UNSET
    version: types.Maybe[str] = UNSET
    display_name: types.Maybe[str] = UNSET
    description: types.Maybe[str] = UNSET
    input_token_limit: types.Maybe[int] = UNSET
    output_token_limit: types.Maybe[int] = UNSET
    supported_generation_methods: types.Maybe[list[str]] = UNSET
    thinking: types.Maybe[bool] = UNSET
    temperature: types.Maybe[float] = UNSET
    max_temperature: types.Maybe[float] = UNSET
    top_p: types.Maybe[float] = UNSET
    top_k: types.Maybe[int] = UNSET


class ModelList(types.Document):
    """One page of the models; the next one starts with `pageToken=nextPageToken`."""

    models: types.Maybe[list[ModelInfo]] = UNSET
    next_page_token: types.Maybe[str] = UNSET


MODELS: Decoder[ModelList] = ProtoDecoder(ModelList)
MODEL: Decoder[ModelInfo] = ProtoDecoder(ModelInfo)


def models_route(*, dialect: GeminiDialect = DEFAULT) -> Route:
    """Where the models are listed, as many at once as the host allows."""
    return Route(f"{dialect.root}/{dialect.collection}", {"pageSize": "1000"}, method="GET")
