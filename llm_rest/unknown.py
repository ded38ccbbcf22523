"""Lossless decoding of documents with unknown kinds and fields.

Vendors add kinds and fields without notice. A known document is decoded on msgspec's fast path. Only when that fails is
the document decoded level by level: an object of an unknown kind in an `Open` union becomes an `Unknown` (a dict of the
original JSON), an unknown field is preserved on a subclass of its struct, and every other mismatch is a `DecodeError`
with its path. Before changing this file, know that the descent works on `msgspec.Raw` slices, never on plain values, so
that `Raw` fields (tool arguments) preserve the vendor's bytes.
"""

from __future__ import annotations

import re
from _thread import RLock  # `threading` takes longer to load than this module
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, lru_cache
from itertools import accumulate, count
from math import inf
from operator import sub
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    TypeGuard,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    overload,
)

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, StructMeta, UnsetType

from .errors import DecodeError
from .shapes import Shapes, widened

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

T = TypeVar("T")
S = TypeVar("S", bound="Model")

_OPEN = "open"
_MAX_DEPTH = 400
_MAX_EXTRAS = 256
_MAX_SHAPES = 1000

MOST_UNKNOWN = 6_000
"""The most objects of unknown kinds, or with unknown fields, in a request: each costs many times more than others."""

MOST_IN_ANSWER = 20_000
"""The most objects of unknown kinds, or with unknown fields, in an answer or an event of a stream; and the most calls,
parts and items in one list there, since each is converted by itself."""

if TYPE_CHECKING:
    Bounded = list[T]
else:

    class Bounded:
        """`Bounded[A]`: a list of at most `MOST_IN_ANSWER` entries."""

        def __class_getitem__(cls, entry: Any) -> Any:
            return Annotated[list[entry], Meta(max_length=MOST_IN_ANSWER)]


class Unknown(dict[str, Any]):
    """An object of an unknown kind: a dict of its original JSON, encoded back unchanged."""

    __slots__ = ()

    type: ClassVar[Literal["unknown"]] = "unknown"
    leftovers: ClassVar[None] = None  # as nothing of it is left over

    @property
    def kind(self) -> str:
        """The value of `type` that the sender gave, or an empty string."""
        return found if isinstance(found := self.get("type"), str) else ""

    @property
    def id(self) -> str | None:
        """The value of `id` that the sender gave; `None` where that is no text."""
        return found if isinstance(found := self.get("id"), str) else None

    def __repr__(self) -> str:
        return f"Unknown({super().__repr__()})"

    def to_dict(self) -> dict[str, Any]:
        """The object as plain data, as `to_dict` of a struct gives it."""
        return cast("dict[str, Any]", msgspec.json.decode(msgspec.json.encode(self)))


Opt = Union[T, None, UnsetType]
"""An optional field of a vendor's document: absent is `UNSET`, a JSON null is `None`."""

if TYPE_CHECKING:
    Open = Union[T, Unknown]
else:

    class Open:
        """`Open[A | B]`: a union of tagged structs that also accepts unlisted kinds, as `Unknown`."""

        def __class_getitem__(cls, union: Any) -> Any:
            return Annotated[union, Meta(extra={_OPEN: True})]


class Model(Struct, forbid_unknown_fields=True, repr_omit_defaults=True):
    """The base of every struct of external data. Undeclared fields are preserved by the decoder (`extras`)."""

    __extras__: ClassVar[tuple[str, ...]] = ()  # the names of unknown fields, on a subclass made for them
    _one_line: ClassVar[bool] = False
    """Whether its repr is a summary, without unknown fields."""

    def to_dict(self) -> dict[str, Any]:
        """The struct as plain data: dicts, lists and values, as in its JSON."""
        # Encoded first, because arguments that are no text are slices of the document, which only encoding can read.
        return cast("dict[str, Any]", msgspec.json.decode(msgspec.json.encode(self)))


class ResponsesModel(Model, omit_defaults=True):
    """The base of every struct of the Responses format: a field that is absent is `None`, and is not written.

    Before adding a field, know that `omit_defaults` leaves out every field that equals its plain default. A default
    that must be written is a `default_factory` other than `list`, `dict` and `set`: `field(default_factory=int)`.
    """


def given(value: T | None | UnsetType) -> TypeGuard[T]:
    """Whether an optional field holds a value: it is neither absent nor null."""
    return value is not UNSET and value is not None


