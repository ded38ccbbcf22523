"""`E`: what a vendor's refusal is, how often it is asked again, and how long is waited."""

# ruff: noqa: E501 - a case is a line

from __future__ import annotations

import gzip
import json
from typing import Any

from llm_rest import Failure
from llm_rest.transport import Timeouts
from tests.hostile.documents import Documents, encode, put
from tests.hostile.table import KEY, Case, Seen, World, bad, either, failed, good
from tests.loopback import Act, head, http, reset, send, send_and_close, send_and_stall

NAMED = "x-request-id: req_head"


def refuse(status: int, *headers: str, body: bytes | None = None, word: str = "", message: str = "no") -> Any:
    """An error answer of this status in the vendor's spelling."""

    def of(d: Documents) -> bytes:
        said = d.error(status, message, word) if body is None else body
        return http(said, f"{status} What", NAMED, *headers)

    return of


def once(answer: Any) -> Any:
    return lambda d: [send(answer(d)), send(http(d.good()))]


def always(answer: Any) -> Any:
    return lambda d: [send(answer(d))]


KINDS = {
    400: "bad_request", 401: "authentication", 402: "quota", 403: "permission_denied", 404: "not_found",
    408: "server_timeout", 409: "conflict", 413: "request_too_large", 418: "bad_request", 422: "unprocessable_entity",
    429: "rate_limit", 500: "internal_server", 501: "internal_server", 502: "internal_server", 504: "server_timeout",
    529: "overloaded",
}  # fmt: skip
PASSING = (408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529)
STAYING = (400, 401, 402, 403, 404, 405, 406, 409, 410, 411, 413, 414, 415, 418, 421, 422, 431, 451, 501, 505, 511)


def waits(*seconds: float) -> Any:
    """Whether each wait is as long as the server asked, and hardly longer."""

    def check(seen: Seen) -> bool:
        pairs = zip(seconds, seen.waits, strict=False)
        return len(seen.waits) == len(seconds) and all(asked <= wait <= asked * 1.1 for asked, wait in pairs)

    return check


def backs_off(seen: Seen) -> bool:
    """Whether only waits of the normal back-off were made."""
    return len(seen.waits) == 1 and seen.waits[0] <= 1


def told_long(seen: Seen) -> bool:
    """Whether the call did not wait as long as the server asked, and the error names that time."""
    return not seen.waits and (seen.error.retry_after or 0) > 60 and seen.error.hint is not None


def shaped(status: int, body: bytes, message: str | None = None, *headers: str) -> dict[str, Any]:
    """An error body of some shape: the status decides, and the message arrives where there is one."""
    facts: dict[str, Any] = {} if message is None else {"message": message}
    attempts = 3 if status in PASSING else 1
    expected = bad(KINDS[status], attempts=attempts, status=status, request_id="req_head", **facts)
    return {"does": always(refuse(status, *headers, body=body)), "expected": expected}


def retry_info(d: Documents) -> list[Act]:
    detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"}
    body = json.dumps({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "no", "details": [detail]}})
    return [send(http(body.encode(), "429 Too Many Requests")), send(http(d.good()))]


def filtered(d: Documents) -> bytes:
    results = {"hate": {"filtered": True, "severity": "high"}}
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": results}
    said = {"message": "filtered by the content management policy", "code": "content_filter", "status": 400}
    return http(json.dumps({"error": {**said, "innererror": inner}}).encode(), "400 Bad Request", NAMED)


async def budgeted(world: World) -> Any:
    llm = world.client()
    for _ in range(10):
        assert isinstance(await llm.try_generate("Hi"), Failure)
    return await llm.generate("Hi")


async def plain_value(world: World) -> Any:
    found = await world.client().try_generate("Hi")
    assert isinstance(found, Failure), found
    assert found.description == "no", found
    assert found.suggestions, found


