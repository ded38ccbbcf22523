"""Vendor batch APIs as pure functions: upload, creation, the state of a job, and the results of its requests.

Before changing this file, know that an encoded body is inserted into its line byte for byte, and that results arrive in any
order, some of them twice and some never: only their id identifies the request.
"""

from __future__ import annotations

import re
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast
from urllib.parse import parse_qsl, quote

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ..errors import ConfigError, RequestTooLargeError
from ..losses import Loss
from ..unknown import convert
from ..wires import Route
from ..wires.anthropic_messages.response import STATUSES
from ..wires.gemini_generate_content.response import STATUSES as GRPC_STATUSES
from .dialects import CHAT, DIALECTS, RESPONSES, BatchDialect

if TYPE_CHECKING:
    from ..client.target import Target

Outcome = Literal["succeeded", "errored", "expired", "cancelled", "missing"]
"""The outcome of one request of a batch: `missing` is one without a result."""
Plain = dict[str, Any]

_encode = msgspec.json.Encoder().encode

# --- requests ---------------------------------------------------------------------------------------------------------


class BatchGroup(Struct, frozen=True):
    """The properties that all requests of one batch share. `credential` is a digest of the credentials, never a key."""

    vendor: str
    base_url: str
    credential: str
    endpoint: str
    model: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def dialect(self) -> BatchDialect:
        """The batch API for the group."""
        return DIALECTS[self.vendor]


def group_of(target: Target, route: Route, credential: str) -> BatchGroup:
    """The group of a request. Headers (betas, API versions) belong to a whole batch."""
    dialect = dialect_of(target)
    endpoint = f"/v1{route.path}" if target.endpoint.wire in (RESPONSES, CHAT) else route.path
    headers = tuple(sorted(route.headers.items()))
    model = target.model if dialect.one_model else ""
    return BatchGroup(target.vendor, target.endpoint.base_url, credential, endpoint, model, headers)


def dialect_of(target: Target) -> BatchDialect:
    """The batch API for the requests of a target. Raises `ConfigError` where there is none."""
    found = DIALECTS.get(target.vendor)
    if found is None:
        hint = f"use mode='live'; a batch API is used at {', '.join(DIALECTS)}"
        raise ConfigError(f"{target.vendor} has no batch API that this library uses", hint=hint)
    if target.endpoint.wire not in found.wires:
        what = f"the batch API of {target.vendor} takes no requests of the wire {target.endpoint.wire}"
        raise ConfigError(what, hint=f"use wire={found.wires[0]!r}, or mode='live'")
    return found


class _Fields(Struct):
    stream: Any = None
    background: Any = None
    speed: Any = None
    max_tokens: Any = None


_fields = msgspec.json.Decoder(_Fields).decode
_MEDIA = re.compile(rb'"type":"(?:image_url|input_image|input_audio|video_url|input_video|file|input_file)"')
"""Only a part itself matches: inside a string the quotes are escaped."""


def refusals(dialect: BatchDialect, body: bytes) -> list[Loss]:
    """The losses of a request in any batch, by its encoded body."""
    found, anthropic = _fields(body), dialect.format == "anthropic"
    problems = {
        "stream": found.stream and "a request of a batch is not streamed",
        "background": found.background and "a request of a batch does not run in the background",
        "service_tier": anthropic and found.speed is not None and "Anthropic takes no `speed` in batches",
        "prompt_cache_options.prewarm": anthropic
        and found.max_tokens == 0
        and "Anthropic takes no `max_tokens: 0` in batches",
        "input": dialect.text_only and _MEDIA.search(body) and "this batch API takes text only",
    }
    return [Loss(path, what, "refused") for path, what in problems.items() if isinstance(what, str)]


_SPACES = bytes.maketrans(b"\r\n", b"  ")


def digest(body: bytes) -> str:
    """A digest of a request, by which a result is matched to the request that was sent."""
    return blake2b(body, digest_size=6).hexdigest()


def line(group: BatchGroup, custom_id: str, body: bytes) -> bytes:
    """One request of a batch: its id, the fields of the format, and the body byte for byte as it was encoded."""
    api = group.dialect.api
    head = {api.key: custom_id} | ({"method": "POST", "url": group.endpoint} if api.full else {})
    if b"\n" in body or b"\r" in body:  # between tokens, where a space is equivalent
        body = body.translate(_SPACES)
    return b'%b,"%b":%b}' % (_encode(head)[:-1], api.body.encode(), body)


