"""How a vendor of each wire says "Hello": whole, in pieces, refusing and failing; and where in its documents things stand.

Written by hand from the wire descriptions, so that nothing of the library has a part in what it is tested with.
"""

from __future__ import annotations

import copy
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.loopback import Act, http, send

Plain = dict[str, Any]
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Documents:
    """One wire as its vendor speaks it. The paths say where a fault is put into a whole answer."""

    wire: str
    model: str
    options: Plain
    whole: Callable[[str], Plain]
    events: Callable[[Sequence[str]], list[Plain]]
    """A whole stream as documents, with one for each text."""
    refusing: Callable[[int, str, str], Plain]
    """The body of an error: status, message, and the vendor's word for it."""
    failing: Callable[[str], Plain]
    """The event that ends a stream because the vendor is overloaded, or failed."""
    items: Path
    text: Path
    count: Path
    finish: Path
    name: Path
    ndjson: bool = False
    done: bytes = b""

    @property
    def opening(self) -> int:
        """How many events stand before the first text."""
        return next(i for i, event in enumerate(self.events([LONG])) if LONG in str(event))

    def good(self, text: str = "Hello") -> bytes:
        return encode(self.whole(text))

    def but(self, path: Path, value: Any, text: str = "Hello") -> bytes:
        """A good answer with something else at one place; `Raw` is put there as it is, `GONE` takes the place away."""
        return encode(put(self.whole(text), path, value))

    def error(self, status: int, message: str = "no", word: str = "") -> bytes:
        return encode(self.refusing(status, message, word))

    def frame(self, document: Plain | bytes) -> bytes:
        """One event as it is sent."""
        data = document if isinstance(document, bytes) else encode(document)
        if self.ndjson:
            return data + b"\n"
        kind = document.get("type") if isinstance(document, dict) and self.wire in NAMED else None
        return (f"event: {kind}\n".encode() if kind else b"") + b"data: " + data + b"\n\n"

    def frames(self, *texts: str) -> list[bytes]:
        """A whole stream that says these texts."""
        return [*map(self.frame, self.events(texts or ("Hel", "lo"))), *([self.done] if self.done else [])]

    def begin(self) -> list[bytes]:
        """What stands before the first text."""
        return self.frames("x")[: self.opening]

    def delta(self, text: str) -> bytes:
        return self.frames(text, "")[self.opening]

    def end(self, *texts: str) -> list[bytes]:
        """What follows the last text."""
        return self.frames(*texts, "")[self.opening + len(texts) :]


NAMED = ("openai_responses", "anthropic_messages")


class Raw(str):
    """Put into a JSON text as it stands."""


GONE = object()
_MARK = "@@here@@"


def put(document: Plain, path: Path, value: Any) -> Plain:
    found = copy.deepcopy(document)
    place: Any = found
    for step in path[:-1]:
        place = place[step]
    if value is GONE:
        del place[path[-1]]
    else:
        place[path[-1]] = value(copy.deepcopy(place[path[-1]])) if callable(value) else value
    return found


def encode(document: Any) -> bytes:
    raws: list[str] = []

    def marked(value: Any) -> Any:
        if isinstance(value, Raw):
            raws.append(value)
            return _MARK
        if isinstance(value, dict):
            return {name: marked(entry) for name, entry in value.items()}
        return [marked(entry) for entry in value] if isinstance(value, list) else value

    text = json.dumps(marked(document), ensure_ascii=False, separators=(",", ":"))
    for raw in raws:
        text = text.replace(f'"{_MARK}"', raw, 1)
    return text.encode("utf-8", "surrogatepass")


LONG = "@@long@@"


def long(document: bytes, millions: int, letter: bytes = b"x") -> Act:
    """A good answer with so many million letters where the document says `LONG`, sent in pieces that share their bytes."""
    before, _, after = document.partition(LONG.encode())
    pieces = [before, *[letter * 1_000_000] * millions, after]
    return send(http(length=sum(map(len, pieces))), *pieces)


@cache
def bomb(mib: int, byte: bytes = b"\0") -> bytes:
    """So many MiB of one byte in gzip: one compressed MiB again and again, because compressing a whole GiB takes 7 s."""
    packer, block = zlib.compressobj(9, wbits=-15), byte * (1024 * 1024)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for _ in range(mib):
        checksum = zlib.crc32(block, checksum)
    end = checksum.to_bytes(4, "little") + (mib * len(block)).to_bytes(4, "little")
    return b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + packed * mib + packer.flush() + end


# --- OpenAI Responses -----------------------------------------------------------------------------------------------


def _response(text: str, **fields: Any) -> Plain:
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [part]}
    usage = {"input_tokens": 7, "output_tokens": 11, "total_tokens": 18}
    known = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "gpt-4o"}
    return {**known, "output": [item], "usage": usage, **fields}


def _response_events(texts: Sequence[str]) -> list[Plain]:
    text = "".join(texts)
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    begun = _response("", status="in_progress", output=[], usage=None)
    item = _response(text)["output"][0]
    part = {"type": "output_text", "text": "", "annotations": []}
    added = {**item, "status": "in_progress", "content": []}
    events: list[Plain] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": added},
        {"type": "response.content_part.added", **at, "part": part},
        *({"type": "response.output_text.delta", **at, "delta": piece} for piece in texts),
        {"type": "response.output_text.done", **at, "text": text},
        {"type": "response.content_part.done", **at, "part": {**part, "text": text}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": _response(text)},
    ]
    return [{**event, "sequence_number": i} for i, event in enumerate(events)]


def _openai_error(status: int, message: str, word: str) -> Plain:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": word or None}}


