"""The documents of `POST /api/chat`, in the order of Ollama's reference.

Servers are installed by their users and often old, and leave out zeros: so hardly anything is required. Before changing
this file, know that arguments of calls stay `Raw` (an object, as the model wrote it), that every sampling option is
below `options` and the server silently ignores an unknown one, and that a line of a stream is an answer with any of its
fields absent. Follows Ollama's API reference and the types of its Python client 0.6.3 (read 2026-11-20).
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Raw, UnsetType, field

from ... import responses as ours
from ...unknown import MOST_IN_ANSWER, MOST_UNKNOWN, Bounded, Decoder, Model, Opt
from . import types

__all__ = ["EVENT", "GENERATE", "MODELS", "REQUEST", "RESPONSE", "SHOW", "SHOWN", "WIRE", "ShowRequest"]

WIRE = "ollama_chat"
Json = dict[str, Any]
Number = int | float


# --- messages -------------------------------------------------------------------------------------------------------


class CallFunction(Model, kw_only=True):
    """The function of a call: name and arguments. `arguments` is an object; text and null are accepted as well."""

    name: Opt[str] = UNSET
    arguments: Raw | UnsetType = UNSET
    index: Opt[int] = UNSET


class ToolCall(Model, kw_only=True):
    """A tool call. Older servers send no `id`; `type` is accepted and never sent.

    Small models write name and arguments beside the id, leave out the name, or number their calls.
    """

    id: Opt[str | int | float] = UNSET
    type: Opt[str] = UNSET
    function: Opt[CallFunction] = UNSET
    name: Opt[str] = UNSET
    arguments: Raw | UnsetType = UNSET


class Message(Model, kw_only=True):
    """A message. `content` is always text; `images` are base64 without a prefix, audio among them."""

    role: Literal["system", "user", "assistant", "tool"] | str
    content: Opt[str] = UNSET
    thinking: Opt[str] = UNSET
    images: Opt[list[str]] = UNSET
    tool_calls: Opt[Bounded[ToolCall] | ToolCall] = UNSET
    tool_name: Opt[str] = UNSET
    tool_call_id: Opt[str] = UNSET

    @property
    def calls(self) -> list[ToolCall]:
        """The calls, also where there is one in place of the list."""
        found = self.tool_calls or []
        return [found] if isinstance(found, ToolCall) else found


# --- the request ----------------------------------------------------------------------------------------------------


class Function(Model, kw_only=True):
    name: str
    description: Opt[str] = UNSET
    parameters: Opt[Json] = UNSET


class Tool(Model, kw_only=True):
    type: Opt[str] = UNSET
    function: Function


class Options(Model, kw_only=True):
    """How the model runs. What is in `LOADING` loads it again where it differs from the call before."""

    num_predict: Opt[Number] = UNSET
    temperature: Opt[Number] = UNSET
    top_p: Opt[Number] = UNSET
    top_k: Opt[int] = UNSET
    seed: Opt[int] = UNSET
    stop: Opt[list[str]] = UNSET
    presence_penalty: Opt[Number] = UNSET
    frequency_penalty: Opt[Number] = UNSET
    num_ctx: Opt[Number] = UNSET
    min_p: Opt[Number] = UNSET
    typical_p: Opt[Number] = UNSET
    repeat_penalty: Opt[Number] = UNSET
    repeat_last_n: Opt[Number] = UNSET
    num_keep: Opt[Number] = UNSET
    num_batch: Opt[Number] = UNSET
    num_gpu: Opt[Number] = UNSET
    main_gpu: Opt[Number] = UNSET
    num_thread: Opt[Number] = UNSET
    use_mmap: Opt[bool] = UNSET
    draft_num_predict: Opt[Number] = UNSET


LOADING = ("num_ctx", "num_batch", "num_gpu", "main_gpu", "num_thread", "use_mmap", "draft_num_predict")
"""Options of loading a model."""


class Request(Model, kw_only=True):
    """The body of `POST /api/chat`. Without `stream` the server streams; `format` is "json" or a bare schema."""

    model: Opt[str] = UNSET
    messages: Opt[list[Message]] = UNSET
    stream: Opt[bool] = UNSET
    format: Opt[str | Json] = UNSET
    tools: Opt[list[Tool]] = UNSET
    think: Opt[bool | Literal["low", "medium", "high", "max"] | str] = UNSET
    options: Opt[Options] = UNSET
    keep_alive: Opt[int | float | str] = UNSET
    truncate: Opt[bool] = UNSET
    shift: Opt[bool] = UNSET
    logprobs: Opt[bool] = UNSET
    top_logprobs: Opt[int] = UNSET
    debug_render_only: Opt[bool] = field(name="_debug_render_only", default=UNSET)


# --- the answer -----------------------------------------------------------------------------------------------------


class Line(Model, kw_only=True):
    """What an answer and a line of a stream have in common. Durations are nanoseconds; zeros are left out."""

    model: Opt[str] = UNSET
    remote_model: Opt[str] = UNSET
    remote_host: Opt[str] = UNSET
    created_at: Opt[str] = UNSET
    done: Opt[bool] = UNSET
    done_reason: Opt[Literal["stop", "length", "load", "unload"] | str] = UNSET
    total_duration: Opt[int] = UNSET
    load_duration: Opt[int] = UNSET
    prompt_eval_count: Opt[int] = UNSET
    prompt_eval_duration: Opt[int] = UNSET
    eval_count: Opt[int] = UNSET
    eval_duration: Opt[int] = UNSET
    logprobs: Opt[list[ours.Logprob]] = UNSET
    debug_info: Opt[Json] = field(name="_debug_info", default=UNSET)


class Answer(Line, kw_only=True):
    """The whole answer."""

    message: Message


class Chunk(Line, kw_only=True):
    """One line of a streamed answer. The last one is `done`; one with an `error` is the last as well."""

    message: Opt[Message] = UNSET
    error: Opt[Any] = UNSET


REQUEST: Decoder[Request] = Decoder(Request, most_unknown=MOST_UNKNOWN)
RESPONSE: Decoder[Answer] = Decoder(Answer, most_unknown=MOST_IN_ANSWER)
EVENT: Decoder[Chunk] = Decoder(Chunk, most_unknown=MOST_IN_ANSWER)


# --- other endpoints -------------------------------------------------------------

Capability = Literal["completion", "tools", "insert", "vision", "audio", "embedding", "thinking", "image"] | str


class ModelInfo(Model, kw_only=True):
    """One model of `GET /api/tags`. A model of the cloud names its host."""

    name: str
    model: Opt[str] = UNSET
    modified_at: Opt[str] = UNSET
    size: Opt[int] = UNSET
    digest: Opt[str] = UNSET
    details: Opt[Json] = UNSET
    capabilities: Opt[list[Capability]] = UNSET
    remote_model: Opt[str] = UNSET
    remote_host: Opt[str] = UNSET


class ModelList(Model, kw_only=True):
    """The answer of `GET /api/tags`."""

    models: list[ModelInfo]


class ShowRequest(Model, kw_only=True):
    """The body of `POST /api/show`."""

    model: str
    verbose: Opt[bool] = UNSET


class ShownModel(Model, kw_only=True):
    """The answer of `POST /api/show`. Keys of `model_info` begin with the architecture: `llama.context_length`."""

    capabilities: Opt[list[Capability]] = UNSET
    details: Opt[Json] = UNSET
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


class Generate(types.Request, kw_only=True):
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
SHOWN: Decoder[ShownModel] = Decoder(ShownModel)
GENERATE: Decoder[Generate] = Decoder(Generate)
