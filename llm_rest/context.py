"""Prompt context: fixed entries, and providers that are called before every turn.

Before changing this file, know the law of all context: what was sent once is sent again unchanged, and everything new comes
after it, because vendors' prompt caches live from that. So what a provider said is kept where it was said.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from inspect import isawaitable, iscoroutine
from typing import Any, TypeGuard, cast

from .errors import ConfigError
from .responses.items import AnyItem, Message

Entry = tuple[str, str]
"""A role and a text. The role `human` means `user`, `agent` means `assistant`."""

ROLES = ("system", "developer", "human", "user", "assistant", "agent")

Told = str | Entry | AnyItem | Sequence["Entry | AnyItem"] | None
"""What a context provider returns: a text (of the user), an entry, an item, several of them, or nothing."""

Provider = Callable[[], Told | Awaitable[Told]]
"""A context provider: a function without arguments, called before every turn; async for `AsyncContentGenerator` only."""


class PromptContext:
    """The context of a prompt: fixed entries, and providers that are called before every turn.

    Raises `ConfigError` for an entry that is neither a text, `(role, text)` nor an item.
    """

    def __init__(self, entries: Iterable[Entry | AnyItem] = (), providers: Iterable[Provider] = ()) -> None:
        if isinstance(cast("Any", entries), str):
            raise ConfigError("the entries of a context are a list", hint='PromptContext([("system", "...")])')
        self.items: list[AnyItem] = [_item(entry) for entry in entries]
        """The fixed entries as items, in order."""
        self.providers: list[Provider] = []
        """The functions that are called before every turn, in order."""
        for provider in providers:
            self.add_provider(provider)

    def add(self, *entries: str | Entry | AnyItem) -> None:
        """Add fixed entries: a text (of the user), `(role, text)`, or an item. Raises `ConfigError` for anything else."""
        self.items += [_item(entry) for entry in entries]

    def add_provider(self, provider: Provider) -> None:
        """Add a function that is called before every turn. Raises `ConfigError` for what cannot be called."""
        if not callable(provider):
            raise ConfigError(f"a context provider is a function without arguments, not a {type(provider).__name__}")
        self.providers.append(provider)

    def provided(self) -> list[AnyItem]:
        """The items that the providers return now. Raises `ConfigError` for an async provider."""
        return [item for provider in self.providers for item in _items(_at_once(provider()))]

    async def aprovided(self) -> list[AnyItem]:
        """The items that the providers return now, called one after the other; async providers are awaited."""
        made: list[AnyItem] = []
        for provider in self.providers:
            told = provider()
            made += _items(await told if isawaitable(told) else told)
        return made


def _at_once(told: Told | Awaitable[Told]) -> Told:
    if not isawaitable(told):
        return told
    if iscoroutine(told):
        told.close()  # or Python would warn that nobody awaited it
    raise ConfigError("a context provider has to be awaited", hint="use AsyncContentGenerator")


def _items(told: Told) -> list[AnyItem]:
    if told is None or told == "":
        return []
    if isinstance(told, list | tuple) and not _is_entry(told):
        return [_item(one) for one in cast("Any", told)]
    return [_item(told)]


def _is_entry(told: Any) -> TypeGuard[Entry]:
    return isinstance(told, tuple) and len(cast("Any", told)) == 2 and told[0] in ROLES and isinstance(told[1], str)


def _item(entry: Any) -> AnyItem:
    if isinstance(entry, str):
        return Message(role="user", content=entry)
    if isinstance(entry, list | tuple):
        entry = tuple(cast("Any", entry))
        if not _is_entry(entry):
            raise ConfigError(f"an entry of context is (role, text) with a role of {', '.join(ROLES)}, not {entry!r}")
        return Message(role=entry[0], content=entry[1])
    return cast("AnyItem", entry)
