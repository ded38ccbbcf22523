"""Errors: what each carries, how it travels, and which class a vendor's refusal becomes."""

from __future__ import annotations

import copy
import json
import pickle
import re
from pathlib import Path

import anthropic
import httpx
import openai
import pytest

from llm_rest import errors
from llm_rest.errors import (
    APIStatusError,
    Attempt,
    BadRequestError,
    ContextLengthError,
    ErrorFacts,
    ErrorRules,
    InternalServerError,
    LLMError,
    QuotaError,
    ReasoningStateError,
    printable,
)
from llm_rest.losses import Loss
from llm_rest.vendor_errors import api_error, error_class
from llm_rest.vendors.rows import VENDORS
from llm_rest.wires.errors import error_facts
from tests.corpus import exchanges

CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, LLMError) and value.__name__
]


# --- every error ----------------------------------------------------------------------------------------------------


def test_every_class_has_one_of_the_five_codes_and_a_kind_of_its_own() -> None:
    assert {kind.code for kind in CLASSES} == {
        "auth_error",
        "rate_limit",
        "network_error",
        "invalid_request",
        "unknown",
    }
    assert len({kind.kind for kind in CLASSES}) == len(CLASSES)
    assert (errors.TLSError.kind, LLMError.kind, errors.APITimeoutError.kind) == ("tls", "llm", "api_timeout")


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_survives_pickle_and_copy(kind: type[LLMError]) -> None:
    own: dict[type[LLMError], dict[str, object]] = {
        errors.LossError: {"losses": (Loss("tools[0]", "gone", "refused"),)},
        errors.DecodeError: {"path": "$.a"},
        errors.APITimeoutError: {"phase": "stall"},
        errors.OutputError: {"raw": "{"},
    }
    known = {
        "status": 500,
        "request_id": "req_1",
        "attempts": (Attempt(0, 1.5, "500"),),
        "partial": "half",
        "hint": "wait",
    }
    error = kind("no", **known, **own.get(kind, {}))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind
        assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


def test_standard_exceptions_catch_errors_of_the_library() -> None:
    for kind in (errors.ConfigError, errors.CapabilityError, errors.LossError, errors.DecodeError):
        assert issubclass(kind, ValueError)
    assert issubclass(errors.APITimeoutError, TimeoutError)


def test_only_the_timeout_of_the_whole_call_is_not_retryable() -> None:
    assert errors.APITimeoutError("late", phase="first_byte").retryable
    assert not errors.APITimeoutError("late", phase="total").retryable


def test_to_dict_is_plain_data() -> None:
    error = errors.RateLimitError(
        "slow down", status=429, vendor="groq", retry_after=2.5, attempts=(Attempt(0, 1.5, "429"),)
    )
    assert json.loads(json.dumps(error.to_dict())) == {
        "code": "rate_limit",
        "kind": "rate_limit",
        "message": "slow down",
        "retryable": True,
        "status": 429,
        "vendor": "groq",
        "vendor_code": None,
        "vendor_type": None,
        "model": None,
        "request_id": None,
        "retry_after": 2.5,
        "hint": None,
        "attempts": [{"started": 0, "took": 1.5, "outcome": "429"}],
    }


def test_to_response_has_the_description_and_the_suggestions() -> None:
    assert errors.ConfigError("no key", hint="set K").to_response() == {
        "error": True,
        "description": "no key",
        "suggestions": ["set K", *errors.ConfigError("no key").suggestions],
    }


# --- what may be shown ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\r\nc", "a b c"),
        ("\x1b[31mred\x1b[0m", " red "),
        ("nul\x00 bell\x07 del\x7f csi\x9b", "nul  bell  del  csi "),
        ("line\u2028paragraph\u2029", "line paragraph "),
        ("half \ud83d of an emoji", "half ? of an emoji"),
        ("right-to-left \u202elive\u200b, \ufeffno text \U0003fffe", "right-to-left  live ,  no text  "),
        ("plain ✓ text", "plain ✓ text"),
        ("x" * 10_000, "x" * 499 + "…"),
    ],
    ids=lambda text: ascii(text)[:20],
)
def test_a_message_is_one_printable_line(text: str, shown: str) -> None:
    assert LLMError(text).message == shown


