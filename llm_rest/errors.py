"""The one family of exceptions, and how a vendor's refusal becomes one of them.

Everything raised on purpose derives from `LLMError`. `code` is one of five words for programs that only branch; the class
(and `kind`, its stable name) says it finely; `retryable` and `retry_after` say whether to ask again. Before changing this
file, know that errors are pickled, logged and shown: a message is one printable line without secrets, and no request,
response or client object is ever kept on one.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from msgspec import Struct, field

Code = Literal["auth_error", "rate_limit", "network_error", "invalid_request", "unknown"]

_LIMIT = 500
_UNPRINTABLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_SECRETS = re.compile(
    r"(?i)\b(bearer\s+)[\w.~+/=-]{8,}"
    r"|\b((?:sk|pk|rk|gsk|xai|hf|csk|fw|tgp|nvapi|key)[-_])[\w-]{8,}"
    r"|\b(AIza)[\w-]{20,}"
    r"|((?:api[-_]?key|x-goog-api-key|access_token|key)[\"']?\s*[=:]\s*[\"']?)[\w.~+/-]{8,}"
)


def printable(text: str, limit: int = _LIMIT) -> str:
    """`text` as one printable line of at most `limit` characters, with anything that looks like a key replaced."""
    line = _SECRETS.sub(lambda m: next(g for g in (*m.groups(), "") if g is not None) + "[redacted]", text)
    line = _UNPRINTABLE.sub(" ", line).encode("utf-8", "replace").decode()
    return line if len(line) <= limit else line[: limit - 1] + "…"


class Attempt(Struct, frozen=True):
    """One request that was made: when it started and how long it took in seconds, and how it ended."""

    started: float
    took: float
    outcome: str


class ErrorFacts(Struct, kw_only=True):
    """What a vendor's error body and headers say, in one shape for every wire."""

    status: int
    message: str
    type: str | None = None
    code: str | None = None
    param: str | None = None
    request_id: str | None = None
    retry_after: float | None = None
    should_retry: bool | None = None
    body: Any = None
    leftovers: dict[str, Any] = field(default_factory=dict[str, Any])


class ErrorRules(Struct, frozen=True, kw_only=True):
    """Where one vendor's errors mean something else than they look like.

    Each entry is a vendor's code or type, or an HTTP status; a code says more than a type, a type more than a status.
    """

    retryable: tuple[str | int, ...] = ()
    """Worth another attempt although the class of the error is not."""
    final: tuple[str | int, ...] = ()
    """Not worth another attempt although the class of the error is."""


class LLMError(Exception):
    """Any failure of a call. The attributes are set on every error, `None` where nothing is known."""

    code: Code = "unknown"
    kind: str = "llm_error"
    retryable: bool = False
    hint: str | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.kind = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cls.__name__).strip("_").lower()

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        vendor: str | None = None,
        vendor_code: str | None = None,
        vendor_type: str | None = None,
        model: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        retryable: bool | None = None,
        attempts: tuple[Attempt, ...] = (),
        partial: Any = None,
        hint: str | None = None,
        body: Any = None,
    ) -> None:
        self.message = printable(message)
        super().__init__(self.message)
        self.status = status
        self.vendor = vendor
        self.vendor_code = vendor_code
        self.vendor_type = vendor_type
        self.model = model
        self.request_id = request_id
        self.retry_after = retry_after
        self.attempts = attempts
        self.partial = partial
        self.body = body
        if retryable is not None:
            self.retryable = retryable
        if hint is not None:
            self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (type(self), self.message, self.__dict__)

    def to_dict(self) -> dict[str, Any]:
        """The error as plain data, for logs and for other processes."""
        names = "code kind message retryable status vendor vendor_code vendor_type model request_id retry_after hint"
        return {name: getattr(self, name) for name in names.split()}

    def to_response(self) -> dict[str, Any]:
        """The error as a value: `{"error": True, "description": ..., "suggestions": [...]}`."""
        return {"error": True, "description": self.message, "suggestions": [self.hint] if self.hint else []}


def _revive(kind: type[LLMError], message: str, state: dict[str, Any]) -> LLMError:
    error = kind.__new__(kind, message)
    error.__dict__.update(state)
    return error


# --- before a byte is sent ------------------------------------------------------------------------------------------


class DecodeError(LLMError, ValueError):
    """Bytes that are not the document they should be; `path` names the place."""

    def __init__(self, message: str, *, path: str = "$", **facts: Any) -> None:
        super().__init__(f"{path}: {message}", **facts)
        self.path = path


