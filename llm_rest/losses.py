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
    """One part of a document that a conversion could not carry unchanged.

    `path` is written as the caller would index the document (`input[2].content[0]`), `what` is a description, and `kind` is
    one of: `dropped` (not sent), `changed` (a similar value was sent), `emulated` (implemented in another way), `withheld`
    (opaque state of another vendor, which stays in the history and is not sent), `refused` (cannot be sent).
    """

    path: str
    """The place in the document, as the caller would index it: `input[2].content[0]`."""
    what: str
    """A description, as text."""
    kind: Kind
    """How it was handled. A client always raises `LossError` for `refused`; `on_loss` applies to the others."""

    def __str__(self) -> str:
        return f"{self.path}: {self.what} ({self.kind})"


class Losses(list[Loss]):
    """A list of losses with one method per kind, which converters append to."""

    __slots__ = ()

    def dropped(self, path: str, what: str) -> None:
        """Add a loss for a part that is not sent."""
        self.append(Loss(path, what, "dropped"))

    def changed(self, path: str, what: str) -> None:
        """Add a loss for a part that is replaced by a similar value."""
        self.append(Loss(path, what, "changed"))

    def emulated(self, path: str, what: str) -> None:
        """Add a loss for a part that is implemented in another way."""
        self.append(Loss(path, what, "emulated"))

    def withheld(self, path: str, what: str) -> None:
        """Add a loss for opaque state of another vendor, which is not sent."""
        self.append(Loss(path, what, "withheld"))

    def refused(self, path: str, what: str) -> None:
        """Add a loss for a part that cannot be sent, which makes the client raise `LossError`."""
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
    """As in `input[0].content[1]: audio, which Anthropic does not support`."""
    return f"{what}, which {name} does not support"


class LossWarning(UserWarning):
    """The warning for a request or an answer that lost something in conversion, where `on_loss` is `"warn"`."""
