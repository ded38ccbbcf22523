"""The exception classes; `vendor_errors.py` has the one for a vendor's error response.

Every exception of the library derives from `LLMError`. `code` is one of five values for programs that only branch; the class
(and `kind`, its stable name) is specific; `retryable` and `retry_after` tell whether to retry. Before changing this
file, know that errors are pickled, logged and shown: a message is one printable line without secrets, and no request,
response or client object is ever kept on one.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from msgspec import Struct, field, to_builtins

from .suggestions import HINTED, row_of, suggestions_for

Code = Literal["auth_error", "rate_limit", "network_error", "invalid_request", "unknown"]
"""The `code` of an error, for programs that only branch."""

StoreReason = Literal[
    "not_found", "exists", "conflict", "completed", "locked", "full", "read_only", "damaged", "newer", "failed"
]
"""The `reason` of a `StoreError`."""

_LIMIT = 500
_AHEAD = 4096
"""Characters read beyond the limit of a text, since redaction makes it shorter."""

# Patterns are compiled when an error is made, not when this module is imported, which every converter does.
_UNPRINTABLE = r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x1f\x7f-\x9f\u2028\u2029]+"
_SECRETS = (
    r"(?i)\b(bearer\s+)[\w.~+/=-]{8,}"
    r"|\b((?:sk|pk|rk|gsk|xai|hf|csk|fw|tgp|nvapi|key)[-_])[\w-]{8,}"
    r"|\b(AIza)[\w-]{20,}|\b(eyJ)[\w-]{10,}\.[\w.-]+"
    r"|((?:api[-_]?key|x-goog-api-key|access_token|key)[\"']?\s*[=:]\s*[\"']?)[\w.~+/-]{8,}"
)


def printable(text: str, limit: int = _LIMIT) -> str:
    """`text` as one printable line of at most `limit` characters, with anything that looks like a key replaced."""
    text = text[: limit + _AHEAD]
    line = re.sub(_SECRETS, lambda m: next(g for g in (*m.groups(), "") if g is not None) + "[redacted]", text)
    line = re.sub(_UNPRINTABLE, " ", line).encode("utf-8", "replace").decode()
    if not line.isprintable():  # marks that turn what follows around, and characters that do not exist
        line = "".join([char if char.isprintable() else " " for char in line])
    return line if len(line) <= limit else line[: limit - 1] + "…"


class Attempt(Struct, frozen=True, omit_defaults=True):
    """One request that was made: when it started and how long it took in seconds, and how it ended."""

    started: float
    """When the request was sent, in seconds since 1970 (`time.time()`)."""
    took: float
    """Seconds until the answer ended or the request failed."""
    outcome: str
    """The HTTP status (`"200"`), the `kind` of an error (`"rate_limit"`), `"cancelled"`, or `"under way"` (in flight)."""
    vendor: str = ""
    """The name of the vendor that it was sent to."""
    model: str = ""
    """The model, as the vendor calls it."""


class ErrorFacts(Struct, kw_only=True):
    """A vendor's error response (status, body and headers), in one form for every wire."""

    status: int
    """The HTTP status of the answer; 200 where the error came inside an answer or a stream."""
    message: str
    """The vendor's message, unchanged."""
    type: str | None = None
    """The vendor's type of error, such as `invalid_request_error`; `None` where the body has none."""
    code: str | None = None
    """The vendor's error code, such as `context_length_exceeded`; `None` where the body has none."""
    param: str | None = None
    """The field of the request that the error is about; `None` where the vendor names none."""
    request_id: str | None = None
    """The vendor's id of the request, from a header or the body; `None` where there is none."""
    retry_after: float | None = None
    """Seconds to wait before a retry (`Retry-After` and similar headers); `None` where it is not sent."""
    should_retry: bool | None = None
    """Whether the vendor allows a retry (`x-should-retry`); `None` where it is not sent."""
    body: Any = None
    """The decoded JSON body, or its text; `None` where there was none."""
    leftovers: dict[str, Any] = field(default_factory=dict[str, Any])
    """Other fields of the error, by name."""


