"""Options of a request that a wire lacks, reported by path from its two tables, `REFUSED` and `DROPPED`; and those it has too.

Before changing this file, know that the sentences are said here once for all wires: a wire lists paths such as `text.verbosity`,
in the caller's words, and that an option which asks for what every wire does anyway (false, zero, empty) is no loss.
"""

from __future__ import annotations

from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..losses import no_such, not_in
from ..responses.carriers import NAMES
from ..unknown import or_none
from .leftovers import says

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from msgspec import Struct

    from ..losses import Losses
    from ..responses.request import Request

LOGPROBS = "message.output_text.logprobs"
"""What `include` asks for to get log probabilities."""
ENCRYPTED = "reasoning.encrypted_content"
"""What `include` asks for to get opaque reasoning, which most wires send anyway."""

STATELESS = "{} keeps nothing between calls; send the conversation itself"
REASONS = {
    "previous_response_id": STATELESS,
    "conversation": STATELESS,
    "prompt": "{} has no stored prompts",
    "background": "{} has no background mode",
    "context_management": "{} does not compact conversations",
    "moderation": "{} does not moderate",
}
"""Why a request with an option is refused: without it the answer would be about something else."""


def report_missing(
    value: Struct,
    wire: str,
    lost: Losses,
    *,
    refused: tuple[str, ...] = (),
    dropped: tuple[str, ...] = (),
    path: str = "",
) -> None:
    """Report those of the options `refused` and `dropped` of a request, or of the tool at `path`, that are set."""
    read, nothing = _reader(type(value), (*refused, *dropped))
    if read(value) == nothing:  # as in nearly every request
        return
    for name in refused:
        if says(_at(value, name)):
            lost.refused(_joined(path, name), REASONS.get(name, no_such("option", "{}")).format(NAMES[wire]))
    for name in dropped:
        if says(_at(value, name)):
            lost.dropped(_joined(path, name), no_such("option", NAMES[wire]))


@lru_cache(maxsize=256)
def _reader(kind: type[Struct], paths: tuple[str, ...]) -> tuple[Callable[[Any], tuple[Any, ...]], tuple[Any, ...]]:
    """Reads those fields of a struct that the paths begin with, and what it reads where none is set."""
    names = [name for path in paths if (name := path.partition(".")[0]) in kind.__struct_fields__]
    # The class stands behind them, since a name alone would be read bare.
    return attrgetter(*names, "__class__"), (*[None] * len(names), kind)


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = getattr(value, name, None)
    return value


def _joined(path: str, name: str) -> str:
    return f"{path}.{name.rstrip('_')}" if path else name


def report_include(request: Request, known: Collection[str], wire: str, lost: Losses) -> None:
    """Report what a request wants included, but for what is `known`."""
    for j, name in enumerate(request.include or ()):
        if name not in known:
            lost.dropped(f"include[{j}]", not_in(repr(name), NAMES[wire]))


# --- options of the same meaning ------------------------------------------------------------------------------------


def encode_same(request: Request, names: Mapping[str, str]) -> dict[str, Any]:
    """The options of a request by their names on a wire; `names` has those, and ours as values."""
    return {theirs: value for theirs, ours in names.items() if (value := getattr(request, ours)) is not None}


def decode_same(document: Struct, names: Mapping[str, str], request: Request) -> None:
    """Set the options of a request that a document of a wire has under these names."""
    for theirs, ours in names.items():
        setattr(request, ours, or_none(getattr(document, theirs)))
