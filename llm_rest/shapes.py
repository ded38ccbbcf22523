"""A cache of shapes: a document with unknown fields of a known shape is decoded on the fast path.

A shape is a struct with the names of its unknown fields; with none, where it only contains such structs. `Shapes`
counts the shapes of documents from the slow path. `widened` makes a type form in which these structs require these
fields. A struct that contains such structs is decoded as a subclass, and each instance gets the declared class at once,
in `__post_init__`; so the result is the same.

Before changing this file, know that the sender chooses names and documents. The constants below bound the memory. A
form takes about a millisecond, so each needs twice as many documents of its shape as the one before it, up to a limit.
It is used only after it has decoded the document that led to it.
"""

from __future__ import annotations

from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, cast, get_args, get_origin

import msgspec
from msgspec import Struct, StructMeta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Names = dict[type[Struct], tuple[str, ...]]
    Shape = tuple[type[Struct], tuple[str, ...]]
    Extend = Callable[[type[Struct], tuple[str, ...]], type[Struct]]
    Fields = Callable[[type[Struct]], dict[str, tuple[str, Any]]]

MOST_NAMES = 16
"""Unknown fields of one struct."""

MOST_STRUCTS = 32
"""Structs of one form that have unknown fields or contain such structs."""

MOST_TEXT = 1_000
"""Characters in the field names of one document."""

MOST_FORMS = 4
"""Forms of one decoder; a new one replaces the oldest."""

MOST_COUNTED = 256
"""Sets of shapes that are counted; beyond that, counting starts again."""

MOST_DOUBLINGS = 10
"""After so many forms, the next needs no more documents than the last: 2,048."""


class Shapes:
    """The shapes of the documents of one decoder."""

    __slots__ = ("_counted", "_forms", "_made", "decoders")

    def __init__(self) -> None:
        self.decoders: tuple[msgspec.json.Decoder[Any], ...] = ()
        """Decoders of documents with remembered shapes, the newest first."""
        self._forms: tuple[Names, ...] = ()
        self._counted: dict[frozenset[Shape], int] = {}
        self._made = 0

    def due(self, seen: set[Shape]) -> Iterator[Names]:
        """Count the shapes of one document; returns those to make a form of now, alone or with an earlier form's."""
        shapes = dict(seen)
        if len(shapes) != len(seen) or len(shapes) > MOST_STRUCTS or max(map(len, shapes.values())) > MOST_NAMES:
            return
        if sum(len(name) for names in shapes.values() for name in names) > MOST_TEXT:
            return
        key = frozenset(seen)
        if key not in self._counted and len(self._counted) >= MOST_COUNTED:
            self._counted.clear()
        self._counted[key] = count = self._counted.get(key, 0) + 1
        if count < 2 << min(self._made, MOST_DOUBLINGS):
            return
        del self._counted[key]
        self._made += 1
        for form in self._forms:
            if len(form | shapes) <= MOST_STRUCTS and all(form.get(model, new) == new for model, new in shapes.items()):
                yield form | shapes
                break
        yield shapes

    def add(self, shapes: Names, decoder: msgspec.json.Decoder[Any]) -> None:
        """Add the decoder of a form with `shapes`, in place of those that it covers."""
        kept = [
            (form, old)
            for form, old in zip(self._forms, self.decoders, strict=True)
            if not form.items() <= shapes.items()
        ][: MOST_FORMS - 1]
        self._forms = (shapes, *(form for form, _ in kept))
        self.decoders = (decoder, *(old for _, old in kept))


def widened(form: Any, shapes: Names, extend: Extend, fields: Fields) -> Any:
    """The type form with the unknown fields in `shapes`.

    `extend` makes a struct with unknown fields; `fields` gives the declared ones by their names on the wire.
    """
    made: dict[type[Struct], type[Struct]] = {}

    def wide(form: Any) -> Any:
        origin, args = get_origin(form), get_args(form)
        if origin is Annotated:
            inner = wide(args[0])
            return form if inner is args[0] else Annotated[(inner, *args[1:])]
        if args and origin in (Union, UnionType, list, dict):
            inside = tuple(wide(arg) for arg in args)
            if all(new is old for new, old in zip(inside, args, strict=True)):
                return form
            if origin is list or origin is dict:
                return cast("Any", origin)[inside]
            return Union[inside]  # noqa: UP007 - a tuple of forms
        if form in shapes and form not in made and not form.__struct_config__.frozen:
            made[form] = form  # inside itself a struct is unchanged
            target = extend(form, shapes[form]) if shapes[form] else form
            declared = fields(form).items()
            changed = {name: (wire, new) for wire, (name, old) in declared if (new := wide(old)) is not old}
            made[form] = _becoming(target, form, changed) if changed else target
        return made.get(form, form)

    return wide(form)


def _becoming(target: type[Struct], model: type[Struct], changed: dict[str, tuple[str, Any]]) -> type[Struct]:
    """A struct whose `changed` fields have other forms, and whose instances become a `target`."""
    own = cast("Callable[[Struct], None] | None", getattr(model, "__post_init__", None))

    def become(made: Struct) -> None:
        made.__class__ = target

    def check_and_become(made: Struct) -> None:
        made.__class__ = target
        made.__post_init__()  # type: ignore[attr-defined]

    namespace: dict[str, Any] = {
        "__annotations__": {name: form for name, (_, form) in changed.items()},
        "__module__": model.__module__,
        "__post_init__": check_and_become if own else become,
    }
    for field in msgspec.structs.fields(model):
        if field.name in changed and not field.required:
            default, factory = field.default, field.default_factory
            namespace[field.name] = default if factory is msgspec.NODEFAULT else msgspec.field(default_factory=factory)
    config = model.__struct_config__
    make = cast("Callable[..., type[Struct]]", StructMeta if type(model) is StructMeta else type(model))
    rename = {name: wire for name, (wire, _) in changed.items()}
    return make(
        model.__name__, (target,), namespace, kw_only=True, rename=rename, tag_field=config.tag_field, tag=config.tag
    )
