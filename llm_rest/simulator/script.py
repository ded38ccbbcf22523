"""The script language: commands in the last user message that determine the simulator's answer.

The text of the last user message is a script when every line of it is a command; any other text is ordinary text:

    say TEXT               text; several lines make one text
    json VALUE             the JSON value as text
    cite URL [TITLE]       a citation of that page on the text
    reason [TEXT]          reasoning before the answer; without a text it is hidden (redacted, encrypted)
    call NAME [{...}]      a function call with these arguments, written as they shall arrive, even broken
    input NAME TEXT        a call of a custom tool with this text
    refuse [TEXT]          a refusal
    length                 the answer breaks off here at the token limit, inside the call before it if there is one
    fail STATUS [CODE] [TEXT]   no answer but the vendor's error of that HTTP status; in a stream after what stands before it
    break                  the stream is cut here, inside the call before it if there is one
    pieces N               a stream sends its texts N characters at a time, from this answer on
    delay SECONDS          a stream waits so long before each piece, from this answer on
    then                   what follows belongs to the next answer

Consecutive calls are sent in one answer. Commands after a call belong to the answer after its result, so a whole tool
conversation is one script. Before changing this file, know that a command that ordinary text could begin with makes
that text a script: commands are few, and one line that is no command makes the whole text ordinary.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
from msgspec import Struct

from ..errors import ErrorFacts


class Say(Struct, frozen=True):
    """Text of the answer."""

    text: str


class Cite(Struct, frozen=True):
    """A citation on the text before it."""

    url: str
    title: str


class Think(Struct, frozen=True):
    """Reasoning; without text it is hidden (redacted, encrypted)."""

    text: str


class Call(Struct, frozen=True):
    """A call of a function with arguments as JSON text, or of a custom tool with free text."""

    name: str
    arguments: str
    custom: bool = False


class Refuse(Struct, frozen=True):
    """A refusal."""

    text: str


class Cut(Struct, frozen=True):
    """The answer ends here at the token limit."""


class Fail(Struct, frozen=True):
    """An error of the vendor instead of an answer, or in the middle of a stream."""

    status: int
    code: str | None
    text: str

    @property
    def facts(self) -> ErrorFacts:
        """The facts of the error, as a handler raises it."""
        return ErrorFacts(status=self.status, message=self.text, code=self.code)


class Break(Struct, frozen=True):
    """The stream is interrupted here."""


class Pieces(Struct, frozen=True):
    """The number of characters that a stream sends at a time."""

    size: int


class Delay(Struct, frozen=True):
    """The delay of a stream before each piece, in seconds."""

    seconds: float


class Then(Struct, frozen=True):
    """The end of one answer."""


Tempo = Pieces | Delay
Step = Say | Cite | Think | Call | Refuse | Cut | Fail | Break | Tempo
Round = list[Step]
"""The steps of one answer."""


def parse(text: str) -> list[Round] | None:
    """The scripted answers, in order; `None` for ordinary text."""
    rounds: list[Round] = [[]]
    for line in text.splitlines():
        if not line.strip():
            continue
        step = _step(line.strip())
        if step is None:
            return None
        if isinstance(step, Then):
            rounds.append([])
            continue
        if rounds[-1] and isinstance(rounds[-1][-1], Call) and not isinstance(step, Call | Cut | Break | Tempo):
            rounds.append([])
        rounds[-1].append(step)
    return rounds if any(not isinstance(step, Tempo) for steps in rounds for step in steps) else None


def _step(line: str) -> Step | Then | None:
    word, _, rest = line.partition(" ")
    pattern, make = _COMMANDS.get(word, ("(?!)", lambda _: None))
    found = re.fullmatch(pattern, rest.strip())
    return make(found) if found else None


def _json(text: str) -> Step | None:
    try:
        return Say(msgspec.json.format(text.encode(), indent=-1).decode())
    except msgspec.DecodeError:
        return None


_COMMANDS: dict[str, tuple[str, Callable[[re.Match[str]], Step | Then | None]]] = {
    "say": ("(.+)", lambda found: Say(found[1])),
    "json": ("(.+)", lambda found: _json(found[1])),
    "cite": (r"(\S*://\S*)\s*(.*)", lambda found: Cite(found[1], found[2] or found[1])),
    "reason": ("(.*)", lambda found: Think(found[1])),
    "call": (r"(?s)([\w.|:-]+)(?:\s*(\{.*))?", lambda found: Call(found[1], found[2] or "{}")),
    "input": (r"(\S+) (.+)", lambda found: Call(found[1], found[2], custom=True)),
    "refuse": ("(.*)", lambda found: Refuse(found[1] or "I cannot help with that.")),
    "length": ("", lambda _: Cut()),
    "fail": (
        r"([45]\d\d)(?:\s+([a-z]+(?:_[a-z]+)+))?(?:\s+(.+))?",
        lambda found: Fail(int(found[1]), found[2], found[3] or "The script asked for this error."),
    ),
    "break": ("", lambda _: Break()),
    "pieces": (r"([1-9]\d{0,6})", lambda found: Pieces(int(found[1]))),
    "delay": (r"((?:[0-5]?\d(?:\.\d{1,6})?)|60(?:\.0{1,6})?)", lambda found: Delay(float(found[1]))),
    "then": ("", lambda _: Then()),
}
"""The pattern of each command's arguments, and the step made from them; a delay is 60 seconds at most."""
