"""`Chat` and `AsyncChat`: turns of a conversation with a model; `llm.chat(...)` makes them.

Each turn is a run of the tool loop over the items before it. Its new items become part of the conversation when it has
completed: first in the store, then in memory. Before changing this file, know that a turn that fails, is cancelled or cannot be
stored does not change the conversation, unless the partial answer is kept (`keep_partial`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from copy import copy, deepcopy
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack, cast

from msgspec import Struct
from msgspec.structs import replace

from ..client.generate import generate
from ..client.generator import PromptContext
from ..client.history import History
from ..client.loss_reports import CallSite
from ..client.options import SETTINGS, as_list, check_names, wrap_secrets
from ..client.reply import reply, sum_calls
from ..client.run import ChatOptions, LoopOptions, NewChat, async_run_of, run_of
from ..client.stream import TextDeltas
from ..errors import ConfigError, LLMError, StoreError, ToolError
from ..loop.events import LLMResponse
from ..loop.state import Totals, totals_of
from ..responses.events import OutputTextDelta
from ..responses.items import FunctionCall, Message
from ..responses.request import Request
from ..sync import drive
from ..tools import Toolbox
from .conversation import CONVERSATION, Conversation, PendingContext, turn_input
from .limits import HistoryLimits, Window, summary_message, summary_of, window_of
from .tools import EndConversationTool, SendMessageTool

if TYPE_CHECKING:
    from ..client.call import Caller
    from ..client.options import Input
    from ..client.reply import CallInfo, Reply
    from ..loop.events import AnyLoopEvent
    from ..loop.tasks import AsyncRun
    from ..loop.threads import Run
    from ..responses.events import AnyEvent
    from ..responses.items import AnyItem
    from .store import ConversationStore


_OWN = NewChat.__annotations__.keys() - ChatOptions.__annotations__.keys()
"""The options that are not options of a turn."""


class _Turn(Struct):
    """A turn in progress: its run, where in the run's items it begins, and how long the conversation was."""

    run: Any
    talk: Conversation
    first: int
    length: int
    window: Window
    message_id: str | None
    history: History
    text: list[str] = []
    """The text of the answer that is being streamed."""
    committed: bool = False