@pytest.mark.parametrize("name", ["vendor_code", "vendor_type", "request_id"])
def test_the_vendors_words_are_printable_too(name: str) -> None:
    error = LLMError("no", **{name: "a\x1b[31m\nsk-abcdefgh12345678"})  # pyright: ignore[reportArgumentType]
    assert getattr(error, name) == "a  sk-[redacted]"


@pytest.mark.parametrize(
    "secret",
    [
        "sk-abcdefgh12345678",
        "sk-ant-api03-abcdefgh_12345678",
        "sk-proj-abc-def_ghi12345678",
        "gsk_abcdefgh12345678",
        "xai-abcdefgh12345678",
        "hf_abcdefgh12345678",
        "csk-abcdefgh12345678",
        "AIzaSyA-abcdefghijklmnopqrstuv",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefgh",
    ],
)
def test_what_looks_like_a_key_is_never_shown(secret: str) -> None:
    """BUGS 84"""
    for text in (f"Incorrect API key provided: {secret}.", f"header was Bearer {secret}", f"url?key={secret}&x=1"):
        shown = printable(text)
        assert secret not in shown
        assert secret[8:] not in shown
        assert "[redacted]" in shown


def test_a_key_without_a_known_prefix_is_redacted_after_the_name_of_its_header() -> None:
    for text in ("Authorization: Bearer abcdefgh12345678", "x-goog-api-key: abcdefgh12345678"):
        assert "12345678" not in printable(text)
    for text in ("the key is missing", "max_tokens must be at least 1", "monkey=1", "sk-ip"):
        assert printable(text) == text


# --- which class ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, BadRequestError, False),
        (401, errors.AuthenticationError, False),
        (402, QuotaError, False),
        (403, errors.PermissionDeniedError, False),
        (404, errors.NotFoundError, False),
        (405, BadRequestError, False),
        (408, errors.ServerTimeoutError, True),
        (409, errors.ConflictError, False),
        (413, errors.RequestTooLargeError, False),
        (415, BadRequestError, False),
        (418, BadRequestError, False),
        (422, errors.UnprocessableEntityError, False),
        (425, InternalServerError, True),
        (429, errors.RateLimitError, True),
        (498, errors.OverloadedError, True),
        (500, InternalServerError, True),
        (502, InternalServerError, True),
        (503, InternalServerError, True),
        (504, errors.ServerTimeoutError, True),
        (520, InternalServerError, True),
        (524, InternalServerError, True),
        (529, errors.OverloadedError, True),
        (299, APIStatusError, False),
    ],
)
def test_the_status_alone_decides_where_the_body_says_nothing(
    status: int, kind: type[APIStatusError], retryable: bool
) -> None:
    error = api_error(ErrorFacts(status=status, message=""), vendor="groq", model="m")
    assert type(error) is kind
    assert (error.retryable, error.status, error.vendor, error.model) == (retryable, status, "groq", "m")
    assert str(status) in error.message


