"""Documents that may hold kinds and fields we have never heard of, decoded without losing them.

Vendors add kinds and fields without notice. A known document takes msgspec's fast path, untouched. Only when that fails is
the document taken apart level by level: an object of an unknown kind in an `Open` union becomes an `Unknown` (a dict of
exactly what arrived), an unknown field is kept on a subclass of its struct, and every other mismatch is a `DecodeError`
that names its place. Before changing this file, know that the descent works on `msgspec.Raw` slices, never on plain
values, so that `Raw` fields (tool arguments) keep the vendor's own spelling.
"""

from __future__ import annotations

from functools import lru_cache
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    TypeGuard,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, StructMeta, UnsetType

from .errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
S = TypeVar("S", bound="Model")

_OPEN = "open"
_MAX_DEPTH = 400


class Unknown(dict[str, Any]):
    """An object of a kind this version does not know: a dict of exactly what arrived, encoded back as it came."""

    __slots__ = ()

    @property
    def type(self) -> str:
        """The kind the sender gave it, or an empty string."""
        kind = self.get("type", "")
        return kind if isinstance(kind, str) else ""

    def __repr__(self) -> str:
        return f"Unknown({super().__repr__()})"


Opt = Union[T, None, UnsetType]
"""An optional field: absent is `UNSET`, a JSON null is `None`."""

if TYPE_CHECKING:
    Open = Union[T, Unknown]
else:

    class Open:
        """`Open[A | B]`: a union of tagged structs that also takes kinds it does not list, as `Unknown`."""

        def __class_getitem__(cls, union: Any) -> Any:
            return Annotated[union, Meta(extra={_OPEN: True})]


