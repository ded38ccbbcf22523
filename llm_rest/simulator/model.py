"""A model without weights: it answers every request in a way that can be foretold.

`answer(request)` and `tale(request)`, the same for a stream, are pure functions. The text of the last user message is a script
(`script.py`) or ordinary text. For ordinary text the model thinks aloud if reasoning was asked for, calls the first offered
tool once with arguments that fit its schema, tells what the tool gave, answers in JSON where a format was asked for, and
otherwise repeats what it was told. Before changing this file, know that it sees only Responses: what one vendor does
differently belongs to `refusals.txt`, `refusals.py` and `signatures.py`.
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
    from ..responses import AnyItem, ContentPart, Request, Response


class Tale(Struct):
    """An answer as it is streamed: how fast, and what comes instead of its end."""

    response: Response
    pace: Pace
    end: Fail | Break | None


def answer(request: Request) -> Response:
    """The model's whole answer to `request`. Raises `Refused` where the script asks for an error."""
    tale = _played(request)
    match tale.end:
        case Fail():
            raise Refused(tale.end.facts)
        case Break():
            raise Refused(ErrorFacts(status=400, message="`break` cuts a stream, and none was asked for."))
        case None:
            return tale.response


def tale(request: Request) -> Tale:
    """The answer as a stream tells it. Raises `Refused` where the script asks for an error and for nothing before it."""
    found = _played(request)
    if isinstance(found.end, Fail) and not found.response.output:
        raise Refused(found.end.facts)
    return found


def _played(request: Request) -> Tale:
    turn = Turn.of(request)
    return play(request, turn.improvised(request) if (steps := turn.scripted()) is None else steps)


def play(request: Request, steps: list[Step]) -> Tale:
    """The answer to `request` that consists of these steps."""
    pace = Pace()
    for step in steps:
        if isinstance(step, Pieces):
            pace = replace(pace, size=step.size)
        elif isinstance(step, Delay):
            pace = replace(pace, delay=step.seconds)
    ends = [(i, step) for i, step in enumerate(steps) if isinstance(step, Fail | Break)]
    at, end = ends[0] if ends else (len(steps), None)
    # An answer that breaks off goes as far as one that reaches the token limit.
    played = [*steps[:at], Cut()] if end else steps
    return Tale(AnswerWriter(request, seed(request)).play(played), pace, end)


def seed(request: Request) -> str:
    """What the ids of an answer are made of: the same for the same request, streamed or not, different for any other."""
    # In the leftovers a wire notes how streaming was asked for, too.
    asked = replace(request, stream=None, stream_options=None, leftovers=None)
    return digest(msgspec.json.encode(asked).decode())


# --- what was said so far -------------------------------------------------------------------------------------------


class Turn(Struct):
    """The conversation since somebody last spoke: what was said, the calls made since, and what they gave.

    A result that is delivered later as a user's message (`llm_rest.loop`) is what a call gave; nobody speaks with it.
    """

    said: str
    calls: list[FunctionCall | CustomToolCall]
    outputs: list[FunctionCallOutput | CustomToolCallOutput]
    answered: bool = False  # whether the last thing is an answer without calls
    heard: int = 0  # how many such answers were followed by results

    @classmethod
    def of(cls, request: Request) -> Turn:
        """The last turn of the request's input."""
        turn = cls("", [], [])
        for item in items_of(request):
            match item:
                case Message(role="user", content=content) if turn.outputs and _SHOWN.match(text_of(content)):
                    pass  # nobody speaks: a wire whose outputs are text alone shows the rest of one
                case Message(role="user", content=content):
                    results = _delivered(content)
                    if results is None:
                        turn = cls(text_of(content), [], [])
                    else:
                        turn.hear(results)
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

    def hear(self, results: dict[str, str]) -> None:
        """Take in what calls gave that were said to be pending."""
        self.heard += self.answered
        self.answered = False
        self.outputs = [output for output in self.outputs if output.call_id not in results]
        self.outputs += [FunctionCallOutput(call_id=name, output=text) for name, text in results.items()]

    def scripted(self) -> list[Step] | None:
        """The answer that the script asks for after the calls made so far; `None` without one."""
        rounds = parse(self.said)
        made, heard = len(self.calls), self.heard
        pace: list[Step] = []
        for steps in rounds or ():
            calls = sum(isinstance(step, Call) for step in steps)
            if not calls and heard:
                heard -= 1
            elif made < calls or not made:
                return [*pace, *steps]
            made -= calls
            pace += [step for step in steps if isinstance(step, Tempo)]
        # The script is used up: what its calls gave is told like any other result.
        return None

    def improvised(self, request: Request) -> list[Step]:
        """What the model does on its own."""
        thought: list[Step] = []
        if given(request.reasoning) and given(request.reasoning.effort) and request.reasoning.effort != "none":
            thought = [Think(f"I was told: {self.said}")]
        tool = choose(request, called=bool(self.calls))
        if tool is not None:
            return [*thought, _call_of(tool, self.said)]
        if given(request.text) and given(request.text.format):
            match request.text.format:
                case JsonSchemaFormat(schema=schema) if given(schema):
                    return [*thought, Say(_json_for(schema))]
                case JsonObjectFormat():
                    return [*thought, Say(compact({"answer": self.told()}))]
                case _:
                    pass
        return [*thought, Say(self.told())]

    def told(self) -> str:
        """What the tools gave, else what was said."""
        names = {call.call_id: call.name for call in self.calls}
        lines = [
            f"{names.get(output.call_id or '', 'the tool')} {'failed' if output.is_error else 'said'}: {text_of(output.output)}"
            for output in self.outputs
        ]
        return "\n".join(lines) or self.said or "..."


def _delivered(content: str | list[ContentPart]) -> dict[str, str] | None:
    """The results that a message delivers, by the ids of their calls; `None` for a message in which somebody speaks."""
    found: dict[str, str] = {}
    for text in [content] if isinstance(content, str) else [p.text for p in content if isinstance(p, InputText)]:
        try:
            result = decoder_of(_Result).decode(text)
        except msgspec.MsgspecError:
            return None
        found[result.call_id] = result.output
    return found or None


_SHOWN = re.compile(r"From the tool call \S+:")
"""How Chat's wire begins what it shows of an output that is more than text."""


class _Result(Struct, tag_field="type", tag=DELIVERY):
    call_id: str
    output: str


# --- tools and formats ----------------------------------------------------------------------------------------------


def choose(request: Request, *, called: bool) -> AnyFunction | None:
    """The tool to call now: the first allowed one, once a turn, and always where the request insists."""
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


def _call_of(tool: AnyFunction, said: str) -> Call:
    if isinstance(tool, CustomTool):
        return Call(tool.name, said, custom=True)
    schema = tool.parameters if given(tool.parameters) else {"type": "object"}
    return Call(tool.name, _json_for(schema))


def _json_for(schema: dict[str, Any]) -> str:
    try:
        return compact(instance(schema))
    except NoInstance as problem:
        raise Refused(
            ErrorFacts(status=400, message=f"Invalid schema: {problem}.", code="invalid_json_schema")
        ) from None


CREATED = 1_790_000_000
"""When every answer was made: the model has no clock."""


class AnswerWriter:
    """Writes one answer to `request`: plays the steps of a script until the token limit. Its ids are made of `seed`."""

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
        about: Any = {"name": name, "call_id": self._id("call"), "status": "incomplete" if broken else "completed"}
        if custom:
            self._output.append(CustomToolCall(id=self._id("ctc"), input=arguments, **about))
        else:
            self._output.append(FunctionCall(id=self._id("fc"), arguments=arguments, **about))

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
