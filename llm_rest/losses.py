"""Conversion losses: what a request or an answer loses between two formats.

Every converter returns its result next to a list of `Loss`. The client alone decides what to do about one: it warns,
raises or stays silent (`on_loss=`), and `refused` always raises before a byte is sent.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Kind = Literal["dropped", "changed", "emulated", "withheld", "refused"]
"""The kinds of losses; see `Loss.kind`."""


class Loss(Struct, frozen=True):
    """One thing that a conversion could not keep as it was.

    `path` is written as the caller would index the document (`input[2].content[0]`), `what` says what happened in words, and
    `kind` is one of: `dropped` (not sent), `changed` (something close was sent), `emulated` (done in another way), `withheld`
    (opaque state of another vendor, which stays in the history and is not sent), `refused` (cannot be sent).
    """

    path: str
    """The place in the document, as the caller would index it: `input[2].content[0]`."""
    what: str
    """What happened, in words."""
    kind: Kind
    """What became of it. A client always raises `LossError` for `refused`; the others are what `on_loss` is about."""

    def __str__(self) -> str:
        return f"{self.path}: {self.what} ({self.kind})"


class Losses(list[Loss]):
    """A list of losses with one method per kind, which converters append to as they go."""

    __slots__ = ()

    def dropped(self, path: str, what: str) -> None:
        """Add a loss for what is not sent."""
        self.append(Loss(path, what, "dropped"))

    def changed(self, path: str, what: str) -> None:
        """Add a loss for what is sent as something close."""
        self.append(Loss(path, what, "changed"))

    def emulated(self, path: str, what: str) -> None:
        """Add a loss for what is done in another way."""
        self.append(Loss(path, what, "emulated"))

    def withheld(self, path: str, what: str) -> None:
        """Add a loss for opaque state of another vendor, which is not sent."""
        self.append(Loss(path, what, "withheld"))

    def refused(self, path: str, what: str) -> None:
        """Add a loss for what cannot be sent, which makes the client raise `LossError`."""
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
    """The warning for a request or an answer that lost something in conversion, where `on_loss` is `"warn"`."""
