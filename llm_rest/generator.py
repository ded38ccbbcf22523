"""`ContentGenerator`: a prompt and its context, turn after turn, each answer as a value of a type.

What was said grows at its end only (`context.py`), and an answer becomes part of it once it is a value of the type. Before
changing this file, know that a turn which failed leaves no trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from .call import whole
from .context import PromptContext
from .errors import OutputError
from .responses.items import AnyItem, Message

if TYPE_CHECKING:
    from .client import AsyncClient, Client  # noqa: F401 (named as text below)
    from .reply import Reply

C = TypeVar("C")
T = TypeVar("T")
Asked = str | list[AnyItem]


class _Generating(Generic[C, T]):
    """What both kinds of generator share."""

    def __init__(
        self,
        llm: C,
        prompt: Asked,
        output: type[T] | Mapping[str, Any],
        *,
        context: PromptContext | None = None,
        **options: Any,
    ) -> None:
        self._llm = llm
        self.prompt = prompt
        self.context = context or PromptContext()
        self.history: list[AnyItem] = list(self.context.items)
        """All that was said: the fixed entries, and for every turn what providers said, the question and the answer."""
        self._options: dict[str, Any] = options if output is str else {**options, "output": output}

    def _asked(self, provided: list[AnyItem], input: Asked | None) -> list[AnyItem]:
        question = self.prompt if input is None else input
        new = [Message(role="user", content=question)] if isinstance(question, str) else question
        return [*self.history, *provided, *new]

    def _answered(self, asked: list[AnyItem], found: Reply) -> tuple[T, dict[str, str]]:
        text = whole(found)
        if found.function_calls:
            raise OutputError("the model calls tools, which a generator does not run", raw=text, partial=found)
        self.history = [*asked, *found.output]
        return cast("T", found.parsed if "output" in self._options else text), found.info.metadata


class ContentGenerator(_Generating["Client", T]):
    """Asks `prompt` with its context and gives each answer as `output`: `str` for plain text, a type, or a JSON Schema.

    Every turn sees the turns before it. `options` are those of `generate`. Not for several threads at once.
    """

    def generate(self, input: Asked | None = None) -> tuple[T, dict[str, str]]:
        """The answer and the metadata of its call. `input` is asked this time instead of the prompt."""
        asked = self._asked(self.context.provided(), input)
        return self._answered(asked, self._llm.generate(asked, **self._options))


class AsyncContentGenerator(_Generating["AsyncClient", T]):
    """`ContentGenerator` for async callers; providers of its context may be asynchronous."""

    async def generate(self, input: Asked | None = None) -> tuple[T, dict[str, str]]:
        """The answer and the metadata of its call. `input` is asked this time instead of the prompt."""
        asked = self._asked(await self.context.aprovided(), input)
        return self._answered(asked, await self._llm.generate(asked, **self._options))
