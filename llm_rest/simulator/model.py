"""A deterministic model without weights: the same request always gets the same answer.

`answer(request)` and `playback(request)`, the same for a stream, are pure functions. The text of the last user message
is a script (`script.py`) or ordinary text. For ordinary text the model reasons if reasoning was requested, calls the
first offered tool once with arguments that fit its schema, repeats what the tool returned, answers in JSON where a
format was requested, and otherwise repeats the user's text. Before changing this file, know that it handles only the
Responses format: differences between vendors belong in `refusals.txt`, `refusals.py` and `signatures.py`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, assert_never

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import ErrorFacts
from ..loop.calls import DELIVERY
from ..responses import (
    CustomTool,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    IncompleteDetails,
    InputText,
    InputTokensDetails,
    JsonObjectFormat,
    JsonSchemaFormat,
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
from ..responses.carriers import digest
from ..responses.estimate import CHARACTERS_PER_TOKEN, AnyFunction, estimate_tokens, offered, text_of, tokens
from ..responses.request import items_of
from ..responses.response import echo
from ..responses.tools import ChooseAllowed, ChooseCustom, ChooseFunction
from ..server.handler import Refused
from ..server.streaming import Pace
from ..unknown import decoder_of, given
from .examples import NoInstance, compact, instance
from .script import Break, Call, Cite, Cut, Delay, Fail, Pieces, Refuse, Say, Step, Tempo, Think, parse

if TYPE_CHECKING:
    from ..responses import AnyItem, ContentPart, Request


class Playback(Struct):
    """A streamed answer: its pace, and an abnormal end, if any."""

    response: Response
    pace: Pace
    end: Fail | Break | None


def answer(request: Request) -> Response:
    """The model's whole answer to `request`. Raises `Refused` for an error in the script."""
    played = _played(request)
    match played.end:
        case Fail():
            raise Refused(played.end.facts)
        case Break():
            raise Refused(ErrorFacts(status=400, message="`break` cuts a stream, and none was requested."))
        case None:
            return played.response


def playback(request: Request) -> Playback:
    """The answer for a stream. Raises `Refused` for an error in the script with no output before it."""
    played = _played(request)
    if isinstance(played.end, Fail) and not played.response.output:
        raise Refused(played.end.facts)
    return played


def _played(request: Request) -> Playback:
    turn = Turn.of(request)
    steps = turn.scripted()
    return play(request, turn.improvised(request) if steps is None else steps)


def play(request: Request, steps: list[Step]) -> Playback:
    """The answer to `request` with the output of these steps."""
    pace = Pace()
    for step in steps:
        if isinstance(step, Pieces):
            pace = replace(pace, size=step.size)
        elif isinstance(step, Delay):
            pace = replace(pace, delay=step.seconds)
    at, end = next(((i, step) for i, step in enumerate(steps) if isinstance(step, Fail | Break)), (len(steps), None))
    # An interrupted answer ends where one at the token limit would end.
    played = [*steps[:at], Cut()] if end else steps
    return Playback(AnswerWriter(request).play(played), pace, end)


# --- the conversation -----------------------------------------------------------------------------------------------