def as_object(value: Any) -> dict[str, Any]:
    """A JSON value if it is an object, else empty."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A JSON value if it is a list, else empty."""
    return cast("Any", value) if isinstance(value, list) else []


def or_none(value: T | None | UnsetType) -> T | None:
    """A field of a vendor's document as a field of Responses: null and absent are both `None`."""
    return None if value is UNSET else value


def or_unset(value: T | None) -> T | UnsetType:
    """A field of Responses as a field of a vendor's document: `None` becomes absent."""
    return UNSET if value is None else value


# --- unknown fields -------------------------------------------------------------------------------------------------


def extras(model: Struct) -> dict[str, Any]:
    """The fields that arrived with `model` and that its struct does not declare, by their names on the wire."""
    names = getattr(type(model), "__extras__", ())
    return {name: getattr(model, f"extra_{i}") for i, name in enumerate(names)} if names else {}


def base(model: S) -> S:
    """`model` without its unknown fields; the same object where it has none."""
    plain: Any = type(model).__base__ if getattr(type(model), "__extras__", ()) else None
    return model if plain is None else plain(**{name: getattr(model, name) for name in plain.__struct_fields__})


def with_extras(model: S, fields: dict[str, Any]) -> S:
    """`model` with `fields` added that its struct does not declare; they are encoded as if they were declared.

    Raises `DecodeError` for a field name that needs escapes in JSON (quotes, backslashes, control characters).
    """
    if not fields:
        return model
    model = base(model)
    values = {name: getattr(model, name) for name in model.__struct_fields__}
    values |= {f"extra_{i}": value for i, value in enumerate(fields.values())}
    return cast("S", _extended(type(model), tuple(fields))(**values))


# The sender chooses the names, so the number of classes kept alive is capped; an evicted class lives on in its instances.
@lru_cache(maxsize=1024)
def _extended(model: type[Model], names: tuple[str, ...]) -> type[Model]:
    places = {f"extra_{i}": name for i, name in enumerate(names)}
    namespace: dict[str, Any] = {
        "__annotations__": dict.fromkeys(places, Any),
        "__module__": model.__module__,
        "__extras__": names,
        "__reduce__": _reduce,
        "__eq__": _equal,
    }
    if not model._one_line:  # pyright: ignore[reportPrivateUsage] - of this module
        namespace["__repr__"] = _repr
    config = model.__struct_config__
    try:
        return cast(
            "type[Model]",
            StructMeta(
                model.__name__,
                (model,),
                namespace,
                kw_only=True,
                rename=places,
                tag_field=config.tag_field,
                tag=config.tag,
            ),
        )
    except ValueError as problem:
        raise DecodeError(f"{model.__name__}: an invalid field name: {problem}", path="$") from None


def _reduce(model: Model) -> tuple[Any, ...]:
    return with_extras, (base(model), extras(model))


def _equal(one: Model, other: object) -> Any:
    if not isinstance(other, Model):
        return NotImplemented
    return base(one) == base(other) and extras(one) == extras(other)


def _repr(model: Model) -> str:
    return f"{base(model)!r}+{extras(model)!r}"


# --- types, one thread at a time ------------------------------------------------------------------------------------

first_use = RLock()
"""A lock for the first use of a type by msgspec: if two threads do that with the same structs, the process crashes."""


@lru_cache(maxsize=4096)
def decoder_of(form: Any) -> msgspec.json.Decoder[Any]:
    """msgspec's own decoder of `form`."""
    with first_use:
        return msgspec.json.Decoder(form)


@overload
def convert(value: Any, form: type[T], *, strict: bool = ...) -> T: ...
@overload
def convert(value: Any, form: Any, *, strict: bool = ...) -> Any: ...
def convert(value: Any, form: Any, *, strict: bool = True) -> Any:
    """Convert plain values to `form`. Raises `msgspec.ValidationError`."""
    decoder_of(form)
    return msgspec.convert(value, form, strict=strict)


# --- decoding -------------------------------------------------------------------------------------------------------

_MISFITS = (DecodeError, msgspec.MsgspecError, UnicodeError, RecursionError)