class ConfigError(LLMError, ValueError):
    """Something about the call is wrong and nothing was sent: a key, a header, a URL, an option or its value."""

    code = "invalid_request"


class CapabilityError(ConfigError):
    """The model does not take an option that was given."""


class ClientClosedError(ConfigError):
    """The client was closed before this call."""


class LossError(ConfigError):
    """The request cannot be carried to this vendor as it is; `losses` lists what is in the way."""

    def __init__(self, message: str, *, losses: tuple[Any, ...] = (), **facts: Any) -> None:
        super().__init__(message, **facts)
        self.losses = losses


# --- the way there and back -----------------------------------------------------------------------------------------


class TransportError(LLMError):
    """No complete HTTP answer came back."""

    code = "network_error"
    retryable = True


class ConnectError(TransportError):
    """The connection could not be made, or was reset."""


class TLSError(ConnectError):
    """The server's certificate or TLS itself was refused."""

    retryable = False


class ProxyError(ConnectError):
    """The proxy refused or failed."""


class TimeoutError_(TransportError, TimeoutError):
    """A deadline passed; `phase` is connect, pool, first_byte, idle or total."""

    def __init__(self, message: str, *, phase: str = "total", **facts: Any) -> None:
        super().__init__(message, **facts)
        self.phase = phase
        if phase == "total" and facts.get("retryable") is None:
            self.retryable = False


class ProtocolError(TransportError):
    """What came back is not an HTTP answer we can follow."""


class StreamInterrupted(TransportError):
    """The stream ended before its last event; `partial` is the response as far as it came."""

    retryable = False


class MalformedResponse(LLMError):
    """The answer came and is not what it should be: not JSON, empty, HTML, the wrong shape."""

    code = "network_error"
    retryable = True


class ResponseTooLarge(MalformedResponse):
    """The answer is larger than the limit."""

    retryable = False


# --- the vendor said no ---------------------------------------------------------------------------------------------


class APIError(LLMError):
    """The vendor answered with an error; `status` may be 200 where the error came inside the answer."""


class AuthError(APIError):
    """The key was refused."""

    code = "auth_error"


class PermissionDenied(AuthError):
    """The key is valid and may not do this."""


class RateLimitError(APIError):
    """Too many requests or tokens for now."""

    code = "rate_limit"
    retryable = True


class QuotaError(RateLimitError):
    """The account has no credit or quota left; waiting does not help."""

    retryable = False


class OverloadedError(APIError):
    """The vendor is overloaded."""

    code = "rate_limit"
    retryable = True


class ServerError(APIError):
    """The vendor failed."""

    code = "network_error"
    retryable = True


class InvalidRequest(APIError):
    """The vendor refused the request as it is."""

    code = "invalid_request"


class ContextTooLong(InvalidRequest):
    """Input and output do not fit the model's context; `limit` and `requested` in tokens where the vendor says."""

    limit: int | None = None
    requested: int | None = None


class RequestTooLarge(InvalidRequest):
    """The request body is too large."""


class NotFound(InvalidRequest):
    """The model, response or URL does not exist."""


class InvalidReasoningState(InvalidRequest):
    """A signature or encrypted reasoning was refused; start again without the earlier reasoning items."""

    hint = "send the conversation without its reasoning items"


class Conflict(APIError):
    """The resource is being changed elsewhere; retryable when the vendor says so."""

    code = "invalid_request"


class ContentFiltered(APIError):
    """The prompt or the answer was filtered; `categories` where the vendor names them."""

    code = "invalid_request"
    categories: tuple[str, ...] = ()


# --- what came back is not what was asked for -----------------------------------------------------------------------


class OutputError(LLMError):
    """The answer does not fit the type that was asked for; `raw` is its text."""

    def __init__(self, message: str, *, raw: str = "", **facts: Any) -> None:
        super().__init__(message, **facts)
        self.raw = raw


class SchemaMismatch(OutputError):
    """The answer is complete and does not fit the schema."""


class Refusal(OutputError):
    """The model refused to answer."""


class Truncated(OutputError):
    """The answer was cut by the token limit."""


class ToolError(LLMError):
    """A tool, or the loop around it, failed."""


class ToolNotFound(ToolError):
    """The model called a tool that was not offered."""


class ToolArgumentsInvalid(ToolError):
    """The arguments of a call do not fit the tool's schema."""


