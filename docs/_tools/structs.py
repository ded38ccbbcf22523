"""An extension of griffe: the signature of a msgspec Struct, from its fields and those of its base classes."""

from __future__ import annotations

from typing import Any

from griffe import Attribute, Class, Extension, Function, Module, Parameter, ParameterKind, Parameters

MADE_BY_A_CLIENT = {"Run", "Stream", "JSONStream", "Chat", "ChatStream", "Models", "Responses"}


class Structs(Extension):
    """Gives each Struct an `__init__`, so that the reference shows how one is made."""

    def on_package(self, *, pkg: Module, **kwargs: Any) -> None:
        """Visit all classes, now that their base classes can be found."""
        self._visit(pkg)

    def on_class(self, *, cls: Class, **kwargs: Any) -> None:
        """Take the constructor from classes that only the library makes, such as `Run` and `Stream`."""
        if cls.name.removeprefix("Async") in MADE_BY_A_CLIENT:
            cls.members.pop("__init__", None)

    def _visit(self, module: Module) -> None:
        for member in module.members.values():
            if isinstance(member, Module):
                self._visit(member)
            elif isinstance(member, Class) and _is_struct(member) and "__init__" not in member.members:
                member.labels.add("struct")
                init = Function("__init__", parameters=Parameters(*_parameters(member)), parent=member)
                member.set_member("__init__", init)


def _bases(kind: Class) -> list[Class]:
    """The class and those above it that are ours, the outermost first."""
    try:
        return [*reversed(kind.mro()), kind]
    except (ValueError, KeyError):
        return [kind]


def _is_struct(kind: Class) -> bool:
    return any(str(base).rpartition(".")[2] == "Struct" for each in _bases(kind) for base in each.bases)


def _parameters(kind: Class) -> list[Parameter]:
    found: dict[str, Parameter] = {"self": Parameter("self", kind=ParameterKind.positional_or_keyword)}
    for each in _bases(kind):
        keyword = str(each.keywords.get("kw_only", "False")) == "True"
        for name, field in each.members.items():
            if not isinstance(field, Attribute) or field.annotation is None or "ClassVar" in str(field.annotation):
                continue
            if name.startswith("_"):
                continue
            how = ParameterKind.keyword_only if keyword else ParameterKind.positional_or_keyword
            found[name] = Parameter(name, annotation=field.annotation, kind=how, default=field.value)
    return sorted(found.values(), key=lambda one: one.kind is ParameterKind.keyword_only)
