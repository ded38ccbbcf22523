"""`Reply`: the response of a call with shortcuts to its text, calls and usage, and the record of the call.

A `Reply` is a `Response` and can be used as one. Its `info` is not a field of the document: it is never encoded or
compared, but copies and pickles keep it. (`msgspec.structs.replace` gives a reply without it.)
"""

from __future__ import annotations

import re
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from .. import wires
from ..errors import Attempt, printable
from ..losses import Loss
from ..responses.response import Response
from ..unknown import base, extras, given, with_extras
from ..vendors.dialects import ResponsesDialect

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..responses.response import Usage

CANCELLED_TEXT = "[Request cancelled]"
"""The text for a person after the partial text of a cancelled call."""

COUNTS = ("input_tokens", "output_tokens", "total_tokens", "cached_input_tokens", "reasoning_tokens")
"""The keys of `metadata` that count tokens."""


class AnswerSource(Struct, frozen=True):
    """Where an answer came from, so that its leftovers can be read: the wire, its dialect, and what a stream left."""

    wire: str
    """The name of the wire."""
    dialect: Any
    """The wire's dialect of the vendor."""
    frames: tuple[bytes, ...] = ()
    """Frames of a stream, at most 64 kB."""
    earlier: tuple[bytes, ...] = ()
    """The bodies of the earlier parts of an answer in several parts."""

    def __repr__(self) -> str:
        return f"AnswerSource({self.wire!r})"


class CallInfo(Struct, kw_only=True):
    """The record of a call: attempts, losses, leftovers, duration, the raw body, and metadata for logs."""

    losses: list[Loss] = field(default_factory=list[Loss])
    """The conversion losses of the request and of the answer."""
    attempts: tuple[Attempt, ...] = ()
    """The requests that were made, in order."""
    raw: bytes = b""
    """The body of the last answer in bytes, unchanged; empty where it was streamed."""
    duration: float = 0.0
    """Seconds of all attempts together, without the delays between them."""
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    """The keys `provider model latency_ms input_tokens output_tokens total_tokens cached_input_tokens reasoning_tokens
    api_calls tool_rounds response_id response_status`, always all. A count that the vendor did not send is `"0"`; where a
    reply took several calls, counts are sums."""
    cost: int | None = None
    """What the call cost in nano-dollars (10 ** -9 US dollars), as the vendor reports or by the file in `prices=`; `None` without
    either. Where a reply took several calls, it is the sum."""
    parsed: Any = None
    """The value of typed output (`output=`); `None` without it."""
    interrupted: bool = False
    """Whether `client.cancel()` ended the call."""
    cached: bool = False
    """Whether the answer came from the `AnswerCache`: no request was made, and the usage is that of the first call."""
    source: AnswerSource | None = None
    """What `leftovers` is read with; `None` for a reply that was restored from a file."""

    @property
    def leftovers(self) -> dict[str, Any]:
        """The fields of the vendor's answer that the reply shows nowhere, as plain data in the places of its document, such as
        `leftovers["choices"][0]["message"]["annotations"]`; entries of a list before the first such one are empty.

        Of a stream it has the last value of each such field of its events, at most 64 kB, under the event's type where the
        vendor's events have one. It is read from the answer on each access, and empty where there was no answer.
        """
        if self.source is None or not (self.raw or self.source.frames):
            return {}
        from .leftovers import leftovers  # not needed by most calls

        return leftovers(self.raw, self.source)


