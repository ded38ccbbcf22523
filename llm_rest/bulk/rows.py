"""The input of a bulk run: the sources of rows, and the request of a row.

A line is recognized by its fields: an OpenAI batch line (`custom_id`, `method`, `url`, `body`) in the format of any
wire, one of Anthropic's (`params`) or Gemini's (`key`, `request`), or a request of the Responses format (`input`); with
a template it is any object. Before changing this file, know that files hold anything: every error names the line and
the field, and a line may set fields of a request, never the settings of a call (headers, accounts, retries).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from os import PathLike, fspath
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from .. import wires
from ..client.options import FIELDS
from ..errors import ConfigError, DecodeError, LLMError
from ..losses import Loss
from ..responses.request import Request
from ..vendors.rows import VENDORS
from ..wires.foreign import dumped

if TYPE_CHECKING:
    from ..client.options import Input
    from .journal import Journal, JournalRow

_FIRST_BYTES = 1_000_000
"""The number of bytes of an input that are compared when a run is resumed."""


class Row(NamedTuple):
    """One request of a bulk run."""

    n: int
    """The number of the row from 1: that of the line, or of the entry."""
    custom_id: str | None = None
    """The id of the row, if it has one."""
    input: Input | None = None
    options: Mapping[str, Any] = MappingProxyType({})
    """The fields of the request besides the input."""
    losses: Sequence[Loss] = ()
    """The losses of decoding a body in the format of another wire."""
    wire: str = "openai_responses"
    """The wire whose format the row was written in."""
    vendor_id: str | None = None
    """The batch of the row, or the id of its background response, where the vendor is already processing it."""

    @property
    def id(self) -> str:
        """The id of the row in the output."""
        return self.custom_id or f"row-{self.n}"


class Entry(NamedTuple):
    """A line of the input, or an entry of a sequence."""

    n: int
    raw: Any
    offset: int = 0
    end: int = 0
    known: JournalRow | None = None
    """The journal's entry of the row, where it was read before."""

    @property
    def digest(self) -> bytes:
        """A digest that identifies the row when it is read again."""
        raw = self.raw.strip() if isinstance(self.raw, bytes) else msgspec.json.encode(self.raw, enc_hook=_plain)
        return blake2b(raw, digest_size=8).digest()


def _plain(value: Any) -> Any:
    return fspath(cast("PathLike[str]", value)) if isinstance(value, PathLike) else dumped(value)


# --- sources of rows --------------------------------------------------------------------------------------------------


class Source:
    """An input: first the entries in the journal that are processed again, then the others."""

    word = "line"
    """The word for an entry in errors."""

    def identity(self, size: int | None) -> dict[str, Any]:
        """What is compared when a run is resumed, as plain data; of an input that may have grown what it was at this size."""
        return {"input": "stdin"}

    def entries(self, journal: Journal | None) -> Iterator[Entry]:
        """All entries."""
        raise NotImplementedError

    def total(self, read_rows: int, read_to: int) -> int | None:
        """The total number of rows, as far as it can be determined."""
        return None


class FileSource(Source):
    """The lines of a file, which is read during the run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._first = file.read(_FIRST_BYTES)
                self._size = file.seek(0, 2)
        except OSError as problem:
            raise ConfigError(f"cannot read {path}: {problem.strerror}") from None

    def identity(self, size: int | None) -> dict[str, Any]:
        size = self._size if size is None else min(size, self._size)
        digest = blake2b(self._first[:size], digest_size=16).hexdigest()
        return {"input": str(self.path.absolute()), "size": size, "digest": digest}

    def entries(self, journal: Journal | None) -> Iterator[Entry]:
        with self.path.open("rb") as file:
            offset = n = 0
            if journal is not None:
                for known in journal.rows(0, unfinished=journal.output is not None):
                    file.seek(known.offset)
                    yield Entry(known.n, file.readline(), known=known)
                offset, n = journal.at.read_to, journal.at.read_rows
                file.seek(offset)
            while raw := file.readline():
                n, begin, offset = n + 1, offset, offset + len(raw)
                yield Entry(n, raw, begin, offset)

    def total(self, read_rows: int, read_to: int) -> int | None:
        return round(read_rows * self._size / read_to) if read_to else None


class SpooledSource(Source):
    """The lines of a stream that cannot be read again; they are stored in the journal, if there is one."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def entries(self, journal: Journal | None) -> Iterator[Entry]:
        if journal is None:
            yield from (Entry(n, raw) for n, raw in enumerate(self._stream, 1))
            return
        if not journal.at.spooled:
            journal.spool(self._stream)
        for known in journal.rows(0, unfinished=journal.output is not None):
            yield Entry(known.n, journal.spooled_line(known.n), known=known)
        for n, raw in journal.spooled_lines(journal.at.read_rows):
            yield Entry(n, raw)


