"""Facts in which vendors and models differ on one wire.

A converter asks for a fact, never for a vendor. A field is named after what is different, so the next vendor with the same
habit reuses it; the defaults are the wire's own vendor. Adding a host is a row in `vendors.py` that states facts from here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

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
    """Where requests go; `{model}` in it is the model, which then leaves the body."""
    stream_path: str | None = None
    """Where streamed requests go, where that is another path."""
    issuer: str = "anthropic"
    """Who can verify the signatures this host hands out."""
    body_version: str | None = None
    """The `anthropic_version` the host wants in the body, where it wants it there instead of in a header."""
    betas_in_body: bool = False
    """Takes the betas as the body's field `anthropic_beta` instead of as a header."""
    url_sources: bool = True
    """Takes images and documents by URL and by file id, not only as data."""


class MessagesModel(Struct, frozen=True, kw_only=True):
    """What a family of models takes on `anthropic_messages`; the defaults are the newest family's."""

    thinking: tuple[Literal["adaptive", "enabled", "disabled", "between_tools"], ...] = ("adaptive",)
    """The kinds of thinking that can be asked for."""
    thinks: Literal["no", "yes"] = "yes"
    """Whether it thinks when nothing is asked for."""
    efforts: tuple[str, ...] = ("low", "medium", "high", "xhigh", "max")
    default_effort: str = "high"
    max_tokens: int = 128_000
    sampling: Literal["no", "one", "yes"] = "no"
    """Whether `temperature` and `top_p` are taken: never, one of the two, or both. Needs the older API version."""
    forced_tools: bool = True
    """Whether a tool choice may force a call."""
    system_turns: bool = True
    """Whether a system message may stand between turns."""
    prefill: bool = False
    """Whether the last message may be the beginning of the answer."""
    web_search: str = "web_search_20260318"
    code_execution: str = "code_execution_20260521"


_OLD = MessagesModel(
    thinking=("enabled", "disabled"),
    thinks="no",
    efforts=(),
    max_tokens=64_000,
    sampling="one",
    system_turns=False,
    prefill=True,
    web_search="web_search_20250305",
    code_execution="code_execution_20250825",
)
_4_6 = replace(
    _OLD,
    thinking=("adaptive", "enabled", "disabled"),
    efforts=("low", "medium", "high", "max"),
    max_tokens=128_000,
    prefill=False,
    web_search="web_search_20260209",
    code_execution="code_execution_20260120",
)
_4_7 = MessagesModel(thinking=("adaptive", "disabled"), thinks="no")
_NEWEST = MessagesModel(forced_tools=False)

MESSAGES_MODELS: dict[str, MessagesModel] = {
    # The older name of a family covers the newer ones that have no row of their own.
    "claude-3": replace(_OLD, thinking=("disabled",), max_tokens=4096, sampling="yes"),
    "claude-3-5": replace(_OLD, thinking=("disabled",), max_tokens=8192, sampling="yes"),
    "claude-3-7": replace(_OLD, sampling="yes"),
    "claude-sonnet-4": replace(_OLD, sampling="yes"),
    "claude-opus-4": replace(_OLD, max_tokens=32_000, sampling="yes"),
    "claude-opus-4-1": replace(_OLD, max_tokens=32_000),
    "claude-sonnet-4-5": _OLD,
    "claude-haiku-4-5": _OLD,
    "claude-opus-4-5": replace(_OLD, efforts=("low", "medium", "high")),
    "claude-sonnet-4-6": _4_6,
    "claude-opus-4-6": _4_6,
    "claude-opus-4-7": replace(_4_7, system_turns=False),
    "claude-opus-4-8": _4_7,
    "claude-sonnet-5": replace(_4_7, thinks="yes", system_turns=False),
    "claude-opus-5": replace(_4_7, thinks="yes"),
    "claude-fable-5": MessagesModel(),
    "claude-mythos-5": MessagesModel(),
    "claude-mythos-preview": MessagesModel(thinking=("adaptive", "enabled"), forced_tools=False, system_turns=False),
    "claude-haiku-5-5": MessagesModel(thinking=("adaptive", "disabled"), system_turns=False),
    "claude-sonnet-5-5": replace(_NEWEST, thinking=("adaptive", "between_tools")),
    "claude-opus-5-5": replace(_NEWEST, default_effort="medium"),
    "claude-fable-5-1": _NEWEST,
    "claude-fable-5-2": _NEWEST,
    "claude-mythos-5-1": _NEWEST,
    "claude-mythos-5-2": _NEWEST,
    "claude": _NEWEST,
}
"""What models take, by the longest prefix of their name; the vendor's model pages and guides, read 2026-11-20."""

_FOREIGN = MessagesModel(
    thinking=("adaptive", "disabled"), thinks="no", sampling="yes", system_turns=False, prefill=True
)


@lru_cache(maxsize=256)
def messages_model(model: str) -> MessagesModel:
    """What `model` takes: its family's row, the newest family's for an unknown Claude, everything for other models."""
    name = model.lower().replace(".", "-").replace("@", "-")
    start = name.find("claude")  # clouds and routers put regions and makers before it
    if start < 0:
        return _FOREIGN
    name = name[start:]
    best = max((prefix for prefix in MESSAGES_MODELS if f"{name}-".startswith(f"{prefix}-")), key=len, default="claude")
    return MESSAGES_MODELS[best]