class Decoder(Generic[T]):
    """Decodes JSON bytes to a `T`; unknown fields and kinds are preserved.

    `repair`, where given, rewrites the plain value of a document that did not match (older notations, missing tags),
    before the second attempt; a document that matches but for unknown fields must not be changed, unless these are
    among `repaired`, the undeclared fields that it reads. `most_unknown` bounds the objects of unknown kinds or with
    unknown fields. `decode` raises `DecodeError` for bytes that are not a `T`, and nothing else.
    """

    __slots__ = ("_fast", "_first", "_most_unknown", "_repair", "_repaired", "_shapes", "_short", "_type")

    def __init__(
        self,
        type: Any,  # a type form, not only a class
        *,
        repair: Callable[[Any], Any] | None = None,
        repaired: Collection[str] = (),
        most_unknown: float = inf,
    ) -> None:
        self._type = type
        self._repair = repair
        self._repaired = repaired
        self._most_unknown = most_unknown
        # A document this short has no more objects than this, and nests no deeper: each level has two brackets.
        self._short = 2 * min(_MAX_DEPTH, most_unknown)
        self._shapes = Shapes()
        self._fast: msgspec.json.Decoder[T] | None = None
        self._first: msgspec.json.Decoder[T] | None = None  # of a remembered shape, where the last document had one

    def decode(self, data: bytes | bytearray | str) -> T:
        """The document in `data`. Raises `DecodeError` with the path, the expected and the actual value."""
        # The decoder that fitted last comes first: a failed attempt costs more than a small document.
        if (first := self._first) is not None:
            try:
                if (len(data) <= self._short and data.isascii()) or self._is_bounded(data):
                    return first.decode(data)
            except _MISFITS:
                pass  # the exceptions raised below shall not have msgspec's error as their context
            self._first = None
        if self._fast is None:
            self._fast = decoder_of(self._type)
        try:
            return self._fast.decode(data)
        except _MISFITS:
            pass
        for decoder in self._shapes.decoders:
            try:
                if decoder is not first and self._is_bounded(data):
                    found: T = decoder.decode(data)
                    self._first = decoder
                    return found
            except _MISFITS:
                pass
        return self._decode_open(data)

    def _is_bounded(self, data: bytes | bytearray | str) -> bool:
        """Whether the slow path would find no exceeded limit; raises one of `_MISFITS` for its nesting or invalid UTF-8."""
        raw = data.encode() if isinstance(data, str) else bytes(data)
        if not raw.isascii():
            raw.decode()
        check_depth(raw)
        return raw.count(b"{") <= self._most_unknown  # counted exactly by the slow way

    def _decode_open(self, data: bytes | bytearray | str) -> T:
        try:
            # Some hosts and files put a byte order mark in front, which is no part of a JSON text.
            raw = (data.encode() if isinstance(data, str) else bytes(data)).removeprefix(b"\xef\xbb\xbf")
            raw.decode()  # msgspec looks at no byte inside the values it hands over as they are (`Raw`)
            check_depth(raw)
            if self._repair is not None:
                plain = plain_json(raw)
                repaired = self._repair(plain)
                # A document that needed no repair is preserved as the sender wrote it.
                raw = raw if repaired == plain else msgspec.json.encode(repaired)
            descent = _Descent(self._most_unknown)
            found = cast("T", descent.value(raw, self._type, "$"))
        except msgspec.MsgspecError as problem:
            raise DecodeError(f"not valid JSON: {problem}", path="$") from None
        except UnicodeError as problem:
            raise DecodeError(f"not valid UTF-8: {problem}", path="$") from None
        except RecursionError:
            raise DecodeError("nested too deeply", path="$", limited=True) from None
        if descent.shapes:
            self._remember({*descent.shapes, *((model, ()) for model in descent.containers)}, raw)
        return found

    def _remember(self, seen: set[tuple[type[Struct], tuple[str, ...]]], raw: bytes) -> None:
        """Decode documents like the one in `raw` on the fast path from now on, once enough of them arrived."""
        # Fields that a repair reads, or that have another notation, have to go the slow way.
        if any(name in self._repaired or name in model.__struct_fields__ for model, names in seen for name in names):
            return
        with first_use:
            for shapes in self._shapes.due(seen):
                decoder = msgspec.json.Decoder(widened(self._type, shapes, _extended, _fields))
                with suppress(*_MISFITS):
                    decoder.decode(raw)
                    self._shapes.add(shapes, decoder)
                    return


_WINDOW = 1024 * 1024
_NO_BONES = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEPS = bytes.maketrans(b"[{]}", b"\x02\x02\x00\x00")