NOW = "date: Fri, 20 Nov 2026 10:00:00 GMT"
READ = {
    "retry-after: 3": 3, "retry-after:   1.5  ": 1.5, "retry-after: 60": 60, "retry-after: 03": 3, "retry-after: 3.0": 3,
    "retry-after: Fri, 20 Nov 2026 10:00:07 GMT": 7, "retry-after: Friday, 20-Nov-26 10:00:05 GMT": 5,
    "retry-after: Fri Nov 20 10:00:05 2026": 5, "retry-after: Fri, 20 Nov 2026 10:00:05": 5,
    "retry-after: Fri, 20 Nov 2026 12:00:05 +0200": 5, "retry-after: 20 Nov 2026 10:00:05 UTC": 5,
    "retry-after-ms: 2500": 2.5, "retry-after-ms: 1500\r\nretry-after: 9": 1.5, "retry-after-ms: -5\r\nretry-after: 3": 3,
}  # fmt: skip
"""What a server may ask for, and the seconds."""
UNREAD = (
    "3s", "3 seconds", "+3", "3,5", "3;", "PT3S", "-0", "0.0", "1e1", "0x3", "3_0", '"3"', "infinity",
    "2026-11-20T10:00:05Z", "Fri, 31 Feb 2026 10:00:05 GMT", "soon", "inf", "nan",
)  # fmt: skip
ABSURD = (
    "-5", "1e400", "", " ", "Fri, 20 Nov 99999 10:00:00 GMT", "Fri, 20 Nov 2020 10:00:00 GMT",
    "3\r\ndate: now\r\nretry-after: Fri, 20 Nov 2099 10:00:05 GMT",
)  # fmt: skip


def spelled(*asked: str) -> dict[str, Any]:
    """Refusals that each ask for a delay in another spelling, then a good answer."""
    named = [refuse(429, NOW, line) for line in asked]
    does: Any = lambda d: [*(send(answer(d)) for answer in named), send(http(d.good()))]  # noqa: E731
    return {"does": does, "options": {"retry": len(asked) + 1}}


def ignored(seen: Seen) -> bool:
    """Whether each wait was one of the normal back-off."""
    return all(wait <= min(2**i, 8) for i, wait in enumerate(seen.waits))


async def each_passing(world: World) -> Any:
    llm, reply = world.client(retry=2), None
    for status in PASSING:
        reply = await llm.generate("Hi")
        assert len(reply.info.attempts) == 2
        assert reply.info.attempts[0].outcome == KINDS.get(status, reply.info.attempts[0].outcome)
    return reply


async def each_staying(world: World) -> Any:
    """None leaves a connection open either."""
    llm = world.client()
    for status in STAYING:
        found = await failed(llm.generate("Hi"))
        assert (found.status, found.retryable, len(found.attempts)) == (status, False, 1), (status, found)
        assert found.kind == KINDS.get(status, found.kind)
        assert world.server.open <= 1


BUSY = ("overloaded", "internal_server")
GOOGLE = dict.fromkeys(
    ("openai_responses", "openai_chat", "anthropic_messages", "ollama_chat"), "only Google says it in the body"
)
ERROR_IN_200 = b'{"error": {"type": "server_error", "code": 502, "message": "upstream"}}'


def quota(d: Documents) -> bytes:
    match d.wire:
        case "anthropic_messages":
            return http(d.error(400, "Your credit balance is too low to access the API"), "400 Bad Request", NAMED)
        case "gemini_generate_content":
            details = [{"@type": "x/google.rpc.QuotaFailure", "violations": [{"quotaId": "RequestsPerDayPerProject"}]}]
            body = put(d.refusing(429, "no", ""), ("error", "details"), details)
            return http(encode(body), "429 Too Many Requests", NAMED)
        case _:
            return http(d.error(429, "You exceeded your current quota", "insufficient_quota"), "429 No", NAMED)


def told_by(word: str = "", **said: str) -> Any:
    """A 400 in which each vendor says that in its own words."""
    code = {name: word for name in said if name.startswith("openai")}
    return always(lambda d: http(d.error(400, said[d.wire], code.get(d.wire, "")), "400 Bad Request", NAMED))


