"""Plays the steps of a script into the items of an answer, until the token limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ..responses import (
    CustomToolCall,
    FunctionCall,
    IncompleteDetails,
    InputTokensDetails,
    Message,
    OutputText,
    OutputTokensDetails,
    Reasoning,
    RefusalPart,
    Response,
    SummaryText,
    UrlCitation,
    Usage,
)
from ..responses.echo import echo
from ..responses.estimate import CHARACTERS_PER_TOKEN, estimate_tokens, tokens
from ..unknown import given
from .script import Break, Call, Cite, Cut, Delay, Fail, Pieces, Refuse, Say, Step, Think

if TYPE_CHECKING:
    from ..responses import AnyItem, ContentPart, Request

CREATED = 1_790_000_000
"""When every answer was made: the model has no clock."""


class Performance:
    """One answer to `request` in the making; its ids are made of `seed`."""

    def __init__(self, request: Request, seed: str) -> None:
        self._request = request
        self._seed = seed
        self._left = request.max_output_tokens if given(request.max_output_tokens) else None
        self._spent = 0
        self._thought = 0
        self._output: list[AnyItem] = []
        self._broken = False

    def play(self, steps: list[Step]) -> Response:
        """The answer that consists of `steps`."""
        cut = any(isinstance(step, Cut) for step in steps)
        for i, step in enumerate(steps):
            if self._broken or isinstance(step, Cut):
                break
            self._perform(step, cut=cut and isinstance(steps[i + 1], Cut))
        incomplete = self._broken or cut
        last = self._output[-1] if self._output else None
        if incomplete and isinstance(last, Message):
            last.status = "incomplete"
        return Response(
            id=f"resp_{self._seed}",
            created_at=CREATED,
            completed_at=None if incomplete else CREATED,
            status="incomplete" if incomplete else "completed",
            error=None,
            incomplete_details=IncompleteDetails(reason="max_output_tokens") if incomplete else None,
            model=self._request.model or "",
            output=self._output,
            usage=self._usage(),
            **echo(self._request),
        )

    def _perform(self, step: Step, *, cut: bool) -> None:
        match step:
            case Say(text=text):
                text = self._pay(self._stopped(text))
                parts = self._parts()
                if parts and isinstance(parts[-1], OutputText):
                    parts[-1] = OutputText(text=f"{parts[-1].text}\n{text}", annotations=parts[-1].annotations)
                else:
                    parts.append(OutputText(text=text, annotations=[]))
            case Cite(url=url, title=title):
                parts = self._parts()
                if not (parts and isinstance(parts[-1], OutputText)):
                    parts.append(OutputText(text=self._pay(title), annotations=[]))
                self._cite(parts[-1], url, title)
            case Refuse(text=text):
                self._parts().append(RefusalPart(refusal=self._pay(text)))
            case Think(text=text):
                self._think(text)
            case Call(name=name, arguments=arguments, custom=custom):
                paid = self._pay(arguments[: len(arguments) // 2] if cut else arguments)
                self._call(name, paid, custom=custom, broken=cut or self._broken)
            case Cut() | Fail() | Break() | Pieces() | Delay():
                pass
            case _:
                assert_never(step)

    def _pay(self, text: str) -> str:
        """As much of `text` as the token limit still allows."""
        cost = tokens(text)
        if self._left is not None and cost > self._left:
            text = text[: self._left * CHARACTERS_PER_TOKEN]
            cost, self._broken = self._left, True
        if self._left is not None:
            self._left -= cost
        self._spent += cost
        return text

    def _stopped(self, text: str) -> str:
        """`text` up to the first stop sequence."""
        stop = self._request.stop or ()
        ends = [text.find(word) for word in ([stop] if isinstance(stop, str) else stop)]
        found = [end for end in ends if end >= 0]
        return text[: min(found)] if found else text

    def _parts(self) -> list[ContentPart]:
        """The parts of the message that is being written."""
        last = self._output[-1] if self._output else None
        if isinstance(last, Message) and isinstance(last.content, list):
            return last.content
        parts: list[ContentPart] = []
        self._output.append(Message(id=self._id("msg"), status="completed", role="assistant", content=parts))
        return parts

    def _cite(self, part: ContentPart, url: str, title: str) -> None:
        if isinstance(part, OutputText) and given(part.annotations):
            part.annotations.append(UrlCitation(url=url, title=title, start_index=0, end_index=len(part.text)))

    def _think(self, text: str) -> None:
        before = self._spent
        paid = self._pay(text or "hidden")
        self._thought += self._spent - before
        summary = [SummaryText(text=paid)] if text else []
        self._output.append(Reasoning(id=self._id("rs"), summary=summary, status="completed"))

    def _call(self, name: str, arguments: str, *, custom: bool, broken: bool) -> None:
        status = "incomplete" if broken else "completed"
        call_id = self._id("call")
        if custom:
            self._output.append(
                CustomToolCall(id=self._id("ctc"), call_id=call_id, name=name, input=arguments, status=status)
            )
        else:
            self._output.append(
                FunctionCall(id=self._id("fc"), call_id=call_id, name=name, arguments=arguments, status=status)
            )

    def _id(self, kind: str) -> str:
        return f"{kind}_{self._seed}{len(self._output)}"

    def _usage(self) -> Usage:
        asked = estimate_tokens(self._request)
        return Usage(
            input_tokens=asked,
            input_tokens_details=InputTokensDetails(cached_tokens=0),
            output_tokens=self._spent,
            output_tokens_details=OutputTokensDetails(reasoning_tokens=self._thought),
            total_tokens=asked + self._spent,
        )