class CallRecord(NamedTuple):
    """The record of a call, converted to `CallInfo` on first use."""

    losses: Callable[[], list[Loss]]
    attempts: tuple[Attempt, ...]
    raw: bytes
    vendor: str
    model: str
    interrupted: bool = False
    calls: int = 1
    cached: bool = False
    pricing: Callable[[Response], int | None] | None = None
    source: Callable[[], AnswerSource | None] | None = None

    def info(self, response: Response) -> CallInfo:
        """The record as `CallInfo`."""
        seconds = sum(attempt.took for attempt in self.attempts)
        named = metadata(response, vendor=self.vendor, model=self.model, seconds=seconds, api_calls=self.calls)
        return CallInfo(
            losses=self.losses(),
            attempts=self.attempts,
            raw=self.raw,
            duration=seconds,
            metadata=named,
            cost=None if self.pricing is None else 0 if self.cached else self.pricing(response),
            interrupted=self.interrupted,
            cached=self.cached,
            source=None if self.source is None else self.source(),
        )


class Reply(Response, kw_only=True):
    """A response and the record of its call (`info`)."""

    _one_line: ClassVar[bool] = True

    @property
    def info(self) -> CallInfo:
        """Losses, attempts, the raw body and the metadata of the call."""
        found: CallInfo | CallRecord | None = vars(self).get("info")
        if not isinstance(found, CallInfo):
            found = vars(self)["info"] = CallInfo() if found is None else found.info(self)
        return found

    @property
    def losses(self) -> list[Loss]:
        """The conversion losses of the request and of the answer."""
        return self.info.losses

    @property
    def cost(self) -> int | None:
        """The cost of the reply in nano-dollars (10 ** -9 US dollars); `None` without one from the vendor or `prices=`."""
        return self.info.cost

    @property
    def interrupted(self) -> bool:
        """Whether `client.cancel()` ended the call: the status is `cancelled`, and the output is partial."""
        found: CallInfo | CallRecord | None = vars(self).get("info")
        return found is not None and found.interrupted

    @property
    def parsed(self) -> Any:
        """The answer as a value of the type in `output=`; `None` without it, and where the model calls a tool first."""
        return self.info.parsed

    @property
    def display_text(self) -> str:
        """The text to show to a person: `output_text`, or else the refusal; `[Request cancelled]` ends it where the call was.

        To continue the conversation send `output` instead, which holds only the model's output.
        """
        shown = self.output_text or self.refusal or ""
        return "\n".join(filter(None, [shown, CANCELLED_TEXT])) if self.interrupted else shown

    def to_dict(self) -> dict[str, Any]:
        """The reply as plain data: the JSON of a response in the Responses format, as dicts, lists and values.

        Opaque state stays in its envelopes, so that `output` can be stored and sent again.
        """
        wire: Any = wires.load("openai_responses")
        plain: Response = wire.encode_response(self, dialect=_NEUTRAL)[0]
        return Response.to_dict(plain)

    def __repr__(self) -> str:
        """One line: model, status, the beginning of the text, calls, tokens, and attributes to read."""
        known = self.info
        named = known.metadata.get("model") or (self.model if given(self.model) else "")
        model = "/".join(filter(None, (known.metadata.get("provider", ""), named)))
        facts, readers = [_status_text(self)], list[str]()
        if self.output_text:
            facts.append(repr(printable(self.output_text, 60)))
            readers.append(".output_text")
        if self.refusal is not None:
            facts.append(f"refusal {printable(self.refusal, 60)!r}")
            readers.append(".refusal")
        if calls := self.function_calls:
            names = printable(", ".join(call.name for call in calls), 60)
            facts.append(f"{len(calls)} {'call' if len(calls) == 1 else 'calls'}: {names}")
            readers.append(".function_calls")
        if known.parsed is not None:
            facts.append(f"a {type(known.parsed).__name__}")
            readers.append(".parsed")
        tokens = (
            known.metadata.get("total_tokens") or _counts(self.usage if given(self.usage) else None)["total_tokens"]
        )
        if tokens != "0":
            facts.append(f"{tokens} tokens")
        if known.metadata.get("api_calls", "1") != "1":
            facts.append(f"{known.metadata['api_calls']} model calls")
        if known.losses:
            facts.append(f"{len(known.losses)} {'loss' if len(known.losses) == 1 else 'losses'}")
            readers.append(".info.losses")
        head = f"Reply from {printable(model, 80)}" if model else "Reply"
        return f"<{head}: {', '.join(facts)}; see {' '.join(readers or ['.output', '.info'])}>"

    def _repr_markdown_(self) -> str:
        """For notebooks: the text as Markdown, then a refusal, the calls, and the status where it is not completed."""
        pieces = [self.output_text] if self.output_text else []
        if self.refusal is not None:
            pieces.append("\n".join(f"> {line}" for line in f"**RefusalError:** {self.refusal}".splitlines()))
        for call in self.function_calls:
            fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", call.arguments))])
            pieces.append(f"**Call:** {call.name}\n\n{fence}json\n{call.arguments}\n{fence}")
        if self.interrupted:
            pieces.append(f"*{CANCELLED_TEXT}*")
        elif self.status != "completed" or not pieces:
            pieces.append(f"*[{_status_text(self)}]*")
        return "\n\n".join(pieces)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Response):
            return NotImplemented
        same: bool = _fields(self) == _fields(other)
        return same and extras(self) == extras(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self) -> Reply:
        return reply(self, self.info)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return reply, (with_extras(Response(**asdict(base(self))), extras(self)), self.info)