@pytest.mark.parametrize(
    ("status", "code", "type", "kind"),
    [
        (429, "insufficient_quota", "insufficient_quota", QuotaError),
        (429, "rate_limit_exceeded", "tokens", errors.RateLimitError),
        (429, "enforced_spend_limit_reached", "rate_limit_error", QuotaError),
        (429, None, "rate_limit_error", errors.RateLimitError),
        (429, None, "invalid_request_error", errors.RateLimitError),
        (402, None, "billing_error", QuotaError),
        (401, "invalid_api_key", "invalid_request_error", errors.AuthenticationError),
        (401, None, "invalid_request_error", errors.AuthenticationError),
        (404, "model_not_found", "invalid_request_error", errors.NotFoundError),
        (400, "model_not_found", "invalid_request_error", errors.NotFoundError),
        (400, "context_length_exceeded", "invalid_request_error", ContextLengthError),
        (400, "string_above_max_length", "invalid_request_error", BadRequestError),
        (400, "exceed_context_size_error", None, ContextLengthError),
        (400, "content_filter", None, errors.ContentFilterError),
        (400, "invalid_encrypted_content", "invalid_request_error", ReasoningStateError),
        (413, None, "request_too_large", errors.RequestTooLargeError),
        (529, None, "overloaded_error", errors.OverloadedError),
        (200, None, "overloaded_error", errors.OverloadedError),
        (200, "server_error", None, InternalServerError),
        (200, "rate_limit_exceeded", None, errors.RateLimitError),
        (200, "invalid_prompt", None, errors.ContentFilterError),
        (200, "invalid_image_url", None, BadRequestError),
        (200, "429", None, errors.RateLimitError),
        (200, "502", None, InternalServerError),
        (200, "something_new", None, APIStatusError),
        (400, None, "server_error", BadRequestError),
        (500, None, "invalid_request_error", InternalServerError),
        (504, None, "timeout_error", errors.ServerTimeoutError),
        (200, None, "timeout_error", errors.ServerTimeoutError),
        (200, "DEADLINE_EXCEEDED", None, errors.ServerTimeoutError),
        (503, "UNAVAILABLE", None, errors.OverloadedError),
        (429, "RESOURCE_EXHAUSTED", None, errors.RateLimitError),
        (409, None, "conflict_error", errors.ConflictError),
    ],
)
def test_the_vendors_words_say_more_than_the_status(
    status: int, code: str | None, type: str | None, kind: type[APIStatusError]
) -> None:
    assert error_class(ErrorFacts(status=status, message="", code=code, type=type)) is kind


TOO_LONG = [
    # the text, then the limit and the request it tells
    ("This model's maximum context length is 8192 tokens. However, your messages resulted in 8227 tokens.", 8192, 8227),
    (
        "This endpoint's maximum context length is 128000 tokens. However, you requested about 140000 tokens",
        128000,
        140000,
    ),
    ("prompt is too long: 210,000 tokens > 200000 maximum", 200000, 210000),
    ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1048576, 1200000),
    ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131072, 537812),
    ("request (13392 tokens) exceeds the available context size (8192 tokens), try increasing it", 8192, 13392),
    ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32768, 40000),
    ("Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192", 8192, 9000),
    ("The prompt is too long: 140000, model maximum context length: 131071", 131071, 140000),
    ("Your input exceeds the context window of this model.", None, None),
    ("the prompt is longer than the context length currently available to the model", None, None),
    ("input length and max_tokens exceed context limit: 199759 + 8192 > 200000", 200000, None),
]


@pytest.mark.parametrize(("text", "limit", "requested"), TOO_LONG, ids=[text[:40] for text, *_ in TOO_LONG])
@pytest.mark.parametrize("status", [400, 413, 500])
def test_a_context_that_is_too_long_is_told_in_every_hosts_words(
    text: str, limit: int | None, requested: int | None, status: int
) -> None:
    error = api_error(ErrorFacts(status=status, message=text))
    assert type(error) is ContextLengthError
    assert (error.limit, error.requested, error.retryable) == (limit, requested, False)


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (400, "API key not valid. Please pass a valid API key.", errors.AuthenticationError),
        (400, "Incorrect API key provided: xa***12.", errors.AuthenticationError),
        (400, "Your credit balance is too low to access the API.", QuotaError),
        (403, "Insufficient balance", QuotaError),
        (403, "Your input was flagged by moderation", errors.ContentFilterError),
        (503, "The model is overloaded. Please try again later.", errors.OverloadedError),
        (503, "Loading model", InternalServerError),
        (400, "messages.1.content.0: Invalid `signature` in `thinking` block", ReasoningStateError),
        (400, "`thinking` blocks in the latest assistant message cannot be modified.", ReasoningStateError),
        (400, "The block is bound to a different conversation", ReasoningStateError),
        (400, "The encrypted content could not be verified.", ReasoningStateError),
        (400, "Item 'rs_1' of type 'reasoning' was provided without its required following item.", ReasoningStateError),
        # not a long context
        (400, "Invalid 'temperature': decimal below minimum value.", BadRequestError),
        (400, "context_management: unknown edit", BadRequestError),
        (400, "The maximum number of tools is 128.", BadRequestError),
        (400, "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens", BadRequestError),
    ],
)
def test_an_error_without_a_code_is_classified_by_its_text(status: int, text: str, kind: type[APIStatusError]) -> None:
    """BUGS 14"""
    error = api_error(ErrorFacts(status=status, message=text, type="invalid_request_error" if status == 400 else None))
    assert type(error) is kind
    assert kind is not ReasoningStateError or error.hint == "send the conversation without its reasoning items"