_FAILED = {"type": "error", "message": "later", "param": None, "sequence_number": 9}
RESPONSES = Documents(
    wire="openai_responses",
    model="openai/gpt-4o",
    options={},
    whole=_response,
    events=_response_events,
    refusing=_openai_error,
    failing=lambda what: {**_FAILED, "code": "server_overloaded" if what == "overloaded" else "server_error"},
    items=("output",),
    text=("output", 0, "content", 0, "text"),
    count=("usage", "output_tokens"),
    finish=("status",),
    name=("id",),
)

# --- OpenAI Chat ----------------------------------------------------------------------------------------------------

_CHAT = {"id": "chatcmpl-1", "created": 1, "model": "gpt-4o"}
_CHAT_USAGE = {"prompt_tokens": 7, "completion_tokens": 11, "total_tokens": 18}


def _completion(text: str) -> Plain:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {**_CHAT, "object": "chat.completion", "choices": [choice], "usage": _CHAT_USAGE}


def _chunk(delta: Plain, finish: str | None = None) -> Plain:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {**_CHAT, "object": "chat.completion.chunk", "choices": [choice]}


def _completion_events(texts: Sequence[str]) -> list[Plain]:
    usage = {**_CHAT, "object": "chat.completion.chunk", "choices": [], "usage": _CHAT_USAGE}
    opening = _chunk({"role": "assistant", "content": ""})
    return [opening, *(_chunk({"content": piece}) for piece in texts), _chunk({}, "stop"), usage]


CHAT = Documents(
    wire="openai_chat",
    model="openai/gpt-4o",
    options={"wire": "openai_chat"},
    whole=_completion,
    events=_completion_events,
    refusing=_openai_error,
    failing=lambda what: _openai_error(500, "later", "overloaded" if what == "overloaded" else ""),
    items=("choices",),
    text=("choices", 0, "message", "content"),
    count=("usage", "completion_tokens"),
    finish=("choices", 0, "finish_reason"),
    name=("id",),
    done=b"data: [DONE]\n\n",
)

# --- Anthropic Messages ---------------------------------------------------------------------------------------------


def _message(text: str) -> Plain:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 11},
    }


def _message_events(texts: Sequence[str]) -> list[Plain]:
    begun = {**_message(""), "content": [], "stop_reason": None, "usage": {"input_tokens": 7, "output_tokens": 1}}
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    return [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
            for piece in texts
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 11}},
        {"type": "message_stop"},
    ]


_ANTHROPIC_TYPES = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
    429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip


def _anthropic_error(status: int, message: str, word: str) -> Plain:
    kind = word or _ANTHROPIC_TYPES.get(status) or ("invalid_request_error" if status < 500 else "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_body"}


MESSAGES = Documents(
    wire="anthropic_messages",
    model="anthropic/claude-haiku-4-5",
    options={},
    whole=_message,
    events=_message_events,
    refusing=_anthropic_error,
    failing=lambda what: _anthropic_error(200, "later", "overloaded_error" if what == "overloaded" else "api_error"),
    items=("content",),
    text=("content", 0, "text"),
    count=("usage", "output_tokens"),
    finish=("stop_reason",),
    name=("id",),
)

# --- Gemini ---------------------------------------------------------------------------------------------------------

_GEMINI_USAGE = {"promptTokenCount": 7, "candidatesTokenCount": 11, "totalTokenCount": 18}
_GEMINI_STATUS = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
    429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip


def _candidates(text: str, **fields: Any) -> Plain:
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP", "index": 0, **fields}
    return {
        "candidates": [{name: value for name, value in candidate.items() if value is not None}],
        "usageMetadata": _GEMINI_USAGE,
        "modelVersion": "gemini-2.5-flash",
        "responseId": "r1",
    }


def _candidate_events(texts: Sequence[str]) -> list[Plain]:
    *first, last = texts
    return [*(_candidates(piece, finishReason=None) for piece in first), _candidates(last)]


def _google_error(status: int, message: str, word: str) -> Plain:
    return {"error": {"code": status, "message": message, "status": word or _GEMINI_STATUS.get(status, "UNKNOWN")}}


GEMINI = Documents(
    wire="gemini_generate_content",
    model="google/gemini-2.5-flash",
    options={},
    whole=_candidates,
    events=_candidate_events,
    refusing=_google_error,
    failing=lambda what: _google_error(503 if what == "overloaded" else 500, "later", ""),
    items=("candidates",),
    text=("candidates", 0, "content", "parts", 0, "text"),
    count=("usageMetadata", "candidatesTokenCount"),
    finish=("candidates", 0, "finishReason"),
    name=("responseId",),
)

# --- Ollama ---------------------------------------------------------------------------------------------------------

_OLLAMA = {"model": "llama3.2", "created_at": "2026-11-20T10:00:00Z"}
_OLLAMA_END = {"done": True, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 11}


def _chat(text: str) -> Plain:
    return {**_OLLAMA, "message": {"role": "assistant", "content": text}, **_OLLAMA_END}


def _chat_events(texts: Sequence[str]) -> list[Plain]:
    said = [{**_OLLAMA, "message": {"role": "assistant", "content": piece}, "done": False} for piece in texts]
    return [*said, {**_OLLAMA, "message": {"role": "assistant", "content": ""}, **_OLLAMA_END}]


OLLAMA = Documents(
    wire="ollama_chat",
    model="ollama/llama3.2",
    options={},
    whole=_chat,
    events=_chat_events,
    refusing=lambda status, message, word: {"error": f"{message} {word}".strip()},
    failing=lambda what: {"error": "server busy, please try again.  maximum pending requests exceeded"},
    items=("message",),
    text=("message", "content"),
    count=("eval_count",),
    finish=("done_reason",),
    name=("created_at",),
    ndjson=True,
)

ALL = (RESPONSES, CHAT, MESSAGES, GEMINI, OLLAMA)
