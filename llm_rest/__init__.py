"""The public names, loaded on first use: importing a converter imports no network, importing this nothing at all.

What is listed here is promised, and so are the structs of `llm_rest.responses` and the functions of every wire
(`llm_rest.wires.load`); other paths may move.
A new name goes into three places, which `tests/test_public_names.py` compares: the imports that type checkers read,
`_HOME` and `__all__`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .auth import APIKey
    from .client import AsyncClient, Client
    from .content import afetch_image, fetch_image, file, image, user
    from .context import PromptContext
    from .dialects import ChatDialect, MessagesDialect, ResponsesDialect
    from .endpoints import Access, ModelInfo
    from .errors import (
        APIConnectionError,
        APIError,
        APIStatusError,
        APITimeoutError,
        AuthenticationError,
        BadRequestError,
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
    from .generator import AsyncContentGenerator, ContentGenerator
    from .loop.tasks import AsyncRun
    from .loop.threads import Run
    from .losses import Loss, LossWarning
    from .mcp import MCP
    from .models import Capabilities
    from .observers import RequestCancelled, RequestEnd, RequestEvent, RequestRetry, RequestStart
    from .options import CallOptions, Input, InputItem
    from .reply import CallInfo, Reply
    from .responses.items import FunctionCall, FunctionCallOutput, Item, Message, Reasoning
    from .responses.request import Request
    from .responses.response import Response, Usage
    from .responses.tools import FunctionTool
    from .retry import RetryPolicy
    from .streaming import AsyncStream, Stream
    from .tools import Tool, ToolContext, ToolExecutor, ToolRegistry, tool
    from .transport import Timeouts
    from .transport.tls import TLS
    from .turns.events import (
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
    from .turns.state import RunState, ToolCall
    from .typed import AsyncJSONStream, JSONStream
    from .unknown import Unknown
    from .vendors import Bearer, Header, NoAuth, Vendor
    from .wires.foreign import from_messages, to_messages

__version__ = "0.2.0"
"""The version of the package."""

_HOME = {
    name: module
    for module, names in {
        ".auth": "APIKey",
        ".client": "AsyncClient Client",
        ".content": "afetch_image fetch_image file image user",
        ".context": "PromptContext",
        ".dialects": "ChatDialect MessagesDialect ResponsesDialect",
        ".endpoints": "Access ModelInfo",
        ".errors": (
            "APIConnectionError APIError APIStatusError APITimeoutError AuthenticationError BadRequestError "
            "CallCancelledError CapabilityError ClientClosedError ConfigError ConflictError ConnectError "
            "ContentFilterError ContextLengthError DecodeError Failure InternalServerError LLMError LossError "
            "MalformedResponseError MaxIterationsError NotFoundError OutputError OverloadedError "
            "PermissionDeniedError ProtocolError ProxyError QuotaError RateLimitError ReasoningStateError "
            "RefusalError RequestTooLargeError ResponseTooLargeError SchemaMismatchError ServerTimeoutError "
            "StreamInterruptedError TLSError ToolArgumentsError ToolError ToolFailedError ToolNotFoundError "
            "ToolTimeoutError TruncatedError UnprocessableEntityError"
        ),
        ".generator": "AsyncContentGenerator ContentGenerator",
        ".loop.tasks": "AsyncRun",
        ".loop.threads": "Run",
        ".losses": "Loss LossWarning",
        ".mcp": "MCP",
        ".models": "Capabilities",
        ".observers": "RequestCancelled RequestEnd RequestEvent RequestRetry RequestStart",
        ".options": "CallOptions Input InputItem",
        ".reply": "CallInfo Reply",
        ".responses.items": "FunctionCall FunctionCallOutput Item Message Reasoning",
        ".responses.request": "Request",
        ".responses.response": "Response Usage",
        ".responses.tools": "FunctionTool",
        ".retry": "RetryPolicy",
        ".streaming": "AsyncStream Stream",
        ".tools": "Tool ToolContext ToolExecutor ToolRegistry tool",
        ".transport": "Timeouts",
        ".typed": "AsyncJSONStream JSONStream",
        ".transport.tls": "TLS",
        ".turns.events": (
            "AnyLoopEvent CallCompleted CallExecuting CallFailed IterationStart LLMResponse NonblockingError "
            "NonblockingResponse NonblockingResult ResultArrived RunEnd"
        ),
        ".turns.state": "RunState ToolCall",
        ".unknown": "Unknown",
        ".vendors": "Bearer Header NoAuth Vendor",
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
    "AnyLoopEvent",
    "AsyncClient",
    "AsyncContentGenerator",
    "AsyncJSONStream",
    "AsyncRun",
    "AsyncStream",
    "AuthenticationError",
    "BadRequestError",
    "Bearer",
    "CallCancelledError",
    "CallCompleted",
    "CallExecuting",
    "CallFailed",
    "CallInfo",
    "CallOptions",
    "Capabilities",
    "CapabilityError",
    "ChatDialect",
    "Client",
    "ClientClosedError",
    "ConfigError",
    "ConflictError",
    "ConnectError",
    "ContentFilterError",
    "ContentGenerator",
    "ContextLengthError",
    "DecodeError",
    "Failure",
    "FunctionCall",
    "FunctionCallOutput",
    "FunctionTool",
    "Header",
    "Input",
    "InputItem",
    "InternalServerError",
    "Item",
    "IterationStart",
    "JSONStream",
    "LLMError",
    "LLMResponse",
    "Loss",
    "LossError",
    "LossWarning",
    "MalformedResponseError",
    "MaxIterationsError",
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
    "PermissionDeniedError",
    "PromptContext",
    "ProtocolError",
    "ProxyError",
    "QuotaError",
    "RateLimitError",
    "Reasoning",
    "ReasoningStateError",
    "RefusalError",
    "Reply",
    "Request",
    "RequestCancelled",
    "RequestEnd",
    "RequestEvent",
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
    "SchemaMismatchError",
    "ServerTimeoutError",
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
    "fetch_image",
    "file",
    "from_messages",
    "image",
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