class Turn(Struct):
    """The conversation since the user's last message: its text, the calls made since, and their outputs.

    A result that is delivered later as a user's message (`llm_rest.loop`) is the output of a call, not a new turn.
    """

    prompt: str
    calls: list[FunctionCall | CustomToolCall]
    outputs: list[FunctionCallOutput | CustomToolCallOutput]
    answered: bool = False  # whether the last item is an answer without calls
    followed: int = 0  # how many such answers were followed by late results

    @classmethod
    def of(cls, request: Request) -> Turn:
        """The last turn of the request's input."""
        turn = cls("", [], [])
        for item in items_of(request):
            match item:
                case Message(role="user", content=content) if turn.outputs and _SHOWN.match(text_of(content)):
                    pass  # the rest of an output, on a wire whose outputs are text only
                case Message(role="user", content=content):
                    results = _delivered(content)
                    if results is None:
                        turn = cls(text_of(content), [], [])
                    else:
                        turn.deliver(results)
                case Message(role="assistant"):
                    turn.answered = True
                case FunctionCall() | CustomToolCall():
                    turn.answered = False
                    turn.calls.append(item)
                case FunctionCallOutput() | CustomToolCallOutput():
                    turn.outputs.append(item)
                case _:
                    pass
        return turn

    def deliver(self, results: dict[str, str]) -> None:
        """Add the results, by call id, of calls that were pending."""
        self.followed += self.answered
        self.answered = False
        self.outputs = [output for output in self.outputs if output.call_id not in results]
        self.outputs += [FunctionCallOutput(call_id=name, output=text) for name, text in results.items()]

    def scripted(self) -> list[Step] | None:
        """The scripted answer after the calls made so far; `None` without one."""
        made, followed = len(self.calls), self.followed
        pace: list[Step] = []
        for steps in parse(self.prompt) or ():
            calls = sum(isinstance(step, Call) for step in steps)
            if not calls and followed:
                followed -= 1
            elif made < calls or not made:
                return [*pace, *steps]
            made -= calls
            pace += [step for step in steps if isinstance(step, Tempo)]
        return None  # after the end of the script an output is repeated as without a script

    def improvised(self, request: Request) -> list[Step]:
        """The steps of an answer without a script."""
        thought: list[Step] = []
        if given(request.reasoning) and given(request.reasoning.effort) and request.reasoning.effort != "none":
            thought = [Think(f"The prompt: {self.prompt}")]
        tool = choose(request, called=bool(self.calls))
        if isinstance(tool, CustomTool):
            return [*thought, Call(tool.name, self.prompt, custom=True)]
        if tool is not None:
            return [*thought, Call(tool.name, _json_for(tool.parameters))]
        text = self.repeated()
        match request.text.format if given(request.text) else None:
            case JsonSchemaFormat(schema=schema) if given(schema):
                text = _json_for(schema)
            case JsonObjectFormat():
                text = compact({"answer": text})
            case _:
                pass
        return [*thought, Say(text)]

    def repeated(self) -> str:
        """The outputs of the tools, else the user's text."""
        names = {call.call_id: call.name for call in self.calls}
        lines = [
            f"{names.get(output.call_id or '', 'the tool')} {'failed' if output.is_error else 'said'}: {text_of(output.output)}"
            for output in self.outputs
        ]
        return "\n".join(lines) or self.prompt or "..."


def _delivered(content: str | list[ContentPart]) -> dict[str, str] | None:
    """The late results in a user's message, by call id; `None` for any other message."""
    found: dict[str, str] = {}
    for text in [content] if isinstance(content, str) else [p.text for p in content if isinstance(p, InputText)]:
        try:
            result = decoder_of(_Result).decode(text)
        except msgspec.MsgspecError:
            return None
        found[result.call_id] = result.output
    return found or None


_SHOWN = re.compile(r"From the tool call \S+:")
"""The prefix in Chat's wire before the content of an output that is more than text."""


class _Result(Struct, tag_field="type", tag=DELIVERY):
    call_id: str
    output: str


# --- tools and formats ----------------------------------------------------------------------------------------------


def choose(request: Request, *, called: bool) -> AnyFunction | None:
    """The tool to call now: the first allowed one, once a turn, and always where the request requires a call."""
    tools = offered(request)
    choice = request.tool_choice if given(request.tool_choice) else "auto"
    match choice:
        case ChooseFunction(name=name) | ChooseCustom(name=name):
            return next((tool for tool in tools if tool.name == name), None)
        case ChooseAllowed(tools=allowed, mode=mode):
            names = {entry.get("name") for entry in allowed}
            tools = [tool for tool in tools if tool.name in names]
            choice = mode if given(mode) else "auto"
        case _:
            pass
    if choice == "none" or (called and choice != "required"):
        return None
    return tools[0] if tools else None


def _json_for(schema: dict[str, Any] | Any) -> str:
    try:
        return compact(instance(schema if given(schema) else {"type": "object"}))
    except NoInstance as problem:
        message = f"Invalid schema: {problem}."
    raise Refused(ErrorFacts(status=400, message=message, code="invalid_json_schema"))


CREATED = 1_790_000_000
"""The creation time of every answer: the model has no clock."""