def _frame(group: BatchGroup) -> tuple[bytes, bytes, bytes]:
    """The bytes before, between and after the lines of a batch."""
    if not group.dialect.api.inline:
        return b"", b"\n", b"\n"
    if group.dialect.format != "openrouter":
        return b'{"requests":[', b",", b"]}"
    # It reads endpoint and model before the requests, or answers 400.
    about = {"endpoint": group.endpoint, "model": group.model, "completion_window": "24h"}
    return _encode(about)[:-1] + b',"requests":[', b",", b"]}"


class BatchBuilder:
    """Collects the lines of one batch by their ids, up to exactly the limits of its vendor."""

    def __init__(self, group: BatchGroup) -> None:
        self.group = group
        self.lines: dict[str, bytes] = {}
        self._size = len(b"".join(_frame(group)[::2])) - 1

    def add(self, custom_id: str, body: bytes) -> bool:
        """Add a request, unless the batch is full: then it belongs in the next one."""
        entry, dialect = line(self.group, custom_id, body), self.group.dialect
        grown = self._size + len(entry) + 1
        if grown > dialect.max_bytes and not self.lines:
            most = f"{dialect.max_bytes:,} bytes for a whole batch"
            raise RequestTooLargeError(f"the request has {len(body):,} bytes, and {self.group.vendor} takes {most}")
        if len(self.lines) == dialect.max_requests or grown > dialect.max_bytes:
            return False
        self.lines[custom_id] = entry
        self._size = grown
        return True

    def content(self) -> bytes:
        """The whole input file, or the body that creates an inline batch; its lines in the order of their ids."""
        head, between, tail = _frame(self.group)
        return b"".join((head, between.join(entry for _, entry in sorted(self.lines.items())), tail))


def route(
    group: BatchGroup, template: str, *, id: str = "", file: str = "", method: str = "GET", **query: str
) -> Route:
    """A path of the batch API with its values, and the headers of the group."""
    path, _, fixed = template.partition("?")
    safe = "/" if group.dialect.format == "google" else ""  # whose names are paths
    values = {"id": quote(id, safe=safe), "file": quote(file, safe=safe), "endpoint": group.endpoint}
    path = path.format(root="/" + group.endpoint.split("/")[1], **values)
    return Route(path, {**dict(parse_qsl(fixed)), **query}, dict(group.headers), cast("Any", method))


def upload(group: BatchGroup, content: bytes, marker: str) -> tuple[Route, bytes]:
    """The request that uploads the input file, or that begins to where the vendor answers with a URL for the content."""
    found = route(group, group.dialect.api.files, method="POST")
    if group.dialect.format == "google":
        about = {"Protocol": "resumable", "Command": "start", "Header-Content-Type": "application/jsonl"}
        about["Header-Content-Length"] = str(len(content))
        headers = {f"X-Goog-Upload-{name}": value for name, value in about.items()}
        return replace(found, headers=headers), _encode({"file": {"displayName": marker}})
    edge = f"--{marker}".encode()  # no line of JSON begins with it
    field = b'\r\nContent-Disposition: form-data; name="'
    purpose = b"" if group.dialect.format == "xai" else b'%b%bpurpose"\r\n\r\nbatch\r\n' % (edge, field)
    head = b'%b%b%bfile"; filename="%b.jsonl"\r\nContent-Type: application/jsonl\r\n\r\n'
    body = b"".join((head % (purpose, edge, field, marker.encode()), content, b"\r\n", edge, b"--\r\n"))
    return replace(found, headers={"Content-Type": f"multipart/form-data; boundary={marker}"}), body


def create(group: BatchGroup, file: str, marker: str) -> tuple[Route, bytes]:
    """The request that creates a batch of an uploaded file; the body of an inline batch is its content instead."""
    found = route(group, group.dialect.api.create, method="POST")
    about: Plain
    match group.dialect.format:
        case "google":
            found = replace(found, path=found.path.replace(":generate", ":batchGenerate"))
            about = {"batch": {"displayName": marker, "inputConfig": {"fileName": file}}}
        case "xai":
            about = {"name": marker, "input_file_id": file}
        case "mistral":
            # The model stays in each body, which is valid where the job names none.
            about = {"endpoint": group.endpoint, "input_files": [file], "timeout_hours": 24}
        case _:
            about = {"input_file_id": file, "endpoint": group.endpoint, "completion_window": "24h"}
    if group.dialect.takes_metadata and group.dialect.api.marker == "metadata.llm_rest":
        about["metadata"] = {"llm_rest": marker}
    return found, _encode(about)


