"""A model without weights: it answers every request in a way that can be foretold.

`answer(request)` and `tale(request)`, the same for a stream, are pure functions. The text of the last user message is a script
(`script.py`) or ordinary text. For ordinary text the model thinks aloud if reasoning was asked for, calls the first offered
tool once with arguments that fit its schema, tells what the tool gave, answers in JSON where a format was asked for, and
otherwise repeats what it was told. Before changing this file, know that it sees only Responses: what one vendor does
differently belongs to that vendor's module in `peers/`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

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
    InputText,
    JsonObjectFormat,
    JsonSchemaFormat,
    Message,
)
from ..responses.carriers import digest
from ..responses.estimate import AnyFunction, offered, text_of
from ..responses.request import items_of
from ..responses.tools import ChooseAllowed, ChooseCustom, ChooseFunction
from ..server.handler import Refused
from ..server.telling import Pace
from ..unknown import decoder_of, given
from .examples import NoInstance, compact, instance
from .playback import Performance
from .script import Break, Call, Cut, Delay, Fail, Pieces, Say, Step, Tempo, Think, parse

if TYPE_CHECKING:
    from ..responses import ContentPart, Request, Response


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
    steps = turn.scripted()
    if steps is None:
        steps = turn.improvised(request)
    pace = Pace()
    for step in steps:
        match step:
            case Pieces(size=size):
                pace = replace(pace, size=size)
            case Delay(seconds=seconds):
                pace = replace(pace, delay=seconds)
            case _:
                pass
    ends = [(i, step) for i, step in enumerate(steps) if isinstance(step, Fail | Break)]
    at, end = ends[0] if ends else (len(steps), None)
    # An answer that breaks off goes as far as one that reaches the token limit.
    played = [*steps[:at], Cut()] if end else steps
    return Tale(Performance(request, seed(request)).play(played), pace, end)


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