class _BaseChat:
    """The shared part of `Chat` and `AsyncChat`. Its coroutines suspend in an `AsyncChat` only."""

    _run_of: ClassVar[Callable[..., Any]]
    _is_async: ClassVar[bool]

    def __init__(self, caller: Caller, options: dict[str, Any]) -> None:
        own: dict[str, Any] = {name: options.pop(name, None) for name in _OWN}
        conversation, store, context = own["conversation"], own["store"], own["context"]
        wrap_secrets(options)
        fields = {name: value for name, value in options.items() if name not in LoopOptions.__annotations__}
        check_names(fields, stream=True)
        if options.get("state") is not None:
            raise ConfigError(
                "a chat does not resume a run", hint="llm.run(state=...), and conversation= for the items"
            )
        self._limits: HistoryLimits = options.pop("limits", None) or HistoryLimits()
        self._window = window_of(self._limits)
        self._caller, self._options = caller.with_options({}), options
        self._tools = None if own["tools"] is None else [*as_list(own["tools"])]
        self._stored: tuple[str, list[AnyItem]] | None = None
        """The id of the stored conversation, and copies of its items in the store."""
        if isinstance(conversation, str):
            if store is None:
                what = "conversation= is an id, and there is no store"
                raise ConfigError(what, hint="give store=, or the Conversation")
            conversation = store.get(conversation)
        self.conversation: Conversation = Conversation() if conversation is None else conversation
        """The conversation; a turn becomes part of it when it has completed."""
        if own["system"] is not None:
            self.conversation.set_system_prompt(own["system"])
        self.store: ConversationStore | None = store
        """The store of the conversation; `None` for memory only."""
        self.context: PromptContext = PromptContext() if context is None else context
        """Entries that are sent before the history, and providers that are called for every turn and stay in the history."""
        self.keep_partial = bool(own["keep_partial"])
        """Whether a turn that fails or is cancelled is kept, with the partial answer."""
        self.end_error: LLMError | None = None
        """Why the conversation could not be completed when the model asked for that; `None` where nothing failed."""
        self._end_requested: tuple[str, str | None] | None = None
        self._uncounted: list[CallInfo] = []  # summaries that are not yet counted in a reply
        self._history = History()
        self._earlier = Totals()  # the totals of the earlier turns,
        self._run_now: Any = None  # and the run of the latest turn

    def __repr__(self) -> str:
        return f"<{type(self).__name__} about {self.conversation!r}; see .ask .stream .run>"

    @property
    def totals(self) -> Totals:
        """The sums over all model calls of this chat so far: tokens, cost in nano-dollars, seconds; failed turns included."""
        return self._earlier if self._run_now is None else self._earlier + self._run_now.state.totals

    # --- one turn

    async def _begin(self, input: Input, message_id: str | None, options: Any, site: CallSite) -> _Turn:
        await self._complete_if_requested()
        provided = await self.context.aprovided() if self._is_async else self.context.provided()
        talk, items = self.conversation, turn_input(input)
        self._caller.conversation_id = talk.id
        if talk.state.completed_at is not None:
            raise ConfigError(f"conversation {talk.id!r} is completed", hint="continue with a fork() of it")
        if message_id is None:
            message_id = next((one.id for one in items if isinstance(one, Message) and one.role == "user"), None)
        fixed = [*talk.context, *self.context.items]
        how = {"instructions": talk.instructions, **self._options, **options}
        # Options that two turns never share.
        history, window = self._history, self._window
        self._history, self._window = History(), Window(self._limits)
        window.limits = window_of(how.pop("limits", None) or self._limits).limits
        window.fixed, window.compacted = len(fixed), talk.compacted
        if talk.compacted is not None or window.limits != HistoryLimits():
            how["limits"] = window
        caller = copy(self._caller)
        caller.history = history
        run = self._run_of(caller, items, self._tools, how, site, (fixed, [*talk.items, *provided]))
        self._earlier, self._run_now = self.totals, run
        length = len(talk.items)
        turn = _Turn(run, talk, len(fixed) + length, length, window, message_id, history)
        conclude = partial(self._conclude, turn, run._concluded)
        if self._is_async:
            run._conclude_later = conclude
        else:
            run._concluded = lambda: drive(conclude())
        return turn

    async def _turn_reply(self, *turn: Any) -> Reply:
        return await self._finish(await self._begin(*turn))

    async def _run(self, *turn: Any) -> Any:
        return (await self._begin(*turn)).run

    async def _finish(self, turn: _Turn) -> Reply:
        """The last reply of a turn, which is then added to the conversation."""
        run = turn.run
        try:
            found = None if run.state.outcome == "waiting" else run.result()
            found = await found if isawaitable(found) else found
            if found is None or run.state.outcome == "waiting":
                names = ", ".join(call.name for call in run.pending_calls)
                hint = "give approve=, or use chat.run(...), decide there and call result() again"
                waiting = ToolError(f"the turn waits for a decision about {names}", partial=found, hint=hint)
                waiting.run = run.state
                raise waiting
        except BaseException as problem:
            await self._abandon(turn, getattr(problem, "partial", None))
            raise
        await self._complete_if_requested()
        spent, self._uncounted = self._uncounted, []
        return reply(found, sum_calls([*spent, found.info])) if spent else found

    async def _conclude(self, turn: _Turn, concluded: Callable[[], Reply]) -> Reply:
        """The result of a run, which is then added to the conversation."""
        try:
            found = concluded()
        except BaseException as problem:
            await self._abandon(turn, getattr(problem, "partial", None))
            raise
        if turn.run.state.outcome == "completed":
            turn.history.answered = turn.run.state.items
            await self._blocking(self._commit, turn)
        return found

    async def _abandon(self, turn: _Turn, partial: Reply | None = None) -> None:
        """End a turn that did not complete; with `keep_partial` its new items are kept."""
        self._history, self._window = turn.history, turn.window
        state = turn.run.state
        if not self.keep_partial or state.outcome == "completed":  # the partial answer could not be stored
            return
        text = "".join(turn.text)
        if not text and partial is not None and (state.response is None or partial.id != state.response.id):
            text = partial.output_text
        gained: list[AnyItem] = state.items[turn.first :]
        gained += [Message(role="assistant", content=text)] if text else []
        if any(isinstance(item, FunctionCall) or getattr(item, "role", None) == "assistant" for item in gained):
            await self._blocking(self._commit, turn, gained)

    def _commit(self, turn: _Turn, gained: list[AnyItem] | None = None) -> None:
        """Add the new items of a turn to the conversation, first in the store."""
        talk, run = turn.talk, turn.run.state
        if turn.committed:
            return
        if talk is not self.conversation or len(talk.items) != turn.length:
            raise ConfigError("the conversation has changed during the turn", hint="one turn of a chat at a time")
        new_items: list[AnyItem] = run.items[turn.first :] if gained is None else gained
        pending, ending = None, None
        done = [call for call in run.calls if call.state == "completed"]
        tools = {
            one.name: one for one in as_list(self._tools) if isinstance(one, SendMessageTool | EndConversationTool)
        }
        for call in done:
            if (tool := tools.get(call.name)) is None:
                continue
            arguments = tool.typed(call.parsed_arguments)
            if isinstance(tool, EndConversationTool):
                ending = arguments["reason"], tool.model
            elif arguments.get("is_question"):
                pending = PendingContext(
                    original_message_id=turn.message_id,
                    last_agent_message=arguments["message"],
                    tool_calls_completed=[one.name for one in done],
                )
        state = replace(talk.state, pending_context=pending)
        new = replace(talk, items=[*talk.items, *new_items], state=state, compacted=turn.window.compacted)
        self._store(talk, new)
        talk.items, talk.state, talk.compacted = new.items, new.state, new.compacted
        self._end_requested, turn.committed = ending, True
        self._history, self._window = turn.history, turn.window

    def _store(self, talk: Conversation, new: Conversation) -> None:
        if self.store is None:
            return
        if self._stored is None or self._stored[0] != talk.id:
            try:
                self._stored = talk.id, self.store.get(talk.id).items
            except StoreError as problem:
                if problem.reason != "not_found":
                    raise
                self.store.create(new)
                self._stored = talk.id, CONVERSATION.decode(new.save()).items
                return
        stored = self._stored[1]
        if stored != talk.items[: len(stored)]:
            what = f"the store has other items of conversation {talk.id!r}; stored items cannot be changed"
            raise StoreError(what, reason="conflict", hint="continue with a fork() of the conversation")
        self.store.append(new, len(stored))
        stored += deepcopy(new.items[len(stored) :])

    # --- the end of a conversation

    async def _complete_if_requested(self) -> None:
        """Complete the conversation if the model requested it: summarise, store, begin a new one. On failure it stays open."""
        if self._end_requested is None:
            return
        (reason, model), self._end_requested, self.end_error = self._end_requested, None, None
        talk = self.conversation
        kept = talk.items if talk.compacted is None else [*talk.compacted.items, *talk.items[talk.compacted.count :]]
        items = [*talk.context, *self.context.items, *kept]
        tools = Toolbox(as_list(self._tools)).definitions
        request = Request(input=items, instructions=talk.instructions, tools=tools or None)
        try:
            found = await summary_of(request, self._send, model)
            if self.store is not None:
                await self._blocking(self.store.complete, talk.id, summary=found.output_text, reason=reason)
        except LLMError as problem:
            self.end_error = problem
            logging.getLogger("llm_rest").warning("conversation %s stays open: %s", talk.id, problem)
            return
        self._uncounted.append(found.info)
        self._earlier += totals_of(found, found.info.duration)
        ended = {"completed_at": time.time(), "summary": found.output_text, "reason": reason, "pending_context": None}
        talk.state = replace(talk.state, **ended)
        begin: list[AnyItem] = [summary_message(found)]
        self.conversation = Conversation(instructions=talk.instructions, context=[*talk.context], items=begin)

    async def _send(self, request: Request) -> Reply:
        """The reply to a request outside of the conversation, with the settings of the chat."""
        how = {name: value for name, value in self._options.items() if name in SETTINGS or name == "model"}
        if request.model:
            how.pop("model", None)
        return await generate(self._caller, request, how, CallSite())

    async def _blocking(self, function: Callable[..., None], *arguments: Any, **named: Any) -> None:
        """Call a method of the store, in a thread where an event loop runs."""
        if self._is_async:
            import anyio

            with anyio.CancelScope(shield=True):  # a write that has begun is finished
                await anyio.to_thread.run_sync(partial(function, *arguments, **named))
        else:
            function(*arguments, **named)