class SequenceSource(Source):
    """The entries of an iterable of the caller, each read once."""

    word = "row"

    def __init__(self, requests: Iterable[Any]) -> None:
        if isinstance(requests, str | bytes | dict | Request):
            got = f"got one {type(cast('object', requests)).__name__}"
            raise ConfigError(
                f"expected the path of a file or an iterable of prompts, {got}", hint="put it into a list"
            )
        self._requests = requests

    def identity(self, size: int | None) -> dict[str, Any]:
        return {"input": "iterable"}

    def entries(self, journal: Journal | None) -> Iterator[Entry]:
        given = enumerate(self._requests, 1)
        for known in journal.rows(0, unfinished=False) if journal is not None else ():
            n, raw = next(given, (0, None))
            if n != known.n:
                raise ConfigError(f"the input has fewer entries than the journal, which has row {known.n}")
            yield Entry(n, raw, known=known)
        for n, raw in given:
            yield Entry(n, raw)

    def total(self, read_rows: int, read_to: int) -> int | None:
        return len(self._requests) if hasattr(self._requests, "__len__") else None  # type: ignore[arg-type]


def source_of(given: Any) -> Source:
    """The input as a source: a path, a binary stream, or an iterable. Raises `ConfigError` for anything else."""
    if isinstance(given, Path):
        return FileSource(given)
    if hasattr(given, "readline"):
        return SpooledSource(given)
    if not hasattr(given, "__iter__"):
        raise ConfigError(f"expected the path of a file or an iterable of prompts, not a {type(given).__name__}")
    return SequenceSource(given)


# --- requests of rows -------------------------------------------------------------------------------------------------

_URLS = {
    "/responses": "openai_responses",
    "/chat/completions": "openai_chat",
    "/messages": "anthropic_messages",
    "/api/chat": "ollama_chat",
    ":generateContent": "gemini_generate_content",
}
"""The end of the `url` of a batch line, and the wire of its body."""
_MARKS = {"contents": "gemini_generate_content", "input": "openai_responses", "messages": "openai_chat"}
"""The field of a body that determines its wire where the line has no `url`."""
_ENVELOPES = {"body": None, "params": "anthropic_messages", "request": "gemini_generate_content"}
"""The field that contains the request of a batch line."""
_UNSENT = {"stream", "stream_options"}
"""Options that are ignored: rows are not streamed."""
_EXPECTED = "an OpenAI batch line (custom_id, method, url, body) or a Responses request (input, ...)"
_PLACE = re.compile(r"\{\{\s*([\w.-]+)\s*\}\}")