FILTERED = {
    "hate": {"filtered": False},
    "violence": {"filtered": True, "severity": "high"},
    "jailbreak": {"filtered": True},
}


@pytest.mark.parametrize(
    ("code", "body", "categories"),
    [
        ("content_filter", {"error": {"innererror": {"content_filter_result": FILTERED}}}, ("violence", "jailbreak")),
        ("403", {"error": {"code": 403, "metadata": {"reasons": ["self-harm"]}}}, ("self-harm",)),
        ("content_filter", None, ()),
        ("content_filter", [], ()),
        ("content_filter", {"error": "text"}, ()),
        ("content_filter", {"error": {"innererror": [], "metadata": []}}, ()),
    ],
)
def test_a_content_filter_names_its_categories(code: str, body: object, categories: tuple[str, ...]) -> None:
    status, message = (403, "Input flagged") if code == "403" else (400, "filtered")
    error = api_error(ErrorFacts(status=status, message=message, code=code, body=body))
    assert isinstance(error, errors.ContentFilterError)
    assert error.categories == categories


# --- whether to try again -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "asked"), [(400, True), (409, True), (429, False), (500, False)])
def test_should_retry_of_the_server_wins_over_the_rules_of_the_vendor_and_those_over_the_status(
    status: int, asked: bool
) -> None:
    rules = ErrorRules(final=(400, 409), retryable=(429, 500))
    error = api_error(ErrorFacts(status=status, message="", should_retry=asked), rules=rules)
    assert error.retryable is asked
    rules = ErrorRules(retryable=("warming_up",), final=(503,))
    assert api_error(ErrorFacts(status=503, message="", code="warming_up"), rules=rules).retryable
    assert not api_error(ErrorFacts(status=503, message=""), rules=rules).retryable


@pytest.mark.parametrize(
    ("vendor", "status", "code", "retryable"),
    [
        ("groq", 400, "tool_use_failed", True),
        ("groq", 400, "json_validate_failed", True),
        ("groq", 498, None, True),
        ("groq", 413, "rate_limit_exceeded", False),
        ("openai", 413, "rate_limit_exceeded", True),
        ("openai", 400, "tool_use_failed", False),
        ("openai", 429, "insufficient_quota", False),
        ("openai", 409, None, False),
        ("deepseek", 402, None, False),
        ("deepseek", 200, "insufficient_system_resource", True),
        ("openrouter", 200, "502", True),
        ("openrouter", 200, "402", False),
        ("openrouter", 403, "403", False),
        ("mistral", 422, None, False),
        ("anthropic", 529, None, True),
        ("llamacpp", 503, None, True),
    ],
)
def test_a_vendors_row_says_what_its_errors_mean(vendor: str, status: int, code: str | None, retryable: bool) -> None:
    error = api_error(ErrorFacts(status=status, message="", code=code), rules=VENDORS[vendor].errors)
    assert error.retryable is retryable


def test_a_daily_quota_is_told_from_a_rate() -> None:
    def refused(quota: str) -> APIStatusError:
        details = [{"@type": "QuotaFailure", "violations": [{"quotaId": quota}]}]
        facts = ErrorFacts(status=429, message="exhausted", body=[{"error": {"code": 429, "details": details}}])
        return api_error(facts, rules=VENDORS["google"].errors)

    assert type(refused("GenerateRequestsPerDayPerProjectPerModel-FreeTier")) is QuotaError
    assert type(refused("GenerateRequestsPerMinutePerProjectPerModel")) is errors.RateLimitError


# --- recorded -------------------------------------------------------------------------------------------------------

