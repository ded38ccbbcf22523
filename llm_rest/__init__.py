"""The public API, loaded on first use: importing a converter loads no network code, importing this loads nothing.

The names listed here are stable, and so are the structs of `llm_rest.responses` and the functions of every wire
(`llm_rest.wires.load`); other paths may move. A new name goes into the imports that type checkers read, and into `_HOME`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bulk.modes import BulkEstimate as BulkEstimate
    from .bulk.output import BulkRow as BulkRow
    from .bulk.run import AsyncBulk as AsyncBulk, Bulk as Bulk
    from .bulk.status import BulkStatus as BulkStatus
    from .client.client import AsyncClient as AsyncClient, Client as Client
    from .client.content import (
        MCP as MCP,
        afetch_image as afetch_image,
        fetch_image as fetch_image,
        file as file,
        image as image,
        user as user,
    )
    from .client.endpoints import Access as Access, ModelInfo as ModelInfo
    from .client.generator import (
        AsyncContentGenerator as AsyncContentGenerator,
        ContentGenerator as ContentGenerator,
        PromptContext as PromptContext,
    )
    from .client.hooks import (
        ClientCallEnd as ClientCallEnd,
        ClientCallStart as ClientCallStart,
        ClientEvent as ClientEvent,
        RateLimitWait as RateLimitWait,
        RequestCancelled as RequestCancelled,
        RequestEnd as RequestEnd,
        RequestRetry as RequestRetry,
        RequestStart as RequestStart,
    )
    from .client.options import CallOptions as CallOptions, Input as Input, InputItem as InputItem
    from .client.reply import CallInfo as CallInfo, Reply as Reply
    from .client.stream import AsyncStream as AsyncStream, Stream as Stream
    from .client.typed import AsyncJSONStream as AsyncJSONStream, JSONStream as JSONStream
    from .conversation.chat import (
        AsyncChat as AsyncChat,
        AsyncChatStream as AsyncChatStream,
        Chat as Chat,
        ChatStream as ChatStream,
    )
    from .conversation.conversation import (
        Conversation as Conversation,
        ConversationState as ConversationState,
        PendingContext as PendingContext,
    )
    from .conversation.limits import HistoryLimits as HistoryLimits
    from .conversation.prompt_cache import CachePrefix as CachePrefix, cache_prefix as cache_prefix
    from .conversation.store import (
        ConversationStore as ConversationStore,
        MemoryConversationStore as MemoryConversationStore,
        SQLiteConversationStore as SQLiteConversationStore,
        StoredConversation as StoredConversation,
    )
    from .conversation.tools import (
        AgentMessage as AgentMessage,
        end_conversation_tool as end_conversation_tool,
        get_conversation_tool as get_conversation_tool,
        send_message_tool as send_message_tool,
    )
    from .errors import (
        APIConnectionError as APIConnectionError,
        APIError as APIError,
        APIStatusError as APIStatusError,
        APITimeoutError as APITimeoutError,
        AuthenticationError as AuthenticationError,
        BadRequestError as BadRequestError,
        BudgetError as BudgetError,
        CallCancelledError as CallCancelledError,
        CapabilityError as CapabilityError,
        ClientClosedError as ClientClosedError,
        ConfigError as ConfigError,
        ConflictError as ConflictError,
        ConnectError as ConnectError,
        ContentFilterError as ContentFilterError,
        ContextLengthError as ContextLengthError,
        DecodeError as DecodeError,
        Failure as Failure,
        InternalServerError as InternalServerError,
        LLMError as LLMError,
        LossError as LossError,
        MalformedResponseError as MalformedResponseError,
        MaxIterationsError as MaxIterationsError,
        NotFoundError as NotFoundError,
        OutputError as OutputError,
        OverloadedError as OverloadedError,
        PermissionDeniedError as PermissionDeniedError,
        ProtocolError as ProtocolError,
        ProxyError as ProxyError,
        QuotaError as QuotaError,
        RateLimitError as RateLimitError,
        ReasoningStateError as ReasoningStateError,
        RefusalError as RefusalError,
        RequestTooLargeError as RequestTooLargeError,
        ResponseTooLargeError as ResponseTooLargeError,
        SchemaMismatchError as SchemaMismatchError,
        ServerTimeoutError as ServerTimeoutError,
        StoreError as StoreError,
        StreamInterruptedError as StreamInterruptedError,
        TLSError as TLSError,
        ToolArgumentsError as ToolArgumentsError,
        ToolError as ToolError,
        ToolFailedError as ToolFailedError,
        ToolNotFoundError as ToolNotFoundError,
        ToolTimeoutError as ToolTimeoutError,
        TruncatedError as TruncatedError,
        UnprocessableEntityError as UnprocessableEntityError,
    )
    from .loop.events import (
        AnyLoopEvent as AnyLoopEvent,
        CallCompleted as CallCompleted,
        CallExecuting as CallExecuting,
        CallFailed as CallFailed,
        IterationStart as IterationStart,
        LLMResponse as LLMResponse,
        NonblockingError as NonblockingError,
        NonblockingResponse as NonblockingResponse,
        NonblockingResult as NonblockingResult,
        ResultArrived as ResultArrived,
        RunEnd as RunEnd,
    )
    from .loop.state import RunState as RunState, ToolCall as ToolCall
    from .loop.tasks import AsyncRun as AsyncRun
    from .loop.threads import Run as Run
    from .losses import Loss as Loss, LossWarning as LossWarning
    from .policy.budget import Budget as Budget
    from .policy.cache import AnswerCache as AnswerCache
    from .policy.fallback import Fallback as Fallback, FallbackModel as FallbackModel
    from .policy.prices import Prices as Prices
    from .policy.rate_limit import LimitStatus as LimitStatus, RateLimit as RateLimit
    from .responses.citations import Citation as Citation, Image as Image
    from .responses.items import (
        FunctionCall as FunctionCall,
        FunctionCallOutput as FunctionCallOutput,
        Item as Item,
        Message as Message,
        Reasoning as Reasoning,
    )
    from .responses.request import Request as Request
    from .responses.response import Response as Response, Usage as Usage
    from .responses.tools import FunctionTool as FunctionTool
    from .tools import (
        Tool as Tool,
        ToolContext as ToolContext,
        ToolExecutor as ToolExecutor,
        ToolRegistry as ToolRegistry,
        tool as tool,
    )
    from .transport import Timeouts as Timeouts
    from .transport.retry import RetryPolicy as RetryPolicy
    from .transport.tls import TLS as TLS
    from .unknown import Unknown as Unknown
    from .vendors.auth import APIKey as APIKey
    from .vendors.dialects import (
        ChatDialect as ChatDialect,
        MessagesDialect as MessagesDialect,
        ResponsesDialect as ResponsesDialect,
    )
    from .vendors.models import Capabilities as Capabilities
    from .vendors.rows import Bearer as Bearer, Header as Header, NoAuth as NoAuth, Vendor as Vendor
    from .wires.foreign import from_messages as from_messages, to_messages as to_messages

__version__ = "0.2.0"
"""The version of the package."""

_HOME = {
    name: module
    for module, names in {
        ".vendors.auth": "APIKey",
        ".bulk.modes": "BulkEstimate",
        ".bulk.output": "BulkRow",
        ".bulk.run": "AsyncBulk Bulk",
        ".bulk.status": "BulkStatus",
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
        ".responses.citations": "Citation Image",
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


def __getattr__(name: str) -> Any:
    if name == "__all__":  # for `from llm_rest import *`
        return sorted([*_HOME, "__version__"])
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home, __name__), name)
    globals()[name] = value  # the next access is an ordinary one
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
