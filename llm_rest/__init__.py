"""The public names, loaded on first use: importing a converter imports no network, importing this nothing at all.

What is listed here is promised, and so are the functions of every wire (`llm_rest.wires.load`); other paths may move.
A new name goes into three places, which `tests/test_public_names.py` compares: the imports that type checkers read,
`_HOME` and `__all__`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import (
        APIError,
        AuthError,
        CapabilityError,
        ClientClosedError,
        ConfigError,
        Conflict,
        ConnectError,
        ContentFiltered,
        ContextTooLong,
        DecodeError,
        InvalidReasoningState,
        InvalidRequest,
        LLMError,
        LossError,
        MalformedResponse,
        NotFound,
        OutputError,
        OverloadedError,
        PermissionDenied,
        ProtocolError,
        ProxyError,
        QuotaError,
        RateLimitError,
        Refusal,
        RequestTooLarge,
        ResponseTooLarge,
        SchemaMismatch,
        ServerError,
        StreamInterrupted,
        TimeoutError_,
        TLSError,
        TransportError,
        Truncated,
    )
    from .losses import Loss

__version__ = "0.1.0"

_HOME = {
    name: module
    for module, names in {
        ".errors": (
            "APIError AuthError CapabilityError ClientClosedError ConfigError Conflict ConnectError "
            "ContentFiltered ContextTooLong DecodeError InvalidReasoningState InvalidRequest LLMError "
            "LossError MalformedResponse NotFound OutputError OverloadedError PermissionDenied ProtocolError "
            "ProxyError QuotaError RateLimitError Refusal RequestTooLarge ResponseTooLarge SchemaMismatch "
            "ServerError StreamInterrupted TLSError TimeoutError_ TransportError Truncated"
        ),
        ".losses": "Loss",
    }.items()
    for name in names.split()
}

__all__ = [
    "APIError",
    "AuthError",
    "CapabilityError",
    "ClientClosedError",
    "ConfigError",
    "Conflict",
    "ConnectError",
    "ContentFiltered",
    "ContextTooLong",
    "DecodeError",
    "InvalidReasoningState",
    "InvalidRequest",
    "LLMError",
    "Loss",
    "LossError",
    "MalformedResponse",
    "NotFound",
    "OutputError",
    "OverloadedError",
    "PermissionDenied",
    "ProtocolError",
    "ProxyError",
    "QuotaError",
    "RateLimitError",
    "Refusal",
    "RequestTooLarge",
    "ResponseTooLarge",
    "SchemaMismatch",
    "ServerError",
    "StreamInterrupted",
    "TLSError",
    "TimeoutError_",
    "TransportError",
    "Truncated",
    "__version__",
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
