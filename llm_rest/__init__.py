"""The public API, loaded on first use: importing a converter loads no network code, importing this loads nothing.

The names listed here are stable, and so are the structs of `llm_rest.responses` and the functions of every wire
(`llm_rest.wires.load`); other paths may move. A new name goes into the imports that type checkers read, `_HOME` and `__all__`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bulk.engine import BulkStatus
    from .bulk.modes import BulkEstimate
    from .bulk.output import BulkRow
    from .bulk.run import AsyncBulk, Bulk
    from .client.client import AsyncClient, Client
    from .client.content import MCP, afetch_image, fetch_image, file, image, user
    from .client.endpoints import Access, ModelInfo
    from .client.generator import AsyncContentGenerator, ContentGenerator, PromptContext
    from .client.hooks import (
        ClientCallEnd,
        ClientCallStart,
        ClientEvent,
        RateLimitWait,
        RequestCancelled,
        RequestEnd,
        RequestRetry,
        RequestStart,
    )
    from .client.options import CallOptions, Input, InputItem
    from .client.reply import CallInfo, Reply
    from .client.stream import AsyncStream, Stream
    from .client.typed import AsyncJSONStream, JSONStream
    from .conversation.chat import AsyncChat, AsyncChatStream, Chat, ChatStream
    from .conversation.conversation import Conversation, ConversationState, PendingContext
    from .conversation.limits import HistoryLimits
    from .conversation.prompt_cache import CachePrefix, cache_prefix
    from .conversation.store import (
        ConversationStore,
        MemoryConversationStore,
        SQLiteConversationStore,
        StoredConversation,
    )
    from .conversation.tools import AgentMessage, end_conversation_tool, get_conversation_tool, send_message_tool
    from .errors import (
        APIConnectionError,
        APIError,
        APIStatusError,
        APITimeoutError,
        AuthenticationError,
        BadRequestError,
        BudgetError,
        CallCancelledError,
        CapabilityError,
        ClientClosedError,
        ConfigError,
        ConflictError,
        ConnectError,
        ContentFilterError,
        ContextLengthError,
        DecodeError,
        Failure,
        InternalServerError,
        LLMError,
        LossError,
        MalformedResponseError,
        MaxIterationsError,
        NotFoundError,
        OutputError,
        OverloadedError,
        PermissionDeniedError,
        ProtocolError,
        ProxyError,
        QuotaError,
        RateLimitError,
        ReasoningStateError,
        RefusalError,
        RequestTooLargeError,
        ResponseTooLargeError,
        SchemaMismatchError,
        ServerTimeoutError,
        StoreError,
        StreamInterruptedError,
        TLSError,
        ToolArgumentsError,
        ToolError,
        ToolFailedError,
        ToolNotFoundError,
        ToolTimeoutError,
        TruncatedError,
        UnprocessableEntityError,
    )
    from .loop.events import (
        AnyLoopEvent,
        CallCompleted,
        CallExecuting,
        CallFailed,
        IterationStart,
        LLMResponse,
        NonblockingError,
        NonblockingResponse,
        NonblockingResult,
        ResultArrived,
        RunEnd,
    )
    from .loop.state import RunState, ToolCall
    from .loop.tasks import AsyncRun
    from .loop.threads import Run
    from .losses import Loss, LossWarning
    from .policy.budget import Budget
    from .policy.cache import AnswerCache
    from .policy.fallback import Fallback, FallbackModel
    from .policy.prices import Prices
    from .policy.rate_limit import LimitStatus, RateLimit
    from .responses.items import FunctionCall, FunctionCallOutput, Item, Message, Reasoning
    from .responses.request import Request
    from .responses.response import Response, Usage
    from .responses.tools import FunctionTool
    from .tools import Tool, ToolContext, ToolExecutor, ToolRegistry, tool
    from .transport import Timeouts
    from .transport.retry import RetryPolicy
    from .transport.tls import TLS
    from .unknown import Unknown
    from .vendors.auth import APIKey
    from .vendors.dialects import ChatDialect, MessagesDialect, ResponsesDialect
    from .vendors.models import Capabilities
    from .vendors.rows import Bearer, Header, NoAuth, Vendor
    from .wires.foreign import from_messages, to_messages

__version__ = "0.2.0"
"""The version of the package."""

_HOME = {
    name: module
    for module, names in {
        ".vendors.auth": "APIKey",
        ".bulk.engine": "BulkStatus",
        ".bulk.modes": "BulkEstimate",
        ".bulk.output": "BulkRow",
        ".bulk.run": "AsyncBulk Bulk",
        ".client.client": "AsyncClient Client",
        ".client.content": "MCP afetch_image fetch_image file image user",
        ".vendors.dialects": "ChatDialect MessagesDialect ResponsesDialect",
        ".client.endpoints": "Access ModelInfo",
        ".conversation.conversation": "Conversation ConversationState PendingContext",
        ".conversation.chat": "AsyncChat AsyncChatStream Chat ChatStream",
        ".conversation.tools": "AgentMessage end_conversation_tool get_conversation_tool send_message_tool",
        ".conversation.limits": "HistoryLimits",
        ".conversation.prompt_cache": "CachePrefix cache_prefix",
        ".conversation.store": ("ConversationStore MemoryConversationStore SQLiteConversationStore StoredConversation"),
        ".errors": (
            "APIConnectionError APIError APIStatusError APITimeoutError AuthenticationError BadRequestError BudgetError "
            "CallCancelledError CapabilityError ClientClosedError ConfigError ConflictError ConnectError "
            "ContentFilterError ContextLengthError DecodeError Failure InternalServerError LLMError LossError "
            "MalformedResponseError MaxIterationsError NotFoundError OutputError OverloadedError "
            "PermissionDeniedError ProtocolError ProxyError QuotaError RateLimitError ReasoningStateError "
            "RefusalError RequestTooLargeError ResponseTooLargeError SchemaMismatchError ServerTimeoutError "
            "StoreError StreamInterruptedError TLSError ToolArgumentsError ToolError ToolFailedError ToolNotFoundError "
            "ToolTimeoutError TruncatedError UnprocessableEntityError"
        ),
        ".client.generator": "AsyncContentGenerator ContentGenerator PromptContext",
        ".loop.tasks": "AsyncRun",
        ".loop.threads": "Run",
        ".losses": "Loss LossWarning",
        ".policy.cache": "AnswerCache",
        ".policy.fallback": "Fallback FallbackModel",
        ".policy.budget": "Budget",
        ".policy.prices": "Prices",
        ".policy.rate_limit": "LimitStatus RateLimit",
        ".vendors.models": "Capabilities",
        ".client.hooks": "ClientCallEnd ClientCallStart ClientEvent RateLimitWait RequestCancelled RequestEnd RequestRetry"
        " RequestStart",
        ".client.options": "CallOptions Input InputItem",
        ".client.reply": "CallInfo Reply",
        ".responses.items": "FunctionCall FunctionCallOutput Item Message Reasoning",
        ".responses.request": "Request",
        ".responses.response": "Response Usage",
        ".responses.tools": "FunctionTool",
        ".transport.retry": "RetryPolicy",
        ".client.stream": "AsyncStream Stream",
        ".tools": "Tool ToolContext ToolExecutor ToolRegistry tool",
        ".transport": "Timeouts",
        ".client.typed": "AsyncJSONStream JSONStream",
        ".transport.tls": "TLS",
        ".loop.events": (
            "AnyLoopEvent CallCompleted CallExecuting CallFailed IterationStart LLMResponse NonblockingError "
            "NonblockingResponse NonblockingResult ResultArrived RunEnd"
        ),
        ".loop.state": "RunState ToolCall",
        ".unknown": "Unknown",
        ".vendors.rows": "Bearer Header NoAuth Vendor",
        ".wires.foreign": "from_messages to_messages",
    }.items()
    for name in names.split()
}

__all__ = [
    "MCP",
    "TLS",
    "APIConnectionError",
    "APIError",
    "APIKey",
    "APIStatusError",
    "APITimeoutError",
    "Access",
    "AgentMessage",
    "AnswerCache",
    "AnyLoopEvent",
    "AsyncBulk",
    "AsyncChat",
    "AsyncChatStream",
    "AsyncClient",
    "AsyncContentGenerator",
    "AsyncJSONStream",
    "AsyncRun",
    "AsyncStream",
    "AuthenticationError",
    "BadRequestError",
    "Bearer",
    "Budget",
    "BudgetError",
    "Bulk",
    "BulkEstimate",
    "BulkRow",
    "BulkStatus",
    "CachePrefix",
    "CallCancelledError",
    "CallCompleted",
    "CallExecuting",
    "CallFailed",
    "CallInfo",
    "CallOptions",
    "Capabilities",
    "CapabilityError",
    "Chat",
    "ChatDialect",
    "ChatStream",
    "Client",
    "ClientCallEnd",
    "ClientCallStart",
    "ClientClosedError",
    "ClientEvent",
    "ConfigError",
    "ConflictError",
    "ConnectError",
    "ContentFilterError",
    "ContentGenerator",
    "ContextLengthError",
    "Conversation",
    "ConversationState",
    "ConversationStore",
    "DecodeError",
    "Failure",
    "Fallback",
    "FallbackModel",
    "FunctionCall",
    "FunctionCallOutput",
    "FunctionTool",
    "Header",
    "HistoryLimits",
    "Input",
    "InputItem",
    "InternalServerError",
    "Item",
    "IterationStart",
    "JSONStream",
    "LLMError",
    "LLMResponse",
    "LimitStatus",
    "Loss",
    "LossError",
    "LossWarning",
    "MalformedResponseError",
    "MaxIterationsError",
    "MemoryConversationStore",
    "Message",
    "MessagesDialect",
    "ModelInfo",
    "NoAuth",
    "NonblockingError",
    "NonblockingResponse",
    "NonblockingResult",
    "NotFoundError",
    "OutputError",
    "OverloadedError",
    "PendingContext",
    "PermissionDeniedError",
    "Prices",
    "PromptContext",
    "ProtocolError",
    "ProxyError",
    "QuotaError",
    "RateLimit",
    "RateLimitError",
    "RateLimitWait",
    "Reasoning",
    "ReasoningStateError",
    "RefusalError",
    "Reply",
    "Request",
    "RequestCancelled",
    "RequestEnd",
    "RequestRetry",
    "RequestStart",
    "RequestTooLargeError",
    "Response",
    "ResponseTooLargeError",
    "ResponsesDialect",
    "ResultArrived",
    "RetryPolicy",
    "Run",
    "RunEnd",
    "RunState",
    "SQLiteConversationStore",
    "SchemaMismatchError",
    "ServerTimeoutError",
    "StoreError",
    "StoredConversation",
    "Stream",
    "StreamInterruptedError",
    "TLSError",
    "Timeouts",
    "Tool",
    "ToolArgumentsError",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolExecutor",
    "ToolFailedError",
    "ToolNotFoundError",
    "ToolRegistry",
    "ToolTimeoutError",
    "TruncatedError",
    "Unknown",
    "UnprocessableEntityError",
    "Usage",
    "Vendor",
    "__version__",
    "afetch_image",
    "cache_prefix",
    "end_conversation_tool",
    "fetch_image",
    "file",
    "from_messages",
    "get_conversation_tool",
    "image",
    "send_message_tool",
    "to_messages",
    "tool",
    "user",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home, __name__), name)
    globals()[name] = value  # the next access is an ordinary one
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