def check_depth(raw: bytes, limit: int = _MAX_DEPTH) -> None:
    """Return if `raw` nests at most `limit` deep, else raise `DecodeError`; msgspec itself would exhaust the stack."""
    # Counting brackets settles nearly every document. The others are reduced to their brackets outside strings, each of
    # which goes one level up or down: after n of them the depth is the sum of their steps (2 or 0) less n.
    if raw.count(b"[") + raw.count(b"{") <= limit:
        return
    # Escapes go first, then what is neither bracket nor quote, then strings without brackets, each at a stroke. The other
    # strings go window by window, since all that is between them is held meanwhile: many times the document's size.
    bones = raw.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NO_BONES).replace(b'""', b"")
    depth, quote = 0, b""
    for start in range(0, len(bones), _WINDOW):
        window = quote + bones[start : start + _WINDOW]
        steps = re.sub(rb'"[^"]*+(?:"|\Z)', b"", window).translate(_STEPS, _NO_BRACKETS)
        if depth + max(map(sub, accumulate(steps), count(1)), default=0) > limit:
            raise DecodeError(f"nested deeper than {limit} levels", path="$", limited=True)
        depth += 2 * steps.count(2) - len(steps)
        quote = b'"' * (window.count(b'"') % 2)


class _Form:
    """A type form in parts: the structs, list items or dict values it accepts, and whether it allows unknown kinds."""

    __slots__ = ("counts", "is_open", "items", "kinds", "lone", "most", "tag_field", "values")

    def __init__(self, form: Any) -> None:
        self.is_open = False
        self.counts = False
        self.tag_field: str | None = None
        self.kinds: dict[str | int, type[Struct]] = {}
        self.lone: type[Struct] | None = None  # the form of an object without a tag
        self.items: Any = None
        self.most = inf  # items
        self.values: Any = None
        self._add(form)
        if len(self.kinds) == 1 and self.lone is None:
            # A lone tagged struct may come without its tag, as msgspec itself allows.
            (self.lone,) = self.kinds.values()

    def _add(self, form: Any) -> None:
        origin = get_origin(form)
        if origin is Annotated:
            inner, *notes = get_args(form)
            for note in notes:
                if isinstance(note, Meta):
                    self.is_open |= (note.extra or {}).get(_OPEN, False)
                    self.most = self.most if note.max_length is None else note.max_length
            self._add(inner)
        elif origin is Union or origin is UnionType:
            for arm in get_args(form):
                self._add(arm)
        elif form is int:
            self.counts = True
        elif origin is list or origin is Sequence:
            (self.items,) = get_args(form)
        elif origin is dict:
            _, self.values = get_args(form)
        elif isinstance(form, type) and issubclass(form, Struct):
            config = form.__struct_config__
            if config.tag_field is None:
                self.lone = form
            else:
                self.tag_field = config.tag_field
                self.kinds[cast("str | int", config.tag)] = form

    def pick(self, fields: dict[str, Raw]) -> type[Struct] | None:
        """The struct for an object with these fields."""
        sent = fields.get(self.tag_field) if self.tag_field else None
        if sent is None:
            return self.lone
        tag = msgspec.json.decode(sent)
        return self.kinds.get(tag) if isinstance(tag, str | int) else None


_WHOLE = rb"""\s*"?(-?[0-9]{1,15}(?:\.[0-9]{1,15})?(?:[eE]\+?[0-9])?)"?\s*"""
"""A whole number as some hosts write it: `"11"`, `11.0`, `1.1e1`."""

_MOST_FORMS = 4096
_FORMS: dict[int, tuple[msgspec.json.Decoder[Any], _Form, Any]] = {}
# By identity: hashing a union takes longer than decoding. An entry keeps its form alive.


def _taken_apart(form: Any) -> tuple[msgspec.json.Decoder[Any], _Form, Any]:
    """The decoder of a type form, and its parts."""
    found = _FORMS.get(id(form))
    if found is None:
        if len(_FORMS) >= _MOST_FORMS:
            _FORMS.clear()
        found = _FORMS[id(form)] = decoder_of(form), _Form(form), form
    return found


def plain_json(raw: bytes | Raw) -> Any:
    """JSON as plain values; a number beyond floats stays as the text it came with (`Raw`)."""
    try:
        return msgspec.json.decode(raw)
    except msgspec.ValidationError:
        import json  # slow to load, and needed for such numbers only

        try:
            return json.loads(bytes(raw), parse_float=_number, parse_int=_number, parse_constant=_not_json)
        except ValueError as problem:
            raise msgspec.DecodeError(str(problem)) from None


