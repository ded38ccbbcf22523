"""`ContentGenerator`: a prompt and its context, sent turn after turn, each answer as a value of a type.

The history grows at its end only (`context.py`), and an answer becomes part of it once it is a value of the type. Before
changing this file, know that a turn which failed leaves no trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from .call import whole
from .context import PromptContext
from .errors import ConfigError, OutputError
from .responses.items import AnyItem, Message

if TYPE_CHECKING:
    from .client import AsyncClient, Client  # noqa: F401 (named as text below)
    from .context import Entry, Provider
    from .reply import Reply
    from .running import Offers

C = TypeVar("C")
T = TypeVar("T")
Asked = str | Sequence[AnyItem]
"""The question of a turn: a text of the user, or items."""


class _Generating(Generic[C, T]):
    """What `ContentGenerator` and `AsyncContentGenerator` share."""

    def __init__(
        self,
        llm: C,
        prompt: Asked,
        output: type[T] | Mapping[str, Any],
        *,
        context: PromptContext | None = None,
        tools: Offers = None,
        **options: Any,
    ) -> None:
        self._llm = llm
        self.prompt = prompt
        """The question of every turn that brings no `input`: a text, or items."""
        self.context = context or PromptContext()
        """The fixed entries and providers that are sent with the prompt."""
        self.history: list[AnyItem] = []
        """The conversation: the entries of the context, and for every turn what providers gave, the question and the answer."""
        self._entries = 0  # of the context, that are part of the history
        self._tools = () if tools is None else tools
        self._options: dict[str, Any] = options if output is str else {**options, "output": output}
        _check(prompt, "prompt")
        self._add_entries()

    def add_context(self, *entries: str | Entry | AnyItem) -> None:
        """Add entries to the context. They follow what was sent before, and stay there."""
        self.context.add(*entries)

    def add_context_provider(self, provider: Provider) -> None:
        """Add a function to the context that is called before every turn from now on."""
        self.context.add_provider(provider)

    def _add_entries(self) -> None:
        self.history += self.context.items[self._entries :]
        self._entries = len(self.context.items)

    def _question(self, input: Asked | None) -> Sequence[AnyItem]:
        question = self.prompt if input is None else input
        _check(question, "prompt" if input is None else "input")
        self._add_entries()
        return [Message(role="user", content=question)] if isinstance(question, str) else question

    def _answered(self, conversation: list[AnyItem], found: Reply) -> tuple[T, dict[str, str]]:
        text = whole(found)
        if found.function_calls:
            names = ", ".join(call.name for call in found.function_calls)
            raise OutputError(
                f"the model calls {names}, which nothing here runs",
                raw=text,
                partial=found,
                hint="give tools= functions, or an executor=",
            )
        self.history = conversation
        return cast("T", found.parsed if "output" in self._options else text), found.info.metadata


def _check(asked: Asked, name: str) -> None:
    if not (asked.strip() if isinstance(asked, str) else asked):
        raise ConfigError(f"{name} is empty", hint="give a text, or items")


class ContentGenerator(_Generating["Client", T]):
    """Sends `prompt` with its context and returns each answer as `output`: `str` for plain text, a type, or a JSON Schema.

    Every turn is sent with the turns before it. With `tools`, which the tool loop runs, the answer is the one after all
    calls. `options` are those of `generate`, with tools those of `run`. Not for several threads at once. Raises `ConfigError`
    for an empty prompt.
    """

    def generate(self, input: Asked | None = None) -> tuple[T, dict[str, str]]:
        """One turn: the answer as a value of the output type, and the metadata of its call (`CallInfo.metadata`).

        `input` is sent instead of the prompt. Raises the errors of `generate`, and `OutputError` where the answer is no such
        value; a turn that fails is not added to the history.
        """
        question = self._question(input)
        asked = [*self.history, *self.context.provided(), *question]
        if not self._tools:
            found = self._llm.generate(asked, **self._options)
            return self._answered([*asked, *found.output], found)
        run = self._llm.run(asked, self._tools, **self._options)
        found = run.result()
        return self._answered(run.state.items, found)


class AsyncContentGenerator(_Generating["AsyncClient", T]):
    """`ContentGenerator` for async callers; providers of its context may be asynchronous."""

    async def generate(self, input: Asked | None = None) -> tuple[T, dict[str, str]]:
        """One turn: the answer as a value of the output type, and the metadata of its call (`CallInfo.metadata`).

        `input` is sent instead of the prompt. Raises the errors of `generate`, and `OutputError` where the answer is no such
        value; a turn that fails is not added to the history.
        """
        question = self._question(input)
        asked = [*self.history, *await self.context.aprovided(), *question]
        if not self._tools:
            found = await self._llm.generate(asked, **self._options)
            return self._answered([*asked, *found.output], found)
        run = self._llm.run(asked, self._tools, **self._options)
        found = await run.result()
        return self._answered(run.state.items, found)
