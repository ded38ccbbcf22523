"""A row of the output: as a value for programs, and as a line of JSON in our format or in that of OpenAI's batches.

Before changing this file, know that lines are compared byte for byte after a crash: nothing in them depends on when or
by which process a row was answered, except for the vendor's answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from .. import wires
from ..client.reply import CallInfo, Reply, reply
from ..errors import LLMError
from ..losses import Loss
from ..responses.response import RESPONSE, Usage
from ..unknown import given
from ..wires.foreign import dumped

if TYPE_CHECKING:
    from ..client.structured import Output
    from .rows import Row


class BulkRow(Struct, frozen=True, kw_only=True):
    """A finished row of a bulk run: a reply or an error. It is true where it was answered."""

    n: int
    """The number of the row from 1: that of the line, or of the entry."""
    id: str
    """The id of the row: its `custom_id`, or `row-<n>`."""
    reply: Reply | None = None
    """The reply; `None` where the row failed. Of a row that an earlier process finished it is what the journal has."""
    error: LLMError | None = None
    """The error of a failed row; `None` where it was answered."""
    losses: list[Loss] = []
    """The conversion losses of the request and of the answer."""
    attempts: int = 0
    """The number of requests that were made for the row."""
    cost: int | None = None
    """The cost in nano-dollars; `None` where it is unknown."""
    duplicate_of: str | None = None
    """The id of the equal row whose answer this row has (`dedupe`)."""

    def __bool__(self) -> bool:
        return self.error is None

    @property
    def usage(self) -> Usage | None:
        """The tokens of the reply; `None` where the row failed."""
        return self.reply.usage if self.reply is not None and given(self.reply.usage) else None

    @property
    def output_text(self) -> str | None:
        """The text of the reply; `None` where the row failed."""
        return self.reply.output_text if self.reply is not None else None

    @property
    def parsed(self) -> Any:
        """The value of typed output (`output=`)."""
        return self.reply.parsed if self.reply is not None else None


class _Error(Struct, omit_defaults=True):
    code: str
    kind: str
    message: str
    status: int | None = None


class _Line(Struct, omit_defaults=True):
    custom_id: str
    status: str
    output_text: str | None = None
    parsed: Any = None
    response: Any = None
    error: _Error | None = None
    usage: Usage | None = None
    cost: int | None = None
    losses: list[Loss] = []
    attempts: int = 0
    duplicate_of: str | None = None


_LINE = msgspec.json.Decoder(_Line)
_FIELDS = msgspec.json.Decoder(dict[str, Raw])


def ended(row: Row, answer: Reply | None, error: LLMError | None) -> BulkRow:
    """The finished row."""
    if answer is None:
        assert error is not None
        return BulkRow(n=row.n, id=row.id, error=error, losses=[*row.losses], attempts=len(error.attempts))
    losses, attempts = [*row.losses, *answer.info.losses], len(answer.info.attempts)
    return BulkRow(n=row.n, id=row.id, reply=answer, losses=losses, attempts=attempts, cost=answer.cost)


class Lines:
    """Writes and reads lines: `full` with the whole response, `openai` in the format of OpenAI's batches."""

    def __init__(self, *, full: bool, openai: bool, form: Output[Any] | None) -> None:
        self._full = full
        self._openai = openai
        self._form = form

    def line(self, row: Row, done: BulkRow) -> bytes:
        """The output line of a finished row."""
        answer, error = done.reply, done.error
        if self._openai:
            return _encode(_openai_line(row, answer, error))
        known = _Line(row.id, "failed", usage=done.usage, cost=done.cost, losses=done.losses, attempts=done.attempts)
        if error is not None:
            known.error = _Error(error.code, error.kind, str(error), error.status)
        elif answer is not None:
            known.status, known.output_text, known.parsed = answer.status, answer.output_text, answer.info.parsed
            known.response = Raw(_encode(answer.to_dict())) if self._full else None
        return _encode(known)

    def copied(self, line: bytes, row: Row) -> tuple[BulkRow, bytes]:
        """A duplicate row with the output of an equal one, from that one's line; it has no cost."""
        fields = _FIELDS.decode(line)
        original: str = msgspec.json.decode(fields["custom_id"])
        fields["custom_id"] = Raw(_encode(row.id))
        if self._openai:
            fields["id"] = Raw(_encode(f"batch_req_{row.n}"))
            known = msgspec.json.decode(line)
            failure = known["error"] or known["response"]["body"].get("error")
            error = None if failure is None else LLMError(failure["message"])
            return BulkRow(n=row.n, id=row.id, error=error, duplicate_of=original), _encode(fields)
        for name in ("usage", "cost", "attempts"):
            fields.pop(name, None)
        fields["duplicate_of"] = Raw(_encode(original))
        written = _encode(fields)
        return self.restored(row.n, written), written

    def restored(self, n: int, line: bytes) -> BulkRow:
        """A finished row from its line, with the parts of its reply that the line contains."""
        known, error, answer = _LINE.decode(line), None, None
        if known.error is not None:
            error = _error_of(known.error)
        elif known.response is not None:
            value = None if self._form is None or known.parsed is None else self._form.value(known.output_text or "")[0]
            info = CallInfo(losses=known.losses, parsed=value)
            answer = reply(RESPONSE.decode(bytes(_FIELDS.decode(line)["response"])), info)
        return BulkRow(
            n=n,
            id=known.custom_id,
            reply=answer,
            error=error,
            losses=known.losses,
            attempts=known.attempts,
            cost=known.cost,
            duplicate_of=known.duplicate_of,
        )


def _openai_line(row: Row, answer: Reply | None, error: LLMError | None) -> dict[str, Any]:
    line: dict[str, Any] = {"id": f"batch_req_{row.n}", "custom_id": row.id, "response": None, "error": None}
    if answer is not None:
        body: Any = wires.load(row.wire).encode_response(answer)[0]
        return line | {"response": {"status_code": 200, "request_id": getattr(answer, "id", None), "body": body}}
    assert error is not None
    failure = {"code": error.vendor_code or error.kind, "message": error.message}
    if error.status is None:
        return line | {"error": failure}
    body = {"error": {**failure, "type": error.vendor_type or error.code, "param": None}}
    return line | {"response": {"status_code": error.status, "request_id": error.request_id, "body": body}}


def _encode(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=dumped)


def _error_of(known: _Error) -> LLMError:
    """The error in a line, as an instance of its class."""
    kinds, kind = [LLMError], LLMError
    while kinds and kind.kind != known.kind:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
    kind = kind if kind.kind == known.kind else LLMError
    error = kind.__new__(kind, known.message)
    LLMError.__init__(error, known.message, status=known.status)
    return error