def _number(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.ValidationError:
        return Raw(text.encode())


def _not_json(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


_objects = msgspec.json.Decoder(dict[str, Raw])
_arrays = msgspec.json.Decoder(list[Raw])


@cache
def _fields(model: type[Struct]) -> dict[str, tuple[str, Any]]:
    """The fields of `model` by their names on the wire: the attribute's name and its type."""
    return {field.encode_name: (field.name, field.type) for field in msgspec.structs.fields(model)}


@cache
def _needed(model: type[Struct]) -> frozenset[str]:
    """The fields of `model` that have no default."""
    return frozenset(field.name for field in msgspec.structs.fields(model) if field.required)


class _Descent:
    """The level-by-level decoding of one document that did not match as a whole."""

    __slots__ = ("_unknown_left", "containers", "shapes")

    def __init__(self, most_unknown: float) -> None:
        self.shapes: set[tuple[type[Struct], tuple[str, ...]]] = set()
        """The structs that came with unknown fields, and the names of these."""
        self.containers: set[type[Struct]] = set()
        """The structs without unknown fields that did not fit as a whole."""
        self._unknown_left = most_unknown

    def value(self, raw: bytes | Raw, form: Any, path: str) -> Any:
        """Decode `raw` as a `form`: at once if it matches, else level by level."""
        decoder, taken, _ = _taken_apart(form)
        try:
            return decoder.decode(raw)
        except msgspec.ValidationError as problem:
            mismatch = str(problem)  # the exception itself would keep the frames of all callers alive
        if form is Any:
            return plain_json(raw)
        first = bytes(raw).lstrip()[:1]
        number = re.fullmatch(_WHOLE, bytes(raw)) if taken.counts else None
        if number and ("usage" in path or path.endswith("_count") or float(number[1]).is_integer()):
            return round(float(number[1]))  # a fraction of a token is no reason to lose an answer
        if first == b"[" and taken.items is not None:
            pieces = _arrays.decode(raw)
            if len(pieces) > taken.most:
                raise DecodeError(f"a list of more than {taken.most:,} entries", path=path, limited=True)
            return [self.value(piece, taken.items, f"{path}[{i}]") for i, piece in enumerate(pieces)]
        if first == b"{":
            if taken.values is not None:
                found = _objects.decode(raw).items()
                return {name: self.value(piece, taken.values, f"{path}.{name}") for name, piece in found}
            if taken.kinds or taken.lone:
                fields = _objects.decode(raw)
                model = taken.pick(fields)
                if model is not None:
                    return self._build(model, fields, path)
                if taken.is_open:
                    self._is_unknown(path)
                    return Unknown(plain_json(raw))
        what, _, place = mismatch.partition(" - at `$")
        raise DecodeError(what, path=path + place.rstrip("`"))

    def _build(self, model: type[Struct], fields: dict[str, Raw], path: str) -> Any:
        tag_field = model.__struct_config__.tag_field
        declared = _fields(model)
        values: dict[str, Any] = {}
        unknown: dict[str, Any] = {}
        for name, piece in fields.items():
            if name == tag_field:
                continue
            known = declared.get(name)
            if known is not None:
                absent = bytes(piece) == b"null" and issubclass(model, ResponsesModel)  # unless it is required
                if not absent or known[0] in _needed(model):
                    values[known[0]] = self.value(piece, known[1], f"{path}.{name}")
            elif issubclass(model, Model):
                unknown[name] = plain_json(piece)
        try:
            built = model(**values)
        except TypeError as problem:
            raise DecodeError(f"{model.__name__} lacks a required field: {problem}", path=path) from None
        if unknown and isinstance(built, Model):
            return self._extend(built, unknown, path)
        self.containers.add(model)
        return built

    def _is_unknown(self, path: str) -> None:
        self._unknown_left -= 1
        if self._unknown_left < 0:
            what = "too many objects of unknown kinds or with unknown fields"
            raise DecodeError(what, path=path, limited=True)

    def _extend(self, built: Model, unknown: dict[str, Any], path: str) -> Model:
        self._is_unknown(path)
        names = tuple(sorted(unknown))  # the same order each time, whichever way a document is decoded
        self.shapes.add((type(built), names))
        # Every shape costs a class, whose cost grows with the square of its fields; no real document has a tenth of this.
        if len(unknown) > _MAX_EXTRAS or len(self.shapes) > _MAX_SHAPES:
            raise DecodeError(f"too many unknown fields on {type(built).__name__}", path=path, limited=True)
        try:
            return with_extras(built, {name: unknown[name] for name in names})
        except DecodeError as problem:
            raise DecodeError(problem.message.removeprefix("$: "), path=path) from None
