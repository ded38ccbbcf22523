"""What a conversion could not bring across.

Every converter returns its result next to a list of `Loss`. Nobody below the client decides what to do about one:
the client warns, raises or stays silent (`on_loss=`), and `refused` always raises before a byte is sent.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Kind = Literal["dropped", "changed", "emulated", "withheld", "refused"]


class Loss(Struct, frozen=True):
    """One thing a conversion could not carry as it was.

    `path` is written as the caller would index the document (`input[2].content[0]`), `what` says what happened in words,
    and `kind` is one of: `dropped` (gone), `changed` (something close was sent), `emulated` (reached another way),
    `withheld` (opaque state of another issuer that waits for its return), `refused` (cannot be sent meaningfully).
    """

    path: str
    what: str
    kind: Kind

    def __str__(self) -> str:
        return f"{self.path}: {self.what} ({self.kind})"


class Losses(list[Loss]):
    """A list of losses with one method per kind, which converters append to as they go."""

    __slots__ = ()

    def dropped(self, path: str, what: str) -> None:
        self.append(Loss(path, what, "dropped"))

    def changed(self, path: str, what: str) -> None:
        self.append(Loss(path, what, "changed"))

    def emulated(self, path: str, what: str) -> None:
        self.append(Loss(path, what, "emulated"))

    def withheld(self, path: str, what: str) -> None:
        self.append(Loss(path, what, "withheld"))

    def refused(self, path: str, what: str) -> None:
        self.append(Loss(path, what, "refused"))


# --- sentences ------------------------------------------------------------------------------------------------------
#
# What most losses say, in the caller's words: behind the path of the very field, with the name of the format that gets it.


def no_such(kind: str, name: str) -> str:
    """As in `logit_bias: Anthropic has no such option`."""
    return f"{name} has no such {kind}"


def not_in(what: str, name: str) -> str:
    """As in `input[0].content[1]: a part of type 'scent', which Gemini does not have`."""
    return f"{what}, which {name} does not have"


def not_taken(what: str, name: str) -> str:
    """As in `input[0].content[1]: audio, which Anthropic does not take`."""
    return f"{what}, which {name} does not take"


class LossWarning(UserWarning):
    """A request or an answer lost something on its way, and `on_loss` is `"warn"`."""
