"""`ContentGenerator`: a prompt with context, sent turn after turn, each answer a value of a type; and `PromptContext`.

Context is made of fixed entries and of providers that are called before every turn. Before changing this file, know that
every request begins with the one before it, unchanged, because vendors' prompt caches depend on that; and that a
turn that failed is not added to the history.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from inspect import isawaitable, iscoroutine
from typing import TYPE_CHECKING, Any, Generic, TypeGuard, TypeVar, cast

from ..errors import ConfigError, OutputError, printable
from ..responses.items import AnyItem, Message
from .generate import complete_text

if TYPE_CHECKING:
    from .client import AsyncClient, Client  # noqa: F401 (named as text below)
    from .reply import Reply
    from .run import Offers

Entry = tuple[str, str]
"""A role and a text. The role `human` means `user`, `agent` means `assistant`."""

ROLES = ("system", "developer", "human", "user", "assistant", "agent")

Provided = str | Entry | AnyItem | Sequence["Entry | AnyItem"] | None
"""What a context provider returns: a text (of the user), an entry, an item, several of them, or nothing."""

Provider = Callable[[], Provided | Awaitable[Provided]]
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

    def __repr__(self) -> str:
        return f"<PromptContext: entries {len(self.items)}, providers {len(self.providers)}; see .add .add_provider>"

    def add(self, *entries: str | Entry | AnyItem) -> None:
        """Add fixed entries: a text (of the user), `(role, text)`, or an item. Raises `ConfigError` for anything else."""
        self.items += [_item(entry) for entry in entries]

    def add_provider(self, provider: Provider) -> None:
        """Add a function that is called before every turn. Raises `ConfigError` for an object that is not callable."""
        if not callable(provider):
            raise ConfigError(f"a context provider is a function without arguments, not a {type(provider).__name__}")
        self.providers.append(provider)

    def provided(self) -> list[AnyItem]:
        """The items that the providers return now. Raises `ConfigError` for an async provider."""
        return [item for provider in self.providers for item in _items(_sync_only(provider()))]

    async def aprovided(self) -> list[AnyItem]:
        """The items that the providers return now, called one after the other; async providers are awaited."""
        made: list[AnyItem] = []
        for provider in self.providers:
            provided = provider()
            made += _items(await provided if isawaitable(provided) else provided)
        return made


def _sync_only(provided: Provided | Awaitable[Provided]) -> Provided:
    if not isawaitable(provided):
        return provided
    if iscoroutine(provided):
        provided.close()  # or Python would warn that it was never awaited
    raise ConfigError("a context provider has to be awaited", hint="use AsyncContentGenerator")


def _items(provided: Provided) -> list[AnyItem]:
    if provided is None or provided == "":
        return []
    if isinstance(provided, list | tuple) and not _is_entry(provided):
        return [_item(one) for one in cast("Any", provided)]
    return [_item(provided)]


def _is_entry(value: Any) -> TypeGuard[Entry]:
    return isinstance(value, tuple) and len(cast("Any", value)) == 2 and value[0] in ROLES and isinstance(value[1], str)


def _item(entry: Any) -> AnyItem:
    if isinstance(entry, str):
        return Message(role="user", content=entry)
    if isinstance(entry, list | tuple):
        entry = tuple(cast("Any", entry))
        if not _is_entry(entry):
            raise ConfigError(f"an entry of context is (role, text) with a role of {', '.join(ROLES)}, not {entry!r}")
        return Message(role=entry[0], content=entry[1])
    return deepcopy(cast("AnyItem", entry))  # a copy, since the caller may change an item that a provider returns again


C = TypeVar("C")
T = TypeVar("T")
Prompt = str | Sequence[AnyItem]
"""The input of a turn: a text of the user, or items."""


class _GeneratorBase(Generic[C, T]):
    """The shared part of `ContentGenerator` and `AsyncContentGenerator`."""

    def __init__(
        self,
        llm: C,
        prompt: Prompt,
        output: type[T] | Mapping[str, Any],
        *,
        context: PromptContext | None = None,
        tools: Offers = None,
        **options: Any,
    ) -> None:
        self._llm = llm
        self.prompt = prompt
        """The input of every turn that is called without `input`: a text, or items."""
        self.context = context or PromptContext()
        """The fixed entries and providers that are sent with the prompt."""
        self.history: list[AnyItem] = []
        """The conversation: the entries of the context, and for every turn what providers gave, the question and the answer."""
        self._entries = 0  # items of the context that are part of the history
        self._tools = () if tools is None else tools
        self._options: dict[str, Any] = options if output is str else {**options, "output": output}
        _check(prompt, "prompt")
        self._add_entries()

    def __repr__(self) -> str:
        prompt = repr(printable(self.prompt, 60)) if isinstance(self.prompt, str) else f"{len(self.prompt)} items"
        return f"<{type(self).__name__}: {prompt}, items {len(self.history)}; see .generate .history>"

    def add_context(self, *entries: str | Entry | AnyItem) -> None:
        """Add entries to the context. They are sent after the earlier history, and stay in it."""
        self.context.add(*entries)

    def add_context_provider(self, provider: Provider) -> None:
        """Add a function to the context that is called before every turn from now on."""
        self.context.add_provider(provider)

    def _add_entries(self) -> None:
        self.history += self.context.items[self._entries :]
        self._entries = len(self.context.items)

    def _question(self, input: Prompt | None) -> Sequence[AnyItem]:
        question = self.prompt if input is None else input
        _check(question, "prompt" if input is None else "input")
        self._add_entries()
        return [Message(role="user", content=question)] if isinstance(question, str) else question

    def _answered(self, conversation: list[AnyItem], found: Reply) -> tuple[T, dict[str, str]]:
        text = complete_text(found)
        if found.function_calls:
            names = ", ".join(call.name for call in found.function_calls)
            raise OutputError(
                f"the model called {names}, but no implementation was given",
                raw=text,
                partial=found,
                hint="pass functions in tools=, or an executor=",
            )
        self.history = conversation
        return cast("T", found.parsed if "output" in self._options else text), found.info.metadata


def _check(input_items: Prompt, name: str) -> None:
    if not (input_items.strip() if isinstance(input_items, str) else input_items):
        raise ConfigError(f"{name} is empty", hint="give a text, or items")


class ContentGenerator(_GeneratorBase["Client", T]):
    """Sends `prompt` with its context and returns each answer as `output`: `str` for plain text, a type, or a JSON Schema.

    Every turn is sent with the turns before it. With `tools`, which the tool loop runs, the answer is the one after all
    calls. `options` are those of `generate`, with tools those of `run`. Not for several threads at once. Raises `ConfigError`
    for an empty prompt.
    """

    def generate(self, input: Prompt | None = None) -> tuple[T, dict[str, str]]:
        """One turn: the answer as a value of the output type, and the metadata of its call (`CallInfo.metadata`).

        `input` is sent instead of the prompt. Raises the errors of `generate`, and `OutputError` where the answer does
        not match; a turn that fails is not added to the history.
        """
        question = self._question(input)
        input_items = [*self.history, *self.context.provided(), *question]
        if not self._tools:
            found = self._llm.generate(input_items, **self._options)
            return self._answered([*input_items, *found.output], found)
        run = self._llm.run(input_items, self._tools, **self._options)
        found = run.result()
        return self._answered(run.state.items, found)


class AsyncContentGenerator(_GeneratorBase["AsyncClient", T]):
    """`ContentGenerator` for async callers; providers of its context may be asynchronous."""

    async def generate(self, input: Prompt | None = None) -> tuple[T, dict[str, str]]:
        """One turn: the answer as a value of the output type, and the metadata of its call (`CallInfo.metadata`).

        `input` is sent instead of the prompt. Raises the errors of `generate`, and `OutputError` where the answer does
        not match; a turn that fails is not added to the history.
        """
        question = self._question(input)
        input_items = [*self.history, *await self.context.aprovided(), *question]
        if not self._tools:
            found = await self._llm.generate(input_items, **self._options)
            return self._answered([*input_items, *found.output], found)
        run = self._llm.run(input_items, self._tools, **self._options)
        found = await run.result()
        return self._answered(run.state.items, found)