class ModelMeta(StructMeta):
    """Makes keyword-only fields the rule, which msgspec itself does not hand down to subclasses."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> ModelMeta:
        config.setdefault("kw_only", True)
        return super().__new__(cls, name, bases, namespace, **config)


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class Model(Struct, metaclass=ModelMeta, forbid_unknown_fields=True, repr_omit_defaults=True):
    """The base of every struct that comes from outside. Fields it does not declare are kept by the decoder (`extras`)."""


def given(value: T | None | UnsetType) -> TypeGuard[T]:
    """Whether an optional field holds a value: it is neither absent nor null."""
    return value is not UNSET and value is not None


# --- unknown fields -------------------------------------------------------------------------------------------------


def extras(model: Struct) -> dict[str, Any]:
    """The fields that arrived with `model` and that its struct does not declare, by their names on the wire."""
    names = cast("tuple[str, ...]", getattr(type(model), "__extras__", ()))
    return {name: getattr(model, f"extra_{i}") for i, name in enumerate(names)}


def base(model: S) -> S:
    """`model` without its unknown fields; the same object where it has none."""
    if not getattr(type(model), "__extras__", ()):
        return model
    plain = cast("type[S]", type(model).__base__)
    return plain(**{name: getattr(model, name) for name in plain.__struct_fields__})


def with_extras(model: S, fields: dict[str, Any]) -> S:
    """`model` with `fields` added that its struct does not declare; they are encoded as if they were declared.

    Raises `DecodeError` for a field name that JSON encoding cannot spell plainly (quotes, backslashes, control characters).
    """
    if not fields:
        return model
    model = base(model)
    values = {name: getattr(model, name) for name in model.__struct_fields__}
    for i, value in enumerate(fields.values()):
        values[f"extra_{i}"] = value
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
        "__repr__": _repr,
    }
    config = model.__struct_config__
    try:
        return cast(
            "type[Model]",
            ModelMeta(model.__name__, (model,), namespace, rename=places, tag_field=config.tag_field, tag=config.tag),
        )
    except ValueError as problem:
        raise DecodeError(f"{model.__name__}: a field name that cannot be kept: {problem}", path="$") from None


def _reduce(model: Model) -> tuple[Any, ...]:
    return with_extras, (base(model), extras(model))


def _equal(one: Model, other: object) -> Any:
    if not isinstance(other, Model):
        return NotImplemented
    same = base(one) == base(other)
    return same and extras(one) == extras(other)


def _repr(model: Model) -> str:
    return f"{base(model)!r}+{extras(model)!r}"


# --- decoding -------------------------------------------------------------------------------------------------------


class Decoder(Generic[T]):
    """Turns JSON bytes into a `T`; what `T` does not know is kept.

    `repair`, where given, rewrites the plain value of a document that did not fit as it came (older spellings, missing
    tags), before the second attempt. `decode` raises `DecodeError` for bytes that are not a `T`, and nothing else.
    """

    __slots__ = ("_fast", "_repair", "_type")

    def __init__(
        self, type: Any, *, repair: Callable[[Any], Any] | None = None
    ) -> None:  # a type form, not only a class
        self._type = type
        self._repair = repair
        self._fast: msgspec.json.Decoder[T] | None = None

    def decode(self, data: bytes | bytearray | str) -> T:
        """The document in `data`. Raises `DecodeError` naming the place, what was expected and what came."""
        if self._fast is None:
            self._fast = msgspec.json.Decoder(self._type)
        try:
            return self._fast.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self._decode_open(data)

    def _decode_open(self, data: bytes | bytearray | str) -> T:
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
        check_depth(raw)
        try:
            if self._repair is not None:
                raw = msgspec.json.encode(self._repair(msgspec.json.decode(raw)))
            return cast("T", _descend(raw, self._type, "$"))
        except DecodeError:
            raise
        except msgspec.MsgspecError as problem:
            raise DecodeError(f"not valid JSON: {problem}", path="$") from None
        except UnicodeError as problem:
            raise DecodeError(f"not valid UTF-8: {problem}", path="$") from None
        except RecursionError:
            raise DecodeError("nested too deeply", path="$") from None


def check_depth(raw: bytes, limit: int = _MAX_DEPTH) -> None:
    """Return if `raw` nests at most `limit` deep, else raise `DecodeError`; msgspec itself would exhaust the stack."""
    # Counting brackets is done at C speed and settles nearly every document; only a suspicious one is scanned.
    if raw.count(b"[") + raw.count(b"{") <= limit:
        return
    depth, inside, escaped = 0, False, False
    for byte in raw:
        if inside:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                inside = False
        elif byte == 0x22:
            inside = True
        elif byte in b"[{":
            depth += 1
            if depth > limit:
                raise DecodeError(f"nested deeper than {limit} levels", path="$")
        elif byte in b"]}":
            depth -= 1


_objects = msgspec.json.Decoder(dict[str, Raw])
_arrays = msgspec.json.Decoder(list[Raw])


@lru_cache(maxsize=4096)
def _decoder(form: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(form)


def _descend(raw: bytes | Raw, form: Any, path: str) -> Any:
    """The value in `raw` as a `form`: whole if it fits, else piece by piece."""
    try:
        return _decoder(form).decode(raw)
    except msgspec.ValidationError as problem:
        mismatch = problem
    arms, is_open = _arms(form)
    first = bytes(raw).lstrip()[:1]
    if first == b"{":
        return _descend_object(raw, arms, is_open, path, mismatch)
    if first == b"[":
        for arm in arms:
            if get_origin(arm) in (list, tuple):
                inner = get_args(arm)[0]
                return [_descend(piece, inner, f"{path}[{i}]") for i, piece in enumerate(_arrays.decode(raw))]
    raise _at(path, mismatch)


def _descend_object(raw: bytes | Raw, arms: tuple[Any, ...], is_open: bool, path: str, mismatch: Exception) -> Any:
    models = [arm for arm in arms if isinstance(arm, type) and issubclass(arm, Struct)]
    if models:
        fields = _objects.decode(raw)
        model = _pick(models, fields)
        if model is not None:
            return _build(model, fields, path)
        if is_open:
            return Unknown(msgspec.json.decode(raw))
        raise _at(path, mismatch)
    for arm in arms:
        if get_origin(arm) is dict:
            inner = get_args(arm)[1]
            return {name: _descend(value, inner, f"{path}.{name}") for name, value in _objects.decode(raw).items()}
    raise _at(path, mismatch)


def _pick(models: list[type[Struct]], fields: dict[str, Raw]) -> type[Struct] | None:
    """The struct that `fields` names by its tag, or the only untagged one."""
    for model in models:
        config = model.__struct_config__
        if config.tag_field is None:
            return model
        sent = fields.get(config.tag_field)
        if sent is not None and bytes(sent) == msgspec.json.encode(config.tag):
            return model
        # A lone tagged struct may come without its tag, as msgspec itself allows.
        if sent is None and len(models) == 1:
            return model
    return None


def _build(model: type[Struct], fields: dict[str, Raw], path: str) -> Any:
    tag_field = model.__struct_config__.tag_field
    values: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    declared = _fields(model)
    for name, value in fields.items():
        if name == tag_field:
            continue
        known = declared.get(name)
        if known is not None:
            values[known[0]] = _descend(value, known[1], f"{path}.{name}")
        elif issubclass(model, Model):
            unknown[name] = msgspec.json.decode(value)
    try:
        built = model(**values)
    except TypeError as problem:
        raise DecodeError(f"{model.__name__} lacks a required field: {problem}", path=path) from None
    return with_extras(built, unknown) if unknown and isinstance(built, Model) else built


@lru_cache(maxsize=None)
def _fields(model: type[Struct]) -> dict[str, tuple[str, Any]]:
    """The fields of `model` by their names on the wire: the attribute's name and its type."""
    hints = get_type_hints(model, include_extras=True)
    return {
        wire: (name, hints[name])
        for wire, name in zip(model.__struct_encode_fields__, model.__struct_fields__, strict=True)
    }


@lru_cache(maxsize=4096)
def _arms(form: Any) -> tuple[tuple[Any, ...], bool]:
    """The members of a type form, unions and annotations taken apart, and whether unknown kinds are welcome."""
    origin = get_origin(form)
    if origin is Annotated:
        inner, *notes = get_args(form)
        arms, is_open = _arms(inner)
        return arms, is_open or any(isinstance(note, Meta) and (note.extra or {}).get(_OPEN) for note in notes)
    if origin is Union or origin is UnionType:
        parts = [_arms(arm) for arm in get_args(form)]
        return tuple(arm for arms, _ in parts for arm in arms), any(is_open for _, is_open in parts)
    return (form,), False


def _at(path: str, mismatch: Exception) -> DecodeError:
    what, _, place = str(mismatch).partition(" - at `$")
    return DecodeError(what, path=path + place.rstrip("`"))