OPENAI_TOO_LONG = "This model's maximum context length is 200000 tokens, however you requested 200001"
TOO_LONG = told_by(
    "context_length_exceeded",
    openai_responses=OPENAI_TOO_LONG,
    openai_chat=OPENAI_TOO_LONG,
    anthropic_messages="prompt is too long: 200001 tokens > 200000 maximum",
    gemini_generate_content="The input token count (200001) exceeds the maximum number of tokens allowed (200000).",
    ollama_chat="input length exceeds the context length",
)
REASONING_STATE = told_by(
    openai_responses="Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    openai_chat="The encrypted content for item rs_1 could not be verified.",
    anthropic_messages="messages.1.content.0: Invalid `signature` in `thinking` block",
    gemini_generate_content="Function call `f` is missing a `thought_signature`",
)
REASONING_MISSING = told_by(
    openai_responses="Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
    openai_chat="The `reasoning_content` in the thinking mode must be passed back to the API.",
    anthropic_messages="messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
    gemini_generate_content="Invalid thought_signature",
)
REDACTED_DATA = told_by(
    openai_responses="The encrypted content gAAA... could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
    openai_chat="Invalid encrypted_content in reasoning_details",
    anthropic_messages="messages.1.content.0: Invalid `data` in `redacted_thinking` block",
    gemini_generate_content="Thought signature is not valid.",
)
NO_REASONING = {"ollama_chat": "it issues nothing that must come back"}