class ToolFailed(ToolError):
    """The tool raised."""


class ToolTimeout(ToolError):
    """The tool did not finish in time."""


class MaxRoundsReached(ToolError):
    """The loop used up its iterations."""


# --- from facts to an error -----------------------------------------------------------------------------------------

BY_STATUS: dict[int, type[APIError]] = {
    400: InvalidRequest,
    401: AuthError,
    402: QuotaError,
    403: PermissionDenied,
    404: NotFound,
    408: ServerError,
    409: Conflict,
    413: RequestTooLarge,
    422: InvalidRequest,
    425: ServerError,
    429: RateLimitError,
    498: OverloadedError,
    529: OverloadedError,
}
"""The class for a status where neither the vendor's code nor its type says more."""

BY_WORD: dict[str, type[APIError]] = {
    "insufficient_quota": QuotaError,
    "billing_error": QuotaError,
    "billing_not_active": QuotaError,
    "enforced_spend_limit_reached": QuotaError,
    "contract_spend_limit_reached": QuotaError,
    "context_length_exceeded": ContextTooLong,
    "string_above_max_length": InvalidRequest,
    "request_too_large": RequestTooLarge,
    "content_filter": ContentFiltered,
    "content_policy_violation": ContentFiltered,
    "authentication_error": AuthError,
    "invalid_api_key": AuthError,
    "permission_error": PermissionDenied,
    "rate_limit_error": RateLimitError,
    "rate_limit_exceeded": RateLimitError,
    "overloaded_error": OverloadedError,
    "overloaded": OverloadedError,
    "server_overloaded": OverloadedError,
    "model_not_found": NotFound,
    "not_found_error": NotFound,
    "api_error": ServerError,
    "server_error": ServerError,
    "internal_server_error": ServerError,
    "timeout_error": ServerError,
    "conflict_error": Conflict,
    "invalid_request_error": InvalidRequest,
}
"""The class for a vendor's error code or type; codes are looked at before types."""

_TOO_LONG = re.compile(
    r"(?i)context (length|window)|prompt is too long|maximum context|too many (input )?tokens|input is too long"
)
_BAD_STATE = re.compile(
    r"(?i)invalid `?signature`? in `?thinking`?|thinking.{0,40}blocks?.{0,60}cannot be modified"
    r"|encrypted_content.{0,80}(invalid|could not)|thought_?signature"
)


_NO_RULES = ErrorRules()


def error_class(facts: ErrorFacts) -> type[APIError]:
    """The class of error that a vendor's facts describe: by code, then by type, then by status, refined by the text."""
    found: type[APIError] | None = None
    for word in (facts.code, facts.type):
        if found is None and word is not None:
            found = BY_WORD.get(word.lower())
    by_status = BY_STATUS.get(facts.status)
    if found in (None, InvalidRequest) or (found is ServerError and facts.status < 500 and by_status):
        found = by_status or found
    if found is None:
        found = ServerError if facts.status >= 500 else InvalidRequest if facts.status >= 400 else APIError
    if found in (InvalidRequest, RequestTooLarge) and _TOO_LONG.search(facts.message):
        return ContextTooLong
    if found is InvalidRequest and _BAD_STATE.search(facts.message):
        return InvalidReasoningState
    if found is ServerError and facts.status == 503 and "overload" in facts.message.lower():
        return OverloadedError
    return found


def api_error(
    facts: ErrorFacts, *, vendor: str | None = None, model: str | None = None, rules: ErrorRules = _NO_RULES
) -> APIError:
    """The typed error for what a vendor answered.

    Whether it is retryable is what `x-should-retry` says, else what the vendor's `rules` say, else what its class says.
    """
    kind = error_class(facts)
    return kind(
        facts.message or f"the vendor answered with status {facts.status}",
        status=facts.status,
        vendor=vendor,
        model=model,
        vendor_code=facts.code,
        vendor_type=facts.type,
        request_id=facts.request_id,
        retry_after=facts.retry_after,
        retryable=_retryable(facts, kind, rules),
        body=facts.body,
    )


def _retryable(facts: ErrorFacts, kind: type[APIError], rules: ErrorRules) -> bool:
    if facts.should_retry is not None:
        return facts.should_retry
    for word in (facts.code, facts.type, facts.status):
        if word in rules.final:
            return False
        if word in rules.retryable:
            return True
    return kind.retryable