class Chat(_BaseChat):
    """A conversation with a model, turn by turn; `llm.chat(...)` makes one. One turn at a time."""

    _run_of, _is_async = staticmethod(run_of), False

    def ask(self, input: Input, *, message_id: str | None = None, **options: Unpack[ChatOptions]) -> Reply:
        """One turn: the model's reply, after all calls of the chat's tools. `options` are those of `run`, such as `model=`.

        `message_id` is the program's id of the user's message. Raises the errors of `run`, and `StoreError`; the conversation
        is not changed then, or has the partial answer with `keep_partial`.
        """
        return drive(self._turn_reply(input, message_id, options, CallSite()))

    def stream(self, input: Input, *, message_id: str | None = None, **options: Unpack[ChatOptions]) -> ChatStream:
        """Streaming of one turn, in a `with`: iterate over its events, or over `.text`; `.reply` is there at the end."""
        return ChatStream(self, partial(self._begin, input, message_id, options, CallSite()))

    def run(self, input: Input, *, message_id: str | None = None, **options: Unpack[ChatOptions]) -> Run[Reply]:
        """One turn as a `Run`, to watch it or to decide about its calls. It is part of the conversation once its `result()`
        is there.
        """
        return drive(self._run(input, message_id, options, CallSite()))


class AsyncChat(_BaseChat):
    """`Chat` for async callers; providers of its context may be async, and the store works in a thread."""

    _run_of, _is_async = staticmethod(async_run_of), True

    def ask(
        self, input: Input, *, message_id: str | None = None, **options: Unpack[ChatOptions]
    ) -> Coroutine[Any, Any, Reply]:
        """One turn: the model's reply, after all calls of the chat's tools. Arguments and errors as of `Chat.ask`."""
        return self._turn_reply(input, message_id, options, CallSite())

    def stream(self, input: Input, *, message_id: str | None = None, **options: Unpack[ChatOptions]) -> AsyncChatStream:
        """Streaming of one turn, in an `async with`: iterate over its events, or over `.text`; `.reply` is there at the end."""
        return AsyncChatStream(self, partial(self._begin, input, message_id, options, CallSite()))

    def run(
        self, input: Input, *, message_id: str | None = None, **options: Unpack[ChatOptions]
    ) -> Coroutine[Any, Any, AsyncRun[Reply]]:
        """One turn as an `AsyncRun`: `run = await chat.run(...)`. See `Chat.run`."""
        return self._run(input, message_id, options, CallSite())