E = [
    Case("E02", "401, every time", always(refuse(401)), bad("authentication", status=401, request_id="req_head", code="auth_error", retryable=False)),
    Case("E09", "429, every time: three attempts", always(refuse(429)), bad("rate_limit", attempts=3, status=429, request_id="req_head", code="rate_limit", retryable=True)),
    Case("E12", "status 503, every time: asked again, three times in all", always(refuse(503)), bad(*BUSY, attempts=3, status=503, request_id="req_head", retryable=True)),
    Case("E15", "429 once, then good", once(refuse(429)), good(2, then=backs_off)),
    Case("E16", "500, then 503, then good", lambda d: [send(refuse(500)(d)), send(refuse(503)(d)), send(http(d.good()))], good(3, then=lambda s: len(s.waits) == 2 and s.waits[0] <= 1 and s.waits[1] <= 2)),
    Case("E17", "Retry-After in each of its formats", **spelled(*READ), expected=good(len(READ) + 1, then=waits(*READ.values()))),
    Case("E21", "Retry-After: 999999", always(refuse(429, "retry-after: 999999")), bad("rate_limit", then=told_long)),
    Case("E22", "Retry-After: 61, just above what is waited for", always(refuse(503, "retry-after: 61")), bad(*BUSY, then=told_long)),
    Case("E26", "Retry-After that makes no sense, or is over", **spelled(*ABSURD), expected=good(len(ABSURD) + 1, then=ignored)),
    Case("E27", "Retry-After: 1 kB of nines", once(refuse(429, "retry-after: " + "9" * 1000)), either(good(2, then=backs_off), bad("rate_limit"))),
    Case("E29", "429 with x-should-retry: false", always(refuse(429, "x-should-retry: false")), bad("rate_limit", retryable=False)),
    Case("E30", "409 and 400 with x-should-retry: true", once(refuse(409, "x-should-retry: true")), good(2)),
    Case("E31", "a quota that is used up", always(quota), bad("quota", code="rate_limit", retryable=False)),
    Case("E33", "400 content_filter in Azure's spelling", always(filtered), bad("content_filter", code="invalid_request", categories=("hate",))),
    Case("E34", "more than the model's context", TOO_LONG, bad("context_length", code="invalid_request", retryable=False)),
    Case("E35", "500 with an empty body", **shaped(500, b"")),
    Case("E36", "502 with a page of HTML", **shaped(502, b"<html><title>Bad Gateway</title><body>nginx</body></html>")),
    Case("E37", 'error body {"error": "a string"}', **shaped(400, b'{"error": "a string"}', "a string")),
    Case("E38", 'error body {"error": null} and {}', **shaped(404, b'{"error": null}')),
    Case("E39", "error body is a JSON list", **shaped(400, b'[{"error": {"code": 400, "message": "listed"}}]', "listed")),
    Case("E40", "error body is a number, null, a string", **shaped(403, b"42")),
    Case("E41", "error body nested 100 000 deep", **shaped(400, b'{"error":' * 100_000 + b"1" + b"}" * 100_000)),
    Case("E42", "error body of invalid UTF-8", **shaped(422, b'{"error": {"message": "\xff\xfe"}}')),
    Case("E43", "an error body that stalls", lambda d: [send_and_stall(http(d.error(400)[:5], "400 Bad Request", NAMED, length=500))], bad("bad_request", status=400, request_id="req_head"), slow=True, options={"timeout": Timeouts(total=0.6)}),
    Case("E44", "an error body that stalls until the time of the call is over", lambda d: [send_and_stall(http(b"{", "503 No", NAMED, length=500))], bad(*BUSY, status=503), slow=True, options={"timeout": 0.5}),
    Case("E45", "200 with an error object", always(lambda d: http(d.error(500, "broken"))), bad("internal_server", "api_status", "bad_request", "overloaded", attempts=(1, 3))),
    Case("E46", "200 with an error object of a router, which puts the status inside", always(lambda d: http(ERROR_IN_200)), bad("internal_server", attempts=3, retryable=True)),
    Case("E47", "an error message with ANSI escapes and newlines", always(refuse(400, message="\x1b[31mred\x1b[0m\r\nnext\u2028line\x07")), bad("bad_request", then=lambda s: s.error is not None and str(s.error).isprintable())),
    Case("E48", "an error message that repeats the key", always(lambda d: http(d.error(401, f"Incorrect API key provided: {KEY}, try another"), "401 Unauthorized", NAMED)), bad("authentication", status=401, then=lambda s: "[redacted]" in str(s.error))),
    Case("E49", "one attempt allowed, and 500", always(refuse(500)), bad("internal_server"), options={"retry": 1}),
    Case("E50", "two attempts allowed, and 500", always(refuse(500)), bad("internal_server", attempts=2), options={"retry": 2}),
    Case("E53", "Gemini 429 with RetryInfo in the body", retry_info, good(2, then=waits(3)), cannot=GOOGLE),
    Case("E54", "an error body cut by FIN, and by RST", lambda d: [send_and_close(http(d.error(400), "400 No", NAMED, length=999))], bad("bad_request", status=400)),
    Case("E55", "an error body that says gzip and is not", always(lambda d: http(d.error(404), "404 No", NAMED, "content-encoding: gzip")), bad("not_found", status=404)),
    Case("E56", "an error of a coding nobody knows", always(lambda d: http(d.error(401), "401 No", NAMED, "content-encoding: br")), bad("authentication", status=401)),
    Case("E57", "an error in chunks whose framing is broken", lambda d: [send_and_close(head(status="403 No") + b"ZZ\r\n")], bad("permission_denied", status=403)),
    Case("E61", "the eleventh call in a row that fails thrice", always(refuse(500)), bad("internal_server", attempts=31, hint="retry budget exhausted"), ask=budgeted, counted=False),
    Case("E62", "a signature or encrypted reasoning is refused", REASONING_STATE, bad("reasoning_state", code="invalid_request"), cannot=NO_REASONING),
    Case("E63", "a reasoning item that is required did not come back", REASONING_MISSING, bad("reasoning_state"), cannot=NO_REASONING),
    Case("E64", "redacted or encrypted data does not open", REDACTED_DATA, bad("reasoning_state"), cannot=NO_REASONING),
    Case("E65", "400, every time, as a value", always(refuse(400)), good(1, text=None), ask=plain_value),
    Case("E69", "RST after the head of an error", lambda d: [reset(http(b"", "429 No", NAMED, length=100))], bad("rate_limit", attempts=3, status=429), slow=True),
    Case("E71", "each status that may pass, once", lambda d: [act for status in PASSING for act in (send(refuse(status)(d)), send(http(d.good())))], good(2 * len(PASSING)), ask=each_passing, counted=False),
    Case("E72", "each status that stays", lambda d: [send(refuse(status)(d)) for status in STAYING], good(len(STAYING), text=None), ask=each_staying, counted=False),
    Case("E73", "Retry-After: 30, and the call has 5 seconds", always(refuse(429, "retry-after: 30")), bad("rate_limit", retry_after=30, then=lambda s: not s.waits and "time of the call" in s.error.hint), options={"timeout": 5}),
    Case("E75", "x-should-retry: true on a 400 every time", always(refuse(400, "x-should-retry: true")), bad("bad_request", attempts=3, retryable=True)),
    Case("E76", "x-should-retry: perhaps", always(refuse(400, "x-should-retry: perhaps")), bad("bad_request")),
    Case("E77", "an error without a message", **shaped(400, b'{"error": {"type": "invalid_request_error"}}')),
    Case("E78", "an error whose code and message are numbers and lists", **shaped(400, b'{"error": {"code": 7, "message": ["a", {"b": 1}], "type": null}}')),
    Case("E80", "200 with an error that is a text", always(lambda d: http(b'{"error": "model not loaded"}')), bad("internal_server", "api_status", "bad_request", "malformed_response", "not_found", attempts=(1, 3))),
    Case("E81", "200 with an error beside a whole answer", lambda d: [send(http(d.good()[:-1] + b', "error": {"message": "broken", "type": "server_error"}}'))], bad("internal_server", "api_status", attempts=(1, 3))),
    Case("E82", "200 with error null beside a whole answer", lambda d: [send(http(d.good()[:-1] + b', "error": null}'))], good()),
    Case("E83", "an error behind a byte order mark", always(lambda d: http(b"\xef\xbb\xbf" + d.error(400, "hello"), "400 No", NAMED)), bad("bad_request", message="hello")),
    Case("E84", "an error with half a character", always(lambda d: http(d.error(400, "a@b").replace(b"@", rb"\ud83d"), "400 No", NAMED)), bad("bad_request", message="a\ufffdb")),
    Case("E85", "an error with marks that turn text around, and zero width", always(refuse(400, message="a\u202eevil\u200b\ufeffx")), bad("bad_request", message="a evil  x")),
    Case("E86", "Retry-After in spellings that are none", **spelled(*UNREAD), expected=good(len(UNREAD) + 1, then=ignored)),
    Case("E90", "Retry-After on a 400", always(refuse(400, "retry-after: 3")), bad("bad_request", then=lambda s: not s.waits)),
    Case("E94", "503 with Retry-After and x-should-retry: false", always(refuse(503, "retry-after: 3", "x-should-retry: false")), bad(*BUSY, retryable=False, then=lambda s: not s.waits)),
    Case("E95", "an error as problem+json", **shaped(403, b'{"type": "about:blank", "title": "Out of credit", "detail": "Your balance is 30"}', "Your balance is 30", "content-type: application/problem+json")),
    Case("E96", "an error of a validating server", **shaped(422, b'{"detail": [{"loc": ["body", "x"], "msg": "field required", "type": "missing"}]}', "field required")),
    Case("E97", "an error with a detail, or a message, and no error", **shaped(404, b'{"detail": "Not here"}', "Not here")),
    Case("E98", "an error in XML", **shaped(403, b'<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Denied</Message></Error>', "AccessDenied Denied")),
    Case("E99", "an error that is a JSON string", **shaped(400, b'"go away"', "go away")),
    Case("E100", "an error as a frame of a stream", always(lambda d: http(b"event: error\ndata: " + d.error(429, "slow down") + b"\n\n", "429 No", NAMED, "content-type: text/event-stream")), bad("rate_limit", attempts=3, status=429, then=lambda s: "slow down" in str(s.error) and "{" not in str(s.error))),
    Case("E101", "an error in UTF-16", **shaped(400, '{"error": {"message": "no"}}'.encode("utf-16"))),
    Case("E102", "an error of every byte", **shaped(500, bytes(range(256)) * 10)),
    Case("E103", "an error in gzip, whole", always(lambda d: http(gzip.compress(d.error(400, "zipped")), "400 No", NAMED, "content-encoding: gzip")), bad("bad_request", message="zipped")),
    Case("E104", "an error in gzip, cut", always(lambda d: http(gzip.compress(d.error(404, "zipped"))[:-12], "404 No", NAMED, "content-encoding: gzip")), bad("not_found", status=404)),
    Case("E105", "an error over HTTP/1.0, ended by close", lambda d: [send_and_close(b"HTTP/1.0 400 No\r\n\r\n" + d.error(400, "old"))], bad("bad_request", message="old")),
    Case("E106", "two errors, one behind the other", always(lambda d: http(d.error(400, "one") + d.error(400, "two"), "400 No", NAMED)), bad("bad_request", status=400)),
    Case("E107", "a code of 5000 digits, 1e999, NaN", **shaped(400, b'{"error": {"message": "m", "code": 1e999}}')),
    Case("E108", "an error with an empty message", always(refuse(400, message="")), bad("bad_request", then=lambda s: bool(str(s.error).strip()))),
    Case("E109", "a message of 10 MB", always(refuse(400, message="m" * 10_000_000)), bad("bad_request", then=lambda s: len(str(s.error.body)) < 70_000), modes=("sync",)),
]  # fmt: skip