# --- jobs -----------------------------------------------------------------------------------------------------------


class BatchError(Struct, frozen=True):
    """The vendor's error for a failed batch, or for one `line` of its input, counted from 1."""

    message: str = ""
    code: str | int | None = None
    line: int | None = None


class BatchJob(Struct, frozen=True, kw_only=True):
    """A batch job at its vendor. Plain data without a key, with which another process can continue."""

    id: str
    status: Literal["running", "cancelling", "ended"]
    ended_as: Literal["completed", "failed", "expired", "cancelled"] = "completed"
    """The final state of the job. Each request has an outcome of its own all the same."""
    counts: dict[str, int] = {}
    """The number of requests by outcome, as the vendor names it. They need not add up, and are informational only."""
    created_at: float | None = None
    marker: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    errors: tuple[BatchError, ...] = ()


_STATES = {
    **dict.fromkeys(("completed", "ended", "succeeded", "success", "partially_succeeded"), "completed"),
    **dict.fromkeys(("expired", "timeout_exceeded"), "expired"),
    **dict.fromkeys(("cancelling", "canceling", "cancellation_requested"), "cancelling"),
    "failed": "failed",
    "cancelled": "cancelled",
}
"""The states of all vendors in lower case; any other is that of a running batch."""


def _at(document: Any, path: str) -> Any:
    for name in path.split("."):
        document = cast("Plain", document).get(name) if isinstance(document, dict) else None
    return document


def _seconds(value: Any) -> float | None:
    """A time in seconds since 1970, from a number or a date."""
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else value and float(value)
    except (ValueError, TypeError):
        return None


def _names(*found: Any) -> tuple[str, ...]:
    """The ids in fields that hold one or a list of them."""
    listed: list[Any] = [name for each in found for name in (cast("Any", each) if isinstance(each, list) else [each])]
    return tuple(dict.fromkeys(name for name in listed if isinstance(name, str) and name))


def job(group: BatchGroup, document: Plain) -> BatchJob:
    """The batch in a document of its vendor."""
    api = group.dialect.api
    counts: Plain = _at(document, api.counts) or {}
    counts = {name: int(n) for name, n in counts.items() if str(n).isdecimal()}
    state = _STATES.get(str(_at(document, api.state)).lower().removeprefix("batch_state_").removeprefix("job_state_"))
    errors: Any = _at(document, "errors.data") or document.get("errors")
    failures: list[Any] = cast("Any", errors) if isinstance(errors, list) else []
    if alone := document.get("error") or document.get("cancel_by_xai_message"):
        failures = [*failures, alone if isinstance(alone, dict) else {"message": str(alone)}]
    if group.dialect.format == "xai":  # a format with counters and no state
        started = counts.get("num_requests", 0) > 0 and counts.get("num_pending", 0) == 0
        state = (
            ("failed" if failures else "cancelled") if document.get("cancel_time") else "completed" if started else None
        )
    if state is None and document.get("done"):
        state = "failed" if failures else "completed"
    ended: Any = state if state != "cancelling" else None
    return BatchJob(
        id=str(_at(document, api.id) or ""),
        status="ended" if ended else "cancelling" if state else "running",
        ended_as=ended or "completed",
        counts=counts,
        created_at=_seconds(_at(document, api.created)),
        marker=str(_at(document, api.marker) or ""),
        inputs=_names(_at(document, api.inputs)),
        outputs=_names(*(_at(document, path) for path in api.outputs)),
        errors=tuple(convert(each, BatchError, strict=False) for each in failures if isinstance(each, dict)),
    )


def page(group: BatchGroup, document: Plain, route: Route) -> tuple[list[Plain], Route | None]:
    """The batches or files of a page, and where the next page is."""
    api = group.dialect.api
    entries: list[Plain] = document.get(api.listed) or document.get("files") or document.get("data") or []
    name, field = api.cursor
    after: Any = document.get(field) if document.get("has_more", True) else None
    if not field and len(entries) == 100:  # pages are counted
        after = str(int(str(route.query.get(name, 0))) + 1)
    following = replace(route, query={**route.query, name: after}) if after and entries else None
    return entries, following


# --- results --------------------------------------------------------------------------------------------------------


class BatchResult(NamedTuple):
    """The result of one request: `status` is that of HTTP, and `body` the answer or the error as the vendor's wire writes it."""

    custom_id: str
    outcome: Outcome
    status: int = 200
    body: bytes = b""


