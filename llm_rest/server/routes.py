"""Where a request goes: the wire that a path and its headers mean, and what they ask for.

A path may begin with the name of a vendor, whose dialect is then spoken: `/v1/chat/completions`, `/chat/completions` and
`/groq/chat/completions` all reach the Chat wire. Before changing this file, know that it listens where our own clients call:
the paths come from each wire's `route`, so a wire that gets listed is served.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from .. import wires
from ..errors import ErrorFacts, printable
from ..responses import Request
from ..vendors.rows import DIALECTS, VENDORS
from . import listings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Purpose = Literal[
    "answer",
    "count",
    "models",
    "model",
    "kept",
    "items",
    "cancel",
    "compact",
    "running",
    "version",
    "show",
    "generate",
]


class Place(Struct, frozen=True):
    """What a path asks for, and by which methods; `model` is the model, or the kept response, that it names."""

    purpose: Purpose
    wire: str
    dialect: Any
    vendor: str | None = None
    model: str | None = None
    streams: bool = False  # whatever the body says
    methods: tuple[str, ...] = ("POST",)


READ = ("GET", "HEAD")

_MODEL = "MODEL"
_VERSION = "(?:/v1(?:beta1?)?)?"
_MODELS = re.compile(_VERSION + "/models(?:/(?P<model>.+))?")


def find(path: str, headers: Mapping[str, str]) -> list[Place]:
    """The places that `path` can mean, which differ by method; none where nothing is there."""
    path = "/" + path.strip("/")
    first, _, rest = path[1:].partition("/")
    vendor = first if first in VENDORS else None
    below = f"/{rest}" if vendor else path
    fitting: list[Place] = []
    for served, place in _places(vendor):
        if found := _pattern(served).fullmatch(below):
            model = found.groupdict().get("model")
            if model and any(other.model is None for other in fitting):
                continue  # a word of the API's own is no name
            fitting.append(replace(place, model=unquote(model)) if model else place)
    if not fitting and (found := _MODELS.fullmatch(below)):
        wire, model = listings.caller(headers), found["model"]
        purpose: Purpose = "model" if model else "models"
        fitting.append(Place(purpose, wire, DIALECTS[wire](), vendor, unquote(model) if model else None, methods=READ))
    if (own := listings.BESIDE.get(below)) and vendor in (None, "ollama"):
        beside, is_read = own
        wire = listings.OLLAMA
        fitting.append(Place(beside, wire, DIALECTS[wire](), vendor, methods=READ if is_read else ("POST",)))
    return fitting


def spoken(path: str, headers: Mapping[str, str]) -> str:
    """The wire that whoever asks for `path` speaks, be there anything or not."""
    places = find(path.partition("?")[0], headers)
    return places[0].wire if places else listings.missed(path, headers)


def nowhere(method: str, path: str, wire: str) -> ErrorFacts:
    """The error for a path with nothing there."""
    first = path.strip("/").partition("/")[0]
    served = ", ".join(_served(first if first in VENDORS else None))
    message = f"Invalid URL ({printable(method, 20)} {printable(path, 200)}); there is {served}."
    kind = "not_found_error" if wire == "anthropic_messages" else "invalid_request_error"
    return ErrorFacts(status=404, message=message, type=kind)


@lru_cache(maxsize=128)
def _places(vendor: str | None) -> tuple[tuple[str, Place], ...]:
    """What there is below `/{vendor}`, or below nothing: paths and where they lead."""
    surfaces: Sequence[tuple[str, Any]] = [(name, DIALECTS[name]()) for name in wires.NAMES if name in DIALECTS]
    if vendor is not None:
        row = VENDORS[vendor]
        spoken = [(s.wire, s.dialect or DIALECTS[s.wire]()) for s in row.surfaces if s.wire in wires.NAMES]
        surfaces = [(wire, replace(dialect, issuer=vendor)) for wire, dialect in spoken]
    found: list[tuple[str, Place]] = []
    for wire, dialect in surfaces:
        asked, route = Request(model=_MODEL, input=""), wires.load(wire).route
        path, streaming = route(asked, dialect=dialect).path, route(asked, dialect=dialect, stream=True).path
        place = Place("answer", wire, dialect, vendor)
        found.append((path, place))
        if streaming != path:
            found.append((streaming, replace(place, streams=True)))
        if wire in listings.COUNTED:
            found.append((listings.COUNTED[wire].beside(path), replace(place, purpose="count")))
        if wire == "openai_responses":
            found += [
                (path + below, replace(place, purpose=purpose, methods=methods)) for below, purpose, methods in _KEPT
            ]
    return tuple(found)


_KEPT: tuple[tuple[str, Purpose, tuple[str, ...]], ...] = (
    ("/compact", "compact", ("POST",)),
    (f"/{_MODEL}/input_items", "items", READ),
    (f"/{_MODEL}/cancel", "cancel", ("POST",)),
    (f"/{_MODEL}", "kept", (*READ, "DELETE")),
)
"""What there is below the responses themselves."""


@lru_cache(maxsize=256)
def _pattern(path: str) -> re.Pattern[str]:
    """A path with or without the version that base URLs may hold, the model in it as a group."""
    plain = re.escape(re.sub("^/v1(beta1?)?/", "/", path))
    return re.compile(_VERSION + plain.replace(_MODEL, "(?P<model>[^?]+?)"))


def _served(vendor: str | None) -> list[str]:
    prefix = f"/{vendor}" if vendor else ""
    paths = [path.replace(_MODEL, "{model}") for path, _ in _places(vendor)]
    return [prefix + (path if path.startswith(("/v1", "/api")) else f"/v1{path}") for path in (*paths, "/v1/models")]