class Reader:
    """Decodes entries as rows. `model` is the run's, for rows that name none; `template` is a request as plain data
    with `{{field}}` where the fields of a row go.
    """

    def __init__(self, word: str, model: str | None, template: dict[str, Any] | None) -> None:
        self._word = word
        self._model = model
        self._template = template
        if template is not None and not _PLACE.search(msgspec.json.encode(template).decode()):
            raise ConfigError(
                "the template has no {{field}} for what a row says", hint='such as {"input": "Classify: {{text}}"}'
            )

    def read(self, entry: Entry) -> Row:
        """The row. Raises `ConfigError` naming line and field, with the row's id in `partial` as far as it was read."""
        custom_id: str | None = None
        try:
            fields: Any = entry.raw
            if isinstance(fields, bytes):
                try:
                    fields = msgspec.json.decode(fields)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
                    raise ConfigError(f"is not JSON: {problem}") from None
            if not isinstance(fields, dict):
                if isinstance(entry.raw, bytes) and not isinstance(fields, str):
                    raise ConfigError(f"expected {_EXPECTED}, got {type(fields).__name__}")
                return Row(entry.n, None, self._filled({"text": fields})["input"] if self._template else fields)
            given = dict(cast("dict[str, Any]", fields))
            names = ("custom_id", "id", *(("key",) if "request" in given else ()))
            custom_id = next((str(given[name]) for name in names if isinstance(given.get(name), str | int)), None)
            return self._row(entry, custom_id, given)
        except LLMError as problem:
            error = ConfigError(problem.message, hint=problem.hint)
            error.partial = custom_id
            raise error from None

    def _row(self, entry: Entry, custom_id: str | None, given: dict[str, Any]) -> Row:
        n, raw = entry.n, entry.raw
        if self._template is not None:
            return Row(n, custom_id, *self._request(self._filled(given)))
        if "input" in given or isinstance(given.get("prompt"), dict):  # a stored prompt
            return Row(n, custom_id, *self._request(given))
        held = next((name for name in _ENVELOPES if isinstance(given.get(name), dict)), None)
        if held is not None:
            request, losses, wire = _decoded(held, given)
            if refused := [loss for loss in losses if loss.kind == "refused"]:
                raise ConfigError(f"{held}: {refused[0]}")
            model = self._chosen(None if self._model else request.model)
            options = {"model": model} if model else {}
            return Row(n, custom_id, msgspec.structs.replace(request, model=None), options, losses, wire)
        if not isinstance(raw, bytes) and ("role" in given or "type" in given):
            return Row(n, None, given)  # an input by itself: a message, or a part
        fields = ", ".join(given) or "of an empty object"
        raise ConfigError(f"expected {_EXPECTED}, got the fields {fields}", hint=_HINT)

    def _request(self, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The input and the options of a request in the Responses format."""
        options = {name: value for name, value in given.items() if name not in ("input", "custom_id", "id", *_UNSENT)}
        if unknown := options.keys() - FIELDS:
            from ..client.keywords import refusal

            raise refusal(min(unknown), FIELDS)
        if (model := self._chosen(options.pop("model", None))) is not None:
            options["model"] = model
        return given.get("input"), options

    def _chosen(self, model: Any) -> str | None:
        """The model in a row, where it is a vendor's; `None` for the model of the run."""
        if isinstance(model, str) and model.partition("/")[0] in VENDORS:
            return model
        if self._model is None:
            named = "no model is given" if model is None else f"{model!r} names no vendor"
            raise ConfigError(f"model: {named}", hint="write vendor/model, or name a model for the whole run")
        return None

    def _filled(self, given: dict[str, Any]) -> dict[str, Any]:
        def fill(part: Any) -> Any:
            if isinstance(part, dict):
                return {name: fill(value) for name, value in cast("dict[str, Any]", part).items()}
            if isinstance(part, list):
                return [fill(one) for one in cast("Sequence[Any]", part)]
            if not isinstance(part, str):
                return part
            whole = _PLACE.fullmatch(part)
            return value(whole) if whole else _PLACE.sub(text, part)

        def value(place: re.Match[str]) -> Any:
            name = place[1]
            if name not in given:
                raise ConfigError(
                    f"the template needs the field {name!r}, and the row has {', '.join(given) or 'none'}"
                )
            return given[name]

        def text(place: re.Match[str]) -> str:
            found = value(place)
            return found if isinstance(found, str) else msgspec.json.encode(found, enc_hook=_plain).decode()

        return cast("dict[str, Any]", fill(self._template))


_HINT = 'other objects need a template with their fields (--template), such as {"input": "Classify: {{text}}"}'


def _decoded(held: str, given: dict[str, Any]) -> tuple[Request, list[Loss], str]:
    """The request of a batch line, the losses of decoding it, and the wire of its format."""
    body, url = given[held], str(given.get("url") or "").partition("?")[0]
    name = _ENVELOPES[held] or next((wire for end, wire in _URLS.items() if url.endswith(end)), None)
    if name is None and url:
        raise ConfigError(f"url: {url!r} is no endpoint for text", hint=f"it may end in {', '.join(_URLS)}")
    name = name or next((wire for mark, wire in _MARKS.items() if mark in body), None)
    if name is None:
        raise ConfigError(f"{held}: expected one of {', '.join(_MARKS)}, got {', '.join(body) or 'an empty object'}")
    wire = wires.load(name)
    document = msgspec.json.encode({field: value for field, value in body.items() if field not in _UNSENT})
    model = url.rpartition("/")[2].partition(":")[0] if name == "gemini_generate_content" else None
    try:
        request, losses = wire.decode_request(
            wire.REQUEST.decode(document), model=model or body.get("model"), keep=False
        )
    except DecodeError as problem:
        raise ConfigError(f"{held}{problem.message.removeprefix('$')}") from None
    return request, losses, name