GRPC = (
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED"
    " RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS"
    " UNAUTHENTICATED"
).split()
"""The status codes of gRPC."""

_NULL = Raw(b"null")


class _Ended(Struct):
    """How a request ended at Anthropic (`type`) and xAI."""

    type: str = ""
    message: Raw = _NULL
    response: dict[str, Raw] | None = None
    error: Plain | None = None


class _Line(Struct):
    """One result of any vendor."""

    custom_id: str = ""
    key: str = ""
    batch_request_id: str = ""
    metadata: dict[str, Any] | None = None
    response: Raw = _NULL
    result: _Ended | None = None
    batch_result: _Ended | None = None
    error: Plain | None = None


class _Answered(Struct):
    """OpenAI's `response`."""

    status_code: int | None = None
    body: Raw = _NULL


_line, _answered = msgspec.json.Decoder(_Line).decode, msgspec.json.Decoder(_Answered | None).decode
_UNTIL = {"batch_expired": "expired", "expired": "expired", "batch_cancelled": "cancelled", "canceled": "cancelled"}
"""The codes of requests that were not run, and their outcome."""


def result(group: BatchGroup, line: bytes | Raw) -> BatchResult:
    """One result. Raises `msgspec.MsgspecError` and `UnicodeDecodeError` for an invalid one."""
    found = _line(line)
    ended = found.result or found.batch_result or _Ended()
    name = found.custom_id or found.key or found.batch_request_id or str((found.metadata or {}).get("key", ""))
    error = found.error or ended.error
    body, status = found.response, 200
    match group.dialect.format:
        case "anthropic":
            body = ended.message
            if ended.type == "errored":
                inner = _at(error, "error.type") or _at(error, "type")
                error, status = error or {"type": "error"}, STATUSES.get(str(inner), 500)
        case "google" | "xai":
            body = next(iter((ended.response or {}).values()), body)
            if error:
                code: Any = error.get("code")
                title = _word(code)
                status = code if isinstance(code, int) and 400 <= code <= 599 else GRPC_STATUSES.get(title, 500)
                error = {"error": {"status": title, **error, "code": status} if title else error}
                ended.type = "canceled" if title == "CANCELLED" else ""
        case _:
            answered = _answered(body) or _Answered()
            body, status = answered.body, answered.status_code or 200
            if error:
                ended.type, error = str(error.get("code")), {"error": error}
                status = status if status >= 400 else 500
            elif status >= 300:
                return BatchResult(name, "errored", status, bytes(body))
    outcome: Any = _UNTIL.get(ended.type)
    if outcome:
        return BatchResult(name, outcome)
    if error:
        return BatchResult(name, "errored", status, _encode(error))
    return BatchResult(name, "missing" if bytes(body) in (b"null", b"") else "succeeded", 200, bytes(body))


def _word(code: Any) -> str:
    """A code as a word, also for a number of gRPC."""
    return code if isinstance(code, str) else GRPC[code] if isinstance(code, int) and 0 < code < len(GRPC) else ""


def without_result(job: BatchJob, custom_id: str, place: int) -> BatchResult:
    """The outcome of a request without a result in a batch that ended; `place` is its line in the input, from 1."""
    if job.ended_as == "failed":  # none of it ran
        errors = [error for error in job.errors if error.line in (place, None)]
        if errors:
            passes = any(str(error.code).endswith(("limit_exceeded", "RESOURCE_EXHAUSTED")) for error in errors)
            code = _word(errors[0].code)
            status = 429 if passes or code == "RESOURCE_EXHAUSTED" else 400
            messages = "; ".join(error.message or str(error.code) for error in errors)
            about = {"message": f"the batch failed: {messages}", "type": "invalid_request_error", "code": code}
            return BatchResult(custom_id, "errored", status, _encode({"error": about}))
    outcome: Any = {"completed": "missing", "failed": "missing"}.get(job.ended_as, job.ended_as)
    return BatchResult(custom_id, outcome)


class _Page(Struct):
    results: list[Raw] | None = None
    pagination_token: str | None = None


_page = msgspec.json.Decoder(_Page).decode


def entries(document: bytes, route: Route) -> tuple[list[Raw], Route | None]:
    """The results in a document of several, and the position of the next ones."""
    found = _page(document)
    following = replace(route, query={**route.query, "pagination_token": found.pagination_token or ""})
    return found.results or [], following if following.query["pagination_token"] and following != route else None
