"""Tools for the model of a chat: send a message or a question, end the conversation, read earlier ones.

Before changing this file, know that a tool has no reference to the chat: the chat reads questions and the end from the calls
of a finished turn, so a turn that fails changes nothing, and a saved and resumed run has the same effect.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from inspect import isawaitable
from typing import Any

import msgspec
from msgspec import Struct, to_builtins

from ..errors import StoreError, ToolFailedError
from ..sync import drive
from ..tools.function import Tool, is_coroutine_function
from .store import ConversationStore

MOST_LISTED = 100
"""The most conversations that `get_conversation_tool` lists."""

_SENT = "The message was sent."
_QUESTION_SENT = "The question was sent. End your turn now: the user's answer begins the next one."
_ENDS = "The conversation ends after this turn. Say goodbye now."


class AgentMessage(Struct, frozen=True, kw_only=True):
    """A message of the agent, as `deliver` of `send_message_tool` receives it."""

    message: str
    """The text."""
    is_question: bool
    """Whether the agent waits for an answer."""
    source: str | None
    """Who sends it, as the program set it."""
    priority: str | int | None
    """How urgent it is, as the program set it."""


class SendMessageTool(Tool[..., Any]):
    """The tool that `send_message_tool` makes."""


class EndConversationTool(Tool[..., Any]):
    """The tool that `end_conversation_tool` makes."""

    model: str | None = None
    """The model that summarises; `None` for that of the chat."""


def send_message_tool(
    deliver: Callable[[AgentMessage], object | Awaitable[object]],
    *,
    source: str | None = None,
    priority: str | int | None = None,
    name: str = "send_message",
) -> SendMessageTool:
    """A tool with which the model sends the user a message (`message`, `is_question`).

    `deliver` receives it as an `AgentMessage`, and may be async for an `AsyncClient`. After a question a chat waits for the
    user's answer (`conversation.is_waiting_for_response`).
    """

    async def send_message(message: str, is_question: bool = False) -> str:
        """Send the user a message.

        Args:
            message: The text for the user.
            is_question: Whether you wait for the user's answer.
        """
        sent = AgentMessage(message=message, is_question=is_question, source=source, priority=priority)
        delivered = deliver(sent)
        if isawaitable(delivered):
            await delivered
        return _QUESTION_SENT if is_question else _SENT

    @wraps(send_message)
    def send_at_once(*arguments: Any, **named: Any) -> str:
        return drive(send_message(*arguments, **named))

    return SendMessageTool(send_message if is_coroutine_function(deliver) else send_at_once, name=name)


def end_conversation_tool(*, model: str | None = None, name: str = "end_conversation") -> EndConversationTool:
    """A tool with which the model ends the conversation (`reason`), once its turn is over.

    The chat's model, or `model`, summarises it then, it is stored as completed, and the chat continues with a new one that begins
    with the summary. If the summary fails, the conversation stays open (`chat.end_error`).
    """

    def end_conversation(reason: str) -> str:
        """End the conversation when nothing is left to do.

        Args:
            reason: Why it ends.
        """
        return _ENDS

    made = EndConversationTool(end_conversation, name=name)
    made.model = model
    return made


def get_conversation_tool(store: ConversationStore, *, name: str = "get_conversation") -> Tool[..., Any]:
    """A tool with which the model reads completed conversations of `store`: one by `conversation_id`, or the latest ones."""

    def get_conversation(conversation_id: str | None = None, list_recent: int = 10) -> str:
        """Read an earlier conversation by its id, or without one list the latest.

        Args:
            conversation_id: The id of a conversation in the list.
            list_recent: How many to list.
        """
        if conversation_id is None:
            found = store.list(limit=max(1, min(list_recent, MOST_LISTED)), completed=True)
            return _json([to_builtins(entry) for entry in found])
        try:
            talk = store.get(conversation_id)
        except StoreError as problem:
            if problem.reason != "not_found":
                raise
            talk = None
        if talk is None or talk.state.completed_at is None:
            raise ToolFailedError(f"there is no completed conversation {conversation_id!r}")
        return _json({"id": talk.id, **to_builtins(talk.state), "messages": talk.to_messages("rows")})

    return Tool(get_conversation, name=name)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