RECORDED: dict[tuple[str, int], set[type[APIStatusError]]] = {
    ("openai", 400): {BadRequestError, errors.NotFoundError, ReasoningStateError},
    ("openai", 404): {errors.NotFoundError},
    ("groq", 400): {BadRequestError},
    ("groq", 404): {errors.NotFoundError},
    ("openrouter", 429): {errors.RateLimitError},
    ("deepseek", 400): {BadRequestError},
    ("anthropic", 400): {BadRequestError},
    ("anthropic", 404): {errors.NotFoundError},
    ("google", 404): {errors.NotFoundError},
    ("vertex", 400): {BadRequestError},
}


@pytest.mark.parametrize("wire", ["openai_chat", "openai_responses", "anthropic_messages", "gemini_generate_content"])
def test_recorded_refusals_become_the_class_they_should(wire: str) -> None:
    seen: dict[tuple[str, int], set[type[APIStatusError]]] = {}
    for exchange in exchanges(wire):
        if exchange.error is not None:
            answer = exchange.response
            error = api_error(error_facts(wire, answer.status, answer.headers, exchange.error))
            assert error.message
            seen.setdefault((exchange.vendor, answer.status), set()).add(type(error))
    assert seen
    for key, kinds in seen.items():
        assert kinds <= RECORDED[key], key


# --- what catches what: as in the SDKs --------------------------------------------------------------------------------

STATUSES = (400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 429, 500, 502, 503, 504, 529)
SDKS = {"openai": openai.OpenAI(api_key="none"), "anthropic": anthropic.Anthropic(api_key="none")}
MODULES = {"openai": openai, "anthropic": anthropic}
BROADER = {402: {"RateLimitError"}, 408: {"InternalServerError"}}
"""Statuses that one class more catches than in the SDKs, as docs/errors.md says."""


def shared(sdk: str) -> set[str]:
    """The names of classes that the SDK and this library both have."""
    return {kind.__name__ for kind in CLASSES} & {*dir(MODULES[sdk]), *dir(MODULES[sdk]._exceptions)}


def ancestors(kind: type[BaseException], names: set[str]) -> set[str]:
    """The names of the class and of those above it, as far as they are among `names`."""
    return {one.__name__ for one in kind.__mro__} & names


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("sdk", SDKS)
def test_an_except_clause_catches_the_same_statuses_as_in_the_sdk(sdk: str, status: int) -> None:
    """The SDK's class for a status and ours are below the same classes, of those that both have."""
    answer = httpx.Response(status, request=httpx.Request("POST", "https://host.test"))
    theirs = ancestors(type(SDKS[sdk]._make_status_error_from_response(answer)), shared(sdk))
    kind = error_class(ErrorFacts(status=status, message=""))
    ours = ancestors(kind, shared(sdk))
    assert "APIStatusError" in theirs
    assert theirs <= ours
    # A class of ours may be narrower than the SDK's for that status, and is below no other one of the SDK's.
    assert ours - theirs - {kind.__name__} == BROADER.get(status, set())


@pytest.mark.parametrize("sdk", SDKS)
def test_every_class_that_an_sdk_has_too_is_below_the_same_classes_there(sdk: str) -> None:
    names = shared(sdk)
    assert len(names) >= 12
    for name in names:
        theirs = getattr(MODULES[sdk], name, None) or getattr(MODULES[sdk]._exceptions, name)
        assert ancestors(getattr(errors, name), names - {name}) == ancestors(theirs, names - {name}), name


# --- the tree and its page ---------------------------------------------------------------------------------------------


def test_the_page_has_a_row_for_every_class_in_its_place_of_the_tree() -> None:
    page = (Path(__file__).parents[1] / "docs" / "errors.md").read_text(encoding="utf-8")
    above: list[str] = []
    rows: dict[str, str] = {}
    for dots, name in re.findall(r"^\| ((?:· )*)`(\w+Error)` \|.*\|.*\| .+ \|$", page, re.MULTILINE):
        del above[dots.count("·") :]
        rows[name] = above[-1] if above else "LLMError"
        above.append(name)
    rows.pop("LLMError")
    assert rows == {kind.__name__: kind.__mro__[1].__name__ for kind in CLASSES if kind is not LLMError}