class AnswerWriter:
    """Writes one answer to `request` from the steps of a script, until the token limit."""

    def __init__(self, request: Request) -> None:
        self._request = request
        # The ids are a digest of the request without the streaming options, which a wire also records in the leftovers.
        plain = replace(request, stream=None, stream_options=None, leftovers=None)
        self._seed = digest(msgspec.json.encode(plain).decode())
        self._left = request.max_output_tokens if given(request.max_output_tokens) else None
        self._spent = 0
        self._reasoning = 0
        self._output: list[AnyItem] = []
        self._broken = False

    def play(self, steps: list[Step]) -> Response:
        """The answer with the output of `steps`."""
        cut = any(isinstance(step, Cut) for step in steps)
        for i, step in enumerate(steps):
            if self._broken or isinstance(step, Cut):
                break
            self._perform(step, cut=cut and isinstance(steps[i + 1], Cut))
        incomplete = self._broken or cut
        if incomplete and self._output and isinstance(last := self._output[-1], Message):
            last.status = "incomplete"
        input_tokens = estimate_tokens(self._request)
        return Response(
            id=f"resp_{self._seed}",
            created_at=CREATED,
            completed_at=None if incomplete else CREATED,
            status="incomplete" if incomplete else "completed",
            error=None,
            incomplete_details=IncompleteDetails(reason="max_output_tokens") if incomplete else None,
            model=self._request.model or "",
            output=self._output,
            usage=Usage(
                input_tokens=input_tokens,
                input_tokens_details=InputTokensDetails(cached_tokens=0),
                output_tokens=self._spent,
                output_tokens_details=OutputTokensDetails(reasoning_tokens=self._reasoning),
                total_tokens=input_tokens + self._spent,
            ),
            **echo(self._request),
        )

    def _perform(self, step: Step, *, cut: bool) -> None:
        match step:
            case Say(text=text):
                self._say(self._pay(self._stopped(text)))
            case Cite(url=url, title=title):
                part = self._text() or self._say(self._pay(title))
                assert isinstance(part.annotations, list)
                part.annotations.append(UrlCitation(url=url, title=title, start_index=0, end_index=len(part.text)))
            case Refuse(text=text):
                self._parts().append(RefusalPart(refusal=self._pay(text)))
            case Think(text=text):
                before, paid = self._spent, self._pay(text or "hidden")
                self._reasoning += self._spent - before
                summary = [SummaryText(text=paid)] if text else []
                self._output.append(Reasoning(id=self._id("rs"), summary=summary, status="completed"))
            case Call(name=name, arguments=arguments, custom=custom):
                paid = self._pay(arguments[: len(arguments) // 2] if cut else arguments)
                status = "incomplete" if cut or self._broken else "completed"
                about: Any = {"name": name, "call_id": self._id("call"), "status": status}
                made = CustomToolCall(id=self._id("ctc"), input=paid, **about) if custom else None
                self._output.append(made or FunctionCall(id=self._id("fc"), arguments=paid, **about))
            case Cut() | Fail() | Break() | Pieces() | Delay():
                pass
            case _:
                assert_never(step)

    def _pay(self, text: str) -> str:
        """The part of `text` within the remaining token limit."""
        cost = tokens(text)
        if self._left is not None:
            if cost > self._left:
                text = text[: self._left * CHARACTERS_PER_TOKEN]
                cost, self._broken = self._left, True
            self._left -= cost
        self._spent += cost
        return text

    def _stopped(self, text: str) -> str:
        """`text` up to the first stop sequence."""
        stop = self._request.stop or ()
        ends = [text.find(word) for word in ([stop] if isinstance(stop, str) else stop)]
        return text[: min((end for end in ends if end >= 0), default=len(text))]

    def _parts(self) -> list[ContentPart]:
        """The content parts of the current message."""
        last = self._output[-1] if self._output else None
        if isinstance(last, Message) and isinstance(last.content, list):
            return last.content
        parts: list[ContentPart] = []
        self._output.append(Message(id=self._id("msg"), status="completed", role="assistant", content=parts))
        return parts

    def _text(self) -> OutputText | None:
        """The current text part."""
        last = parts[-1] if (parts := self._parts()) else None
        return last if isinstance(last, OutputText) else None

    def _say(self, text: str) -> OutputText:
        part = self._text()
        if part is None:
            part = OutputText(text=text, annotations=[])
            self._parts().append(part)
        else:
            part.text += f"\n{text}"
        return part

    def _id(self, kind: str) -> str:
        return f"{kind}_{self._seed}{len(self._output)}"
