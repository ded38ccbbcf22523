"""A row of the output: as a value for programs, and as a line of JSON in our format or in that of OpenAI's batches.

Before changing this file, know that lines are compared byte for byte after a crash: nothing in them depends on when or by which
process a row was answered, but for what the vendor says.
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
from .state import DONE, FAILED, Finished

if TYPE_CHECKING:
    from ..client.structured import Output
    from .rows import Row


class BulkRow(Struct, frozen=True, kw_only=True):
    """A finished row of a bulk run: a reply or an error. It is true where it was answered."""

    n: int
    """Its number from 1: that of the line, or of the entry."""
    id: str
    """Its `custom_id`, or `row-<n>`."""
    reply: Reply | None = None
    """The reply; `None` where the row failed. Of a row that an earlier process finished it is what the journal has."""
    error: LLMError | None = None
    """Why it failed; `None` where it was answered."""
    losses: list[Loss] = []
    """What the vendor did not get of the row, and what could not be converted of its answer."""
    attempts: int = 0
    """How many requests it took."""
    cost: int | None = None
    """What it cost in nano-dollars; `None` where that is not known."""
    duplicate_of: str | None = None
    """The id of the equal row whose answer this is (`dedupe`)."""

    def __bool__(self) -> bool:
        return self.error is None

    @property
    def usage(self) -> Usage | None:
        """The tokens of the reply; `None` where the row failed."""
        return self.reply.usage if self.reply is not None else None

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


class Lines:
    """Writes and reads lines: `full` with the whole response, `openai` in the format of OpenAI's batches."""

    def __init__(self, *, full: bool, openai: bool, form: Output[Any] | None) -> None:
        self._full = full
        self._openai = openai
        self._form = form

    def finished(self, row: Row, answer: Reply | None, error: LLMError | None) -> tuple[Finished, BulkRow]:
        """How a row ended, for the journal and for programs."""
        if answer is None:
            assert error is not None
            return self._failed(row, error)
        info, usage = answer.info, answer.usage if given(answer.usage) else None
        cost = answer.cost
        losses = [*row.losses, *info.losses]
        details = usage.input_tokens_details if usage else None
        if self._openai:
            body = wires.load(row.wire).encode_response(answer)[0]
            line = self._openai_line(row, 200, getattr(answer, "id", None), body, None)
        else:
            line = _encode(
                _Line(
                    custom_id=row.id,
                    status=answer.status,
                    output_text=answer.output_text,
                    parsed=info.parsed,
                    response=Raw(_encode(answer.to_dict())) if self._full else None,
                    usage=usage,
                    cost=cost,
                    losses=losses,
                    attempts=len(info.attempts),
                )
            )
        end = Finished(
            DONE,
            line,
            len(info.attempts),
            usage.input_tokens if usage else 0,
            (details.cached_tokens or 0) if details else 0,
            usage.output_tokens if usage else 0,
            cost,
            200,
        )
        done = BulkRow(n=row.n, id=row.id, reply=answer, losses=losses, attempts=len(info.attempts), cost=cost)
        return end, done

    def _failed(self, row: Row, error: LLMError) -> tuple[Finished, BulkRow]:
        attempts = len(error.attempts)
        if self._openai:
            detail = {"code": error.vendor_code or error.kind, "message": error.message}
            body = {"error": {**detail, "type": error.vendor_type or error.code, "param": None}}
            line = self._openai_line(row, error.status, error.request_id, body, detail)
        else:
            said = _Error(error.code, error.kind, str(error), error.status)
            line = _encode(_Line(row.id, "failed", error=said, losses=[*row.losses], attempts=attempts))
        end = Finished(FAILED, line, attempts, status=error.status, error=error.kind)
        return end, BulkRow(n=row.n, id=row.id, error=error, losses=[*row.losses], attempts=attempts)

    def _openai_line(self, row: Row, status: int | None, request: str | None, body: Any, error: Any) -> bytes:
        answer = None if status is None else {"status_code": status, "request_id": request, "body": body}
        failure = error if answer is None else None
        return _encode({"id": f"batch_req_{row.n}", "custom_id": row.id, "response": answer, "error": failure})

    def copied(self, line: bytes, row: Row) -> tuple[Finished, BulkRow]:
        """How a row ended that has the output of an equal one; it cost nothing."""
        fields = _FIELDS.decode(line)
        original: str = msgspec.json.decode(fields["custom_id"])
        fields["custom_id"] = Raw(_encode(row.id))
        if self._openai:
            fields["id"] = Raw(_encode(f"batch_req_{row.n}"))
            failed = fields["error"] != b"null" or (b'"error":{' in bytes(fields["response"])[:200])
            end = Finished(FAILED if failed else DONE, _encode(fields), cost_nano=0)
            return end, BulkRow(n=row.n, id=row.id, duplicate_of=original)
        for name in ("usage", "cost", "attempts"):
            fields.pop(name, None)
        fields["duplicate_of"] = Raw(_encode(original))
        written = _encode(fields)
        found = self.restored(row.n, written)
        return Finished(
            DONE if found else FAILED, written, cost_nano=0, error=found.error.kind if found.error else None
        ), found

    def restored(self, n: int, line: bytes) -> BulkRow:
        """A finished row from its line, with its reply as far as the line has it."""
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


def _encode(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=dumped)


def _error_of(known: _Error) -> LLMError:
    """The error that a line tells of, as an instance of its class."""
    kinds, kind = [LLMError], LLMError
    while kinds and kind.kind != known.kind:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
    kind = kind if kind.kind == known.kind else LLMError
    error = kind.__new__(kind, known.message)
    LLMError.__init__(error, known.message, status=known.status)
    return error