class ErrorRules(Struct, frozen=True, kw_only=True):
    """Classification of a vendor's errors where it deviates from the usual meaning of code, type or HTTP status.

    Each entry is a vendor's code or type, or an HTTP status; a code takes precedence over a type, a type over a status.
    """

    retryable: tuple[str | int, ...] = ()
    """Retried although errors of their class are not."""
    final: tuple[str | int, ...] = ()
    """Not retried although errors of their class are."""
    quota_words: tuple[str, ...] = ()
    """Words in the body of a rate limit error that make it a `QuotaError`, which is not retried."""
    means: dict[str, str] = {}
    """The vendor's own codes and types, each with the standard code that it means."""
    verdict: str = ""
    """A field that every answer of the vendor has: the request failed where its `status_code` is not 0. Empty for no field."""


class LLMError(Exception):
    """The base class of all errors of this library. Every attribute is set on every error, to `None` where it is unknown."""

    code: Code = "unknown"
    """One of five values for programs that only branch: `auth_error rate_limit network_error invalid_request unknown`."""
    kind: str = "llm"
    """The stable name of the class, in snake case without `_error`: `rate_limit`, `context_length`."""
    retryable: bool = False
    """Whether the same request may succeed later."""
    run: Any = None
    """The `RunState` of the run that the error ended, for `run(state=...)`; `None` outside of a run."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cls.__name__).lower()
        cls.kind = words.removesuffix("_error")

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
        """What went wrong: one printable line without secrets, without the hint."""
        super().__init__(self.message)
        self.status = status
        """The HTTP status of the answer; `None` where no answer came."""
        self.vendor = vendor
        """The name of the vendor; `None` where no vendor is involved."""
        # These three are the vendor's words, or whatever stands in its place.
        self.vendor_code = vendor_code if vendor_code is None else printable(vendor_code, 200)
        """The vendor's own error code; `None` where it gave none."""
        self.vendor_type = vendor_type if vendor_type is None else printable(vendor_type, 200)
        """The vendor's own type of error; `None` where it gave none."""
        self.request_id = request_id if request_id is None else printable(request_id, 200)
        """The vendor's id of the request, for its support; `None` where it gave none."""
        self.model = model
        """The model, as the vendor calls it; `None` where none is involved."""
        self.retry_after = retry_after
        """Seconds to wait before a retry, as the vendor says; `None` where it does not."""
        self.attempts = attempts
        """The requests that the call made, in order, the last one failed; empty where none was sent."""
        self.partial = partial
        """The response as far as it came, as a `Reply`; `None` where nothing came."""
        self.body = body
        """The body of the vendor's answer: decoded JSON, or its text; `None` where there was none."""
        self.facts: dict[str, Any] = {}
        """What the client knows of the vendor and the model, which `suggestions` name."""
        if retryable is not None:
            self.retryable = retryable
        self._hint = hint

    @property
    def hint(self) -> str | None:
        """What to do, in a few words; the text of the error ends with it."""
        if self._hint is None and row_of(self._kinds()) in HINTED:
            return self._suggested()[0]
        return self._hint

    @hint.setter
    def hint(self, text: str | None) -> None:
        self._hint = text

    @property
    def suggestions(self) -> tuple[str, ...]:
        """What to do, in the order to try: the hint first, where there is one. Never empty."""
        return tuple(dict.fromkeys([*([self._hint] if self._hint else []), *self._suggested()]))

    def _kinds(self) -> list[str]:
        return [kind.kind for kind in type(self).__mro__ if issubclass(kind, LLMError)]

    def _suggested(self) -> tuple[str, ...]:
        known = {name: printable(value, 200) if isinstance(value, str) else value for name, value in vars(self).items()}
        return suggestions_for(self._kinds(), known.get("phase") or known.get("reason"), {**known, **self.facts})

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (type(self), self.message, self.__dict__)

    def to_dict(self) -> dict[str, Any]:
        """The error as plain data, for logs and for other processes. Without bodies and partial answers."""
        names = "code kind message retryable status vendor vendor_code vendor_type model request_id retry_after hint"
        return {name: getattr(self, name) for name in names.split()} | {"attempts": to_builtins(self.attempts)}

    def to_response(self) -> dict[str, Any]:
        """The error as plain data: `{"error": True, "description": ..., "suggestions": [...]}`, as in `Failure`."""
        return {"error": True, "description": self.message, "suggestions": [*self.suggestions]}


def _revive(kind: type[LLMError], message: str, state: dict[str, Any]) -> LLMError:
    error = kind.__new__(kind, message)
    error.args = (message,)  # which the built-in timeout would leave empty
    error.__dict__.update(state)
    return error