class _ChatStream:
    """The shared part of both streams."""

    def __init__(self, chat: Any, begin: Any) -> None:
        self._chat, self._begin = chat, begin
        self._turn: Any = None
        self._events: Any = None
        self._reply: Reply | None = None

    def _open_events(self) -> Any:
        if self._events is None:
            raise ConfigError("a streamed turn is read inside a `with`", hint="with chat.stream(...) as stream: ...")
        return self._events

    def _note_event(self, event: Any) -> AnyLoopEvent | AnyEvent:
        if isinstance(event, OutputTextDelta):
            self._turn.text.append(event.delta)
        elif isinstance(event, LLMResponse):  # its text is among the items now
            self._turn.text.clear()
        return cast("AnyLoopEvent | AnyEvent", event)

    async def _finish_turn(self) -> None:
        self._reply = self._reply or await self._chat._finish(self._turn)

    async def _abandon(self) -> None:
        if self._reply is None:
            await self._chat._abandon(self._turn)

    @property
    def reply(self) -> Reply:
        """The model's last reply. Raises `ConfigError` before the end of the turn."""
        if self._reply is None:
            raise ConfigError("the turn has not ended", hint="iterate over the stream, or over its .text, to the end")
        return self._reply


class ChatStream(_ChatStream):
    """A streamed turn of a chat: events of the answers and of the run, or `.text` alone. Use it in a `with`.

    Raises the errors of `ask` at its end; leaving it early cancels the turn.
    """

    def __enter__(self) -> Self:
        self._turn = drive(self._begin())
        self._events = self._turn.run.stream().__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        self._events.__exit__(*failure)
        drive(self._abandon())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> AnyLoopEvent | AnyEvent:
        for event in self._open_events():
            return self._note_event(event)
        drive(self._finish_turn())
        raise StopIteration

    @property
    def text(self) -> Iterator[str]:
        """Iterates over the text deltas of all answers of the turn, as `str`."""
        return (event.delta for event in self if isinstance(event, OutputTextDelta) and event.delta)


class AsyncChatStream(_ChatStream):
    """`ChatStream` for async callers: `async with`, `async for`."""

    async def __aenter__(self) -> Self:
        self._turn = await self._begin()
        self._events = await self._turn.run.stream().__aenter__()
        return self

    async def __aexit__(self, *failure: Any) -> None:
        await self._events.__aexit__(*failure)
        await self._abandon()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AnyLoopEvent | AnyEvent:
        async for event in self._open_events():
            return self._note_event(event)
        await self._finish_turn()
        raise StopAsyncIteration

    @property
    def text(self) -> AsyncIterator[str]:
        """Iterates over the text deltas of all answers of the turn, as `str`."""
        return TextDeltas(self)
