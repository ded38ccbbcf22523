"""Prompt caching: the common prefix of two requests, and a simulation of a vendor's cache.

A vendor reads a prompt in one order, whatever the order of the fields: tools, instructions, messages. Before changing
this file, know that cache markers are not part of the prompt, so they may move from turn to turn, and that a text may
be written as a string or as one part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import Any, cast

import msgspec
from msgspec import Struct

from .. import wires
from ..errors import ConfigError, DecodeError
from ..responses.estimate import estimate_tokens
from ..responses.request import Request
from ..unknown import decoder_of

PROMPT: dict[str, tuple[str, ...]] = {
    "openai_responses": ("model", "tools", "instructions", "input"),
    "openai_chat": ("model", "tools", "messages"),
    # A change of these settings empties the cache of the messages: Anthropic's guide to prompt caching, read 2026-11-20.
    "anthropic_messages": ("model", "tools", "system", "tool_choice", "thinking", "output_config", "messages"),
    "ollama_chat": ("model", "tools", "messages"),
    "gemini_generate_content": ("tools", "systemInstruction", "contents"),
}
"""The fields of each wire that make up the prompt, in the order in which a vendor reads them."""

_MARKS = ("cache_control", "prompt_cache_breakpoint")
_MOST_PLACES = 1_000_000
_LEAST_TOKENS = 1024


class CachePrefix(Struct, frozen=True, kw_only=True):
    """The common prefix of a request and a later one."""

    path: str | None
    """The first difference, such as `messages[3].content`; `None` where the later request begins with all of the earlier one."""
    byte: int
    """The number of common bytes, in the compact JSON of the prompt."""
    tokens: int
    """The approximate number of tokens of the later request that a vendor can read from its cache."""

    @property
    def whole(self) -> bool:
        """Whether the whole earlier request is a prefix of the later one."""
        return self.path is None


def cache_prefix(earlier: Any, later: Any, *, wire: str = "openai_responses") -> CachePrefix:
    """The common prefix of two requests, for a vendor's prompt cache: `assert cache_prefix(first, second).whole`.

    Both are bodies of `wire` (bytes, text, a dict or the wire's own struct), or a `Request`, which the wire encodes. Cache
    markers may differ. Raises `ConfigError` for an unknown wire and `DecodeError` for an invalid body.
    """
    if wire not in PROMPT:
        raise ConfigError(f"there is no wire {wire!r}", hint=f"there are {', '.join(PROMPT)}")
    before, after = (_Prompt(_document(one, wire), wire) for one in (earlier, later))
    shared = _shared(before.leaves, after.leaves)
    left = [prompt.leaves[shared] for prompt in (after, before) if shared < len(prompt.leaves)]
    path = None
    if shared < len(before.leaves):  # the field that a vendor reads first, where they differ in that
        path = min((path for path, _ in left), key=lambda path: PROMPT[wire].index(path.split(".")[0].split("[")[0]))
    return CachePrefix(path=path, byte=_shared(before.written(), after.written()), tokens=after.tokens(shared))


class PromptCache:
    """A simulated prompt cache of a vendor: the prefixes of all prompts from 1,024 tokens on, up to a limit.

    Threads may share it.
    """

    def __init__(self) -> None:
        self._places: dict[int, None] = {}
        self._lock = Lock()

    def take(self, body: Mapping[str, Any], wire: str, *owner: str | None) -> int:
        """The approximate number of cached tokens of a request for this owner; then the whole prompt is cached."""
        prompt, place, places = _Prompt(body, wire), hash(owner), list[int]()
        for path, value in prompt.leaves:
            place = hash((place, path, str(value)))
            places.append(place)
        with self._lock:
            known = next((i for i, place in enumerate(places) if place not in self._places), len(places))
            self._places.update(dict.fromkeys(places))
            while len(self._places) > _MOST_PLACES:
                del self._places[next(iter(self._places))]
        tokens = prompt.tokens(known)
        return tokens if tokens >= _LEAST_TOKENS else 0


class _Prompt:
    """The prompt of a body: its values with their paths, in the order in which a vendor reads them."""

    def __init__(self, body: Mapping[str, Any], wire: str) -> None:
        as_parts = ("content", "system") if wire in ("anthropic_messages", "openai_chat") else ()
        plain: dict[str, Any] = _plain(body, "", as_parts)
        if isinstance(plain.get("input"), str):
            plain["input"] = [{"type": "message", "role": "user", "content": plain["input"]}]
        self.wire, self.leaves = wire, list[tuple[str, Any]]()
        self._entries: list[tuple[int, str, Any]] = []  # the end of each among the leaves, its field, and its value
        self._lists = {name for name in PROMPT[wire] if isinstance(plain.get(name), list)}
        for name in PROMPT[wire]:
            value = plain.pop(name, None)
            places = [(f"{name}[{i}]", one) for i, one in enumerate(value)] if name in self._lists else [(name, value)]
            for path, one in places if value is not None else ():
                self.leaves += _leaves(one, path)
                self._entries.append((len(self.leaves), name, one))
        self._rest = plain

    def written(self) -> bytes:
        """Its entries as compact JSON."""
        return b"\n".join(msgspec.json.encode({name: value}) for _, name, value in self._entries)

    def tokens(self, leaves: int) -> int:
        """About how many tokens the tools, instructions and messages have that end within the first `leaves` values."""
        cut: dict[str, Any] = {**self._rest, **{name: [] for name in self._lists}}
        for end, name, value in self._entries:
            if end <= leaves and name in self._lists:
                cut[name].append(value)
            elif end <= leaves:
                cut[name] = value
        wire = wires.load(self.wire)
        return estimate_tokens(wire.decode_request(wire.REQUEST.decode(msgspec.json.encode(cut)), keep=False)[0])


def _document(body: Any, wire: str) -> dict[str, Any]:
    if isinstance(body, Request):
        body, _ = wires.load(wire).encode_request(body)
    raw = body if isinstance(body, bytes | str) else msgspec.json.encode(body)
    try:
        found: dict[str, Any] = decoder_of(dict[str, Any]).decode(raw)
        return found
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as problem:
        raise DecodeError(f"expected a request of {wire}: {problem}") from None


def _shared(one: Sequence[Any], other: Sequence[Any]) -> int:
    """The length of the common prefix of two sequences."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _plain(value: Any, name: str, as_parts: tuple[str, ...]) -> Any:
    """A value without cache markers, with the texts of these fields as one part."""
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return {key: _plain(inner, key, as_parts) for key, inner in items if key not in _MARKS}
    if isinstance(value, list):
        return [_plain(inner, "", as_parts) for inner in cast("Any", value)]
    return [{"type": "text", "text": value}] if isinstance(value, str) and name in as_parts else value


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict | list) and value:
        whole = cast("Any", value)
        for key, inner in whole.items() if isinstance(value, dict) else enumerate(whole):
            yield from _leaves(inner, f"{path}.{key}" if isinstance(key, str) else f"{path}[{key}]")
    else:
        yield path, value