class Failure(Struct, frozen=True):
    """What `try_generate` returns instead of raising: the error as a value. It is false, and a `Reply` is true.

    `error.to_response()` has the same as plain data.
    """

    description: str
    """The message of the error."""
    suggestions: tuple[str, ...]
    """What to do, in the order to try; never empty."""
    error: LLMError
    """The error itself: its class, `code`, `status`, `retryable` and so on."""

    def __bool__(self) -> Literal[False]:
        return False


# --- before a byte is sent ------------------------------------------------------------------------------------------


class DecodeError(LLMError, ValueError):
    """Bytes that cannot be decoded as the expected document: invalid JSON, a wrong type, or more than a limit allows."""

    def __init__(self, message: str, *, path: str = "$", limited: bool = False, **facts: Any) -> None:
        super().__init__(f"{path}: {message}", **facts)
        self.path = path
        """The place in the document as a JSON path, such as `$.output[0].type`; `$` is the whole document."""
        self.limited = limited
        """Whether the document exceeds a limit of this library (depth, entries), which a retry would exceed too."""


class ConfigError(LLMError, ValueError):
    """Invalid call; nothing was sent: a key is missing, or a header, a URL, an option or its value is invalid."""

    code = "invalid_request"

    def __init__(self, message: str, *, no_key: bool = False, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.no_key = no_key
        """Whether there is no key or token to send."""


class CapabilityError(ConfigError):
    """The model does not support an option or an input of the request; nothing was sent."""


class ClientClosedError(ConfigError):
    """The client was closed before this call."""


class LossError(ConfigError):
    """The request cannot be converted for this vendor without loss; `losses` lists what would be lost. Nothing was sent.

    With `on_loss="raise"` also an answer that could not be converted whole; `partial` is the reply then.
    """

    def __init__(self, message: str, *, losses: tuple[Any, ...] = (), **facts: Any) -> None:
        super().__init__(message, **facts)
        self.losses = losses
        """The `Loss`es that prevent the request from being sent, or were raised because of `on_loss="raise"`."""


class StoreError(LLMError):
    """A store of conversations or a journal of rows cannot be read or written; it was not changed."""

    def __init__(self, message: str, *, reason: StoreReason = "failed", **facts: Any) -> None:
        facts.setdefault("retryable", reason == "locked")
        super().__init__(message, **facts)
        self.reason: StoreReason = reason
        """Why: `not_found`, `exists`, `conflict` (another program wrote first), `completed`, `locked`, `full`, `read_only`,
        `damaged`, `newer` (written by a newer version), or `failed`."""


class BudgetError(LLMError):
    """The budget (`budget=`) does not allow another request; nothing was sent."""

    code = "invalid_request"
    limit_name: str = ""
    """The name of the limit: `usd`, `tokens` or `seconds`; empty where the cost of a call is not known."""
    spent: float = 0.0
    """The amount spent, in nano-dollars (of `usd`), tokens or seconds."""
    reserved: float = 0.0
    """The amount reserved for requests in flight, in the same unit."""
    limit: float | None = None
    """The limit, in the same unit; `None` where the cost of a call is not known."""


# --- the call --------------------------------------------------------------------------------------------------------


class APIError(LLMError):
    """A request was sent and failed: no answer came, the vendor answered with an error, or the answer is malformed."""


# --- no answer came ---------------------------------------------------------------------------------------------------


class APIConnectionError(APIError):
    """The connection failed: no complete HTTP response arrived."""

    code = "network_error"
    retryable = True


class ConnectError(APIConnectionError):
    """The connection could not be made, or was reset."""

    def __init__(self, message: str, *, reason: Literal["refused", "name"] | None = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.reason = reason
        """`refused` where nothing listens at the address, `name` where the host name was not found, else `None`."""


class TLSError(ConnectError):
    """The TLS handshake failed, or the server's certificate is not trusted."""

    retryable = False


class ProxyError(ConnectError):
    """The proxy rejected the connection, or failed."""


class APITimeoutError(APIConnectionError, TimeoutError):
    """A limit of `Timeouts` passed; `phase` is its name. Also a run, or a poll, that took longer than its `timeout`."""

    def __init__(self, message: str, *, phase: str = "total", **facts: Any) -> None:
        super().__init__(message, **facts)
        self.phase = phase
        """Which limit passed: `connect`, `pool`, `first_byte`, `read`, `stall` or `total`."""
        if phase == "total" and facts.get("retryable") is None:
            self.retryable = False


class ProtocolError(APIConnectionError):
    """The response is not valid HTTP, or a redirect, which is not followed."""


class StreamInterruptedError(APIConnectionError):
    """The stream ended before its last event; `partial` is the partial response. Not retried."""

    retryable = False


class MalformedResponseError(APIError):
    """The answer is not a document of the expected format: not JSON, empty, HTML, or the wrong shape."""

    code = "network_error"
    retryable = True


class ResponseTooLargeError(MalformedResponseError):
    """The answer exceeds the size limit of this library. Not retried."""

    retryable = False


# --- the vendor answered with an error --------------------------------------------------------------------------------


class APIStatusError(APIError):
    """The vendor answered with an error; `status` may be 200 where the error came inside an answer or a stream."""


class BadRequestError(APIStatusError):
    """The vendor rejected the request as invalid (400)."""

    code = "invalid_request"


class ContextLengthError(BadRequestError):
    """Input and output do not fit the model's context; `limit` and `requested` in tokens where the vendor sends them."""

    limit: int | None = None
    """The model's context window in tokens; `None` where the vendor does not send it."""
    requested: int | None = None
    """Tokens that the request needs; `None` where the vendor does not send it."""


class ReasoningStateError(BadRequestError):
    """The vendor rejected a signature or encrypted reasoning of the input; resend it without its reasoning items."""


class AuthenticationError(APIStatusError):
    """The key was rejected (401)."""

    code = "auth_error"


class PermissionDeniedError(APIStatusError):
    """The key is valid and lacks the permission (403)."""

    code = "auth_error"


class NotFoundError(APIStatusError):
    """The model, response or URL does not exist (404)."""

    code = "invalid_request"


class ConflictError(APIStatusError):
    """The resource is being changed elsewhere (409); retryable where the vendor allows it."""

    code = "invalid_request"


class RequestTooLargeError(APIStatusError):
    """The request body is too large (413)."""

    code = "invalid_request"


class UnprocessableEntityError(APIStatusError):
    """The request is well formed and its content is not valid (422)."""

    code = "invalid_request"


class RateLimitError(APIStatusError):
    """Too many requests or tokens for now (429)."""

    code = "rate_limit"
    retryable = True


class QuotaError(RateLimitError):
    """The account has no credit or quota left (402, or 429 with such a message). Not retried."""

    retryable = False


class InternalServerError(APIStatusError):
    """An error on the vendor's side (500 and above)."""

    code: Code = "network_error"
    retryable = True


class OverloadedError(InternalServerError):
    """The vendor is overloaded (529)."""

    code: Code = "rate_limit"


class ServerTimeoutError(InternalServerError, TimeoutError):
    """The server timed out: waiting for the request (408), or for the model (504)."""


class ContentFilterError(APIStatusError):
    """A content filter blocked the prompt or the answer; `categories` where the vendor names them."""

    code = "invalid_request"
    categories: tuple[str, ...] = ()
    """The categories that the filter acted on, as the vendor names them; empty where it names none."""


# --- typed output and tools -----------------------------------------------------------------------------------------


class OutputError(LLMError):
    """The answer does not match the requested output type; `raw` is its text, `partial` the reply."""

    def __init__(self, message: str, *, raw: str = "", **facts: Any) -> None:
        super().__init__(message, **facts)
        self.raw = raw
        """The text of the answer, as the model wrote it."""


class SchemaMismatchError(OutputError):
    """The answer is complete and does not match the schema; `problems` lists the mismatches."""

    def __init__(self, message: str, *, problems: list[str] | None = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.problems = problems or []
        """One line per mismatch, beginning with its place in the value (`$.items[2].price`)."""


class RefusalError(OutputError):
    """The model refused to answer."""


class TruncatedError(OutputError):
    """The answer is incomplete, such as at `max_output_tokens`."""


class ToolError(LLMError):
    """A tool call, or the tool loop, failed."""


class ToolNotFoundError(ToolError):
    """The model called a tool that was not offered."""


class ToolArgumentsError(ToolError):
    """The arguments of a call are no JSON object, or do not match the tool's schema."""


class ToolFailedError(ToolError):
    """The tool raised an exception."""


class ToolTimeoutError(ToolError):
    """The tool did not finish within its timeout."""


class MaxIterationsError(ToolError):
    """The run reached `max_iterations` before the model gave its last answer; `run` is the state to resume."""


class CallCancelledError(LLMError):
    """`client.cancel()` ended a call that returns no `Reply`; a reply has `interrupted` set instead."""