_fields = attrgetter(*Response.__struct_fields__)

_NEUTRAL = ResponsesDialect(issuer="")
"""A dialect without a host, so that no envelope is opened."""


def _status_text(reply: Reply) -> str:
    """The status, and its reason where there is one."""
    details, error = reply.incomplete_details, reply.error
    reason: object = details.reason if given(details) else None
    if given(error):
        reason = error.message or error.code
    return printable(f"{reply.status} ({reason})" if reason else reply.status, 120)


def reply(response: Response, info: CallInfo | CallRecord) -> Reply:
    """The response as a reply with this record. The response object may be reused, so do not use it afterwards."""
    if type(response) is Response:
        # Faster than copying its fifty fields.
        response.__class__ = Reply
        made = cast("Reply", response)
    else:
        made = with_extras(Reply(**asdict(base(response))), extras(response))
    vars(made)["info"] = info
    return made


def with_earlier(found: Reply, attempts: tuple[Attempt, ...]) -> None:
    """Add these attempts, which were made before at other vendors, to those of the reply."""
    if attempts:
        known, seconds = found.info, sum(attempt.took for attempt in attempts)
        named = {**known.metadata, "latency_ms": str(round((known.duration + seconds) * 1000))}
        made = (*attempts, *known.attempts)
        summed = replace(known, attempts=made, duration=known.duration + seconds, metadata=named)
        vars(found)["info"] = summed


def metadata(response: Response, *, vendor: str, model: str, seconds: float, api_calls: int = 1) -> dict[str, str]:
    """The metadata of one call."""
    return {
        "provider": vendor,
        "model": model,
        "latency_ms": str(round(seconds * 1000)),
        **_counts(response.usage if given(response.usage) else None),
        "api_calls": str(api_calls),
        "tool_rounds": "0",
        "response_id": response.id,
        "response_status": response.status,
    }


def sum_calls(calls: Sequence[CallInfo]) -> CallInfo:
    """The record of a reply that took several calls: all attempts, sums of tokens and costs, the rest of the last call."""
    last = calls[-1]
    named = dict(last.metadata)
    for key in (*COUNTS, "latency_ms", "api_calls"):
        named[key] = str(sum(int(call.metadata.get(key, 0)) for call in calls))
    attempts = tuple(one for call in calls for one in call.attempts)
    costs = [call.cost for call in calls if call.cost is not None]
    cost = sum(costs) if len(costs) == len(calls) else None
    return replace(last, attempts=attempts, duration=sum(call.duration for call in calls), metadata=named, cost=cost)


def _counts(usage: Usage | None) -> dict[str, str]:
    return dict.fromkeys(COUNTS, "0") if usage is None else {name: str(n) for name, n in usage.counts.items()}
