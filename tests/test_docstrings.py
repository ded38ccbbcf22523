"""Hovering a public name, a field or a method shows a docstring: none is missing.

Public is what the three packages list in `__all__`, `llm_rest.wires.load`, and every class or type alias that a field, a
property or a method of those names in its annotations. A field has its docstring below the assignment; one that a class
inherits or overrides may have it in the base class. The program reads source, as editors do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("llm_rest", "llm_rest.server", "llm_rest.responses")

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Name(NamedTuple):
    module: str
    name: str


# What methods of the library pass to each other; no user's program holds one, so the search stops there.
INTERNAL = {
    Name("llm_rest.client.call", "Caller"),
    Name("llm_rest.client.call", "PreparedCall"),
    Name("llm_rest.client.run", "ModelCalls"),
    Name("llm_rest.client.options", "Settings"),
    Name("llm_rest.loop.engine", "Workers"),
    Name("llm_rest.client.loss_reports", "CallSite"),
    Name("llm_rest.client.hooks", "WatchedCall"),
    Name("llm_rest.client.target", "Target"),
}


class Field(NamedTuple):
    where: Name
    line: int
    documented: bool


class Module:
    """The names that a module defines or imports, also those for type checkers only."""

    def __init__(self, name: str) -> None:
        path = ROOT.joinpath(*name.split("."))
        package = path.is_dir()
        self.name = name
        self.path = path / "__init__.py" if package else path.with_suffix(".py")
        self.tree = ast.parse(self.path.read_text())
        self.imports: dict[str, Name | str] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.functions: dict[str, list[Function]] = {}
        self.values: dict[str, tuple[ast.stmt, bool]] = {}
        self.base = name.split(".") if package else name.split(".")[:-1]
        self._read(self.tree.body)

    def _read(self, body: list[ast.stmt]) -> None:
        for node, documented in with_docstrings(body):
            match node:
                case ast.If():
                    self._read([*node.body, *node.orelse])
                case ast.ImportFrom():
                    base = self.base[: len(self.base) + 1 - node.level] if node.level else []
                    module = ".".join([*base, *filter(None, [node.module])])
                    for one in node.names:
                        if is_module(f"{module}.{one.name}"):
                            self.imports[one.asname or one.name] = f"{module}.{one.name}"
                        elif is_module(module):
                            self.imports[one.asname or one.name] = Name(module, one.name)
                case ast.ClassDef():
                    self.classes[node.name] = node
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.functions.setdefault(node.name, []).append(node)
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    self.values.setdefault(name, (node, documented))
                case _:
                    pass


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return name.startswith("llm_rest") and (path.with_suffix(".py").exists() or (path / "__init__.py").exists())


@cache
def read(module: str) -> Module:
    return Module(module)


def with_docstrings(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, bool]]:
    """Each statement, and whether a string literal follows it."""
    for node, following in zip(body, [*body[1:], None], strict=True):
        match following:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node, bool(text.strip())
            case _:
                yield node, False


@cache
def defined(name: Name) -> Name | None:
    """Where a name that a module has is defined; `None` for what is not of this library."""
    module = read(name.module)
    if name.name in module.classes or name.name in module.functions or name.name in module.values:
        return name
    found = module.imports.get(name.name)
    return defined(found) if isinstance(found, Name) else None


def named(expression: ast.expr | None, module: Module) -> Iterator[Name]:
    """The names of this library in an annotation, a base class or the value of a type alias."""
    match expression:
        case None | ast.Subscript(value=ast.Name(id="Literal")):
            return
        case ast.Name(id=name):
            found = defined(Name(module.name, name))
            if found is not None:
                yield found
        case ast.Attribute(value=ast.Name(id=alias), attr=name) if isinstance(module.imports.get(alias), str):
            found = defined(Name(str(module.imports[alias]), name))
            if found is not None:
                yield found
        case ast.Constant(value=str(text)):
            with suppress(SyntaxError):  # a value that is no annotation
                yield from named(ast.parse(text, mode="eval").body, module)
        case _:
            for child in ast.iter_child_nodes(expression):
                if isinstance(child, ast.expr):
                    yield from named(child, module)


def classes_in(names: Iterable[Name], seen: set[Name]) -> Iterator[Name]:
    """The classes among these names, and in what the type aliases among them stand for."""
    for name in names:
        module = read(name.module)
        if name.name in module.classes:
            yield name
        elif name.name in module.values and name not in seen:
            seen.add(name)
            node = module.values[name.name][0]
            if isinstance(node, ast.Assign | ast.AnnAssign):
                yield from classes_in(named(node.value, module), seen)


@cache
def bases(name: Name) -> tuple[Name, ...]:
    """The class and its base classes in this library, nearest first."""
    module = read(name.module)
    found = [name]
    for base in classes_in((one for each in module.classes[name.name].bases for one in named(each, module)), set()):
        found += [one for one in bases(base) if one not in found]
    return tuple(found)


@cache
def fields(name: Name) -> dict[str, Field]:
    """The public fields, attributes, properties and methods that a class itself defines."""
    found: dict[str, Field] = {}

    def add(field: str, node: ast.stmt, documented: bool) -> None:
        known = found.get(field)
        if not field.startswith("_"):
            line = known.line if known else node.lineno
            found[field] = Field(name, line, documented or (known is not None and known.documented))

    for node, documented in with_docstrings(read(name.module).classes[name.name].body):
        match node:
            case ast.AnnAssign(target=ast.Name(id=field)):
                if "ClassVar" not in ast.unparse(node.annotation):
                    add(field, node, documented)
            case ast.Assign(targets=[ast.Name(id=field)]):
                add(field, node, documented)
            case ast.FunctionDef(name="__init__"):
                for inner, below in with_docstrings(node.body):
                    match inner:
                        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=field)]):
                            add(field, inner, below)
                        case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=field)):
                            add(field, inner, below)
                        case ast.Assign(targets=[ast.Tuple(elts=several)]):
                            for one in several:  # editors show no docstring for these
                                if isinstance(one, ast.Attribute):
                                    add(one.attr, inner, False)
                        case _:
                            pass
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                add(node.name, node, bool(ast.get_docstring(node)))
            case _:
                pass
    return found


def annotated(name: Name) -> Iterator[ast.expr | None]:
    """The annotations of the public fields and methods that a class itself defines."""
    for node in read(name.module).classes[name.name].body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=field)) if not field.startswith("_"):
                yield node.annotation
            case ast.FunctionDef(name=method) | ast.AsyncFunctionDef(name=method) if not method.startswith("_"):
                yield from signature(node)
            case _:
                pass


def signature(function: Function) -> Iterator[ast.expr | None]:
    every = function.args
    for argument in (*every.posonlyargs, *every.args, *every.kwonlyargs, every.vararg, every.kwarg):
        yield argument.annotation if argument else None
    yield function.returns


def exported(package: str) -> list[Name]:
    """Where the names that a package re-exports are defined."""
    found = [defined(Name(package, name)) for name in read(package).imports]
    return [one for one in found if one is not None]


@cache
def public() -> frozenset[Name]:
    """Every public name, and the classes and type aliases that annotations of the public classes and functions name."""
    names = {one for package in PACKAGES for one in exported(package)} | {Name("llm_rest.wires", "load")}
    aliases: set[Name] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        module = read(name.module)
        used: list[ast.expr | None] = []
        for function in module.functions.get(name.name, ()):
            used += signature(function)
        found = list(classes_in((one for each in used for one in named(each, module)), aliases))
        for one in classes_in([name], aliases):
            for base in bases(one):
                inner = read(base.module)
                found += classes_in((other for each in annotated(base) for other in named(each, inner)), aliases)
            found.append(one)
        for one in found:
            if one not in names | INTERNAL and not one.name.startswith("_"):
                names.add(one)
                todo.append(one)
    return frozenset(names | {one for one in aliases if is_alias(one)})


def is_alias(name: Name) -> bool:
    """Whether a value that annotations name is a public type alias, and no type variable."""
    node = read(name.module).values[name.name][0]
    variable = isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
    return not variable and not name.name.startswith("_") and "._" not in name.module


def missing(name: Name) -> Iterator[tuple[str, str]]:
    """The module and a line about each docstring that a public name lacks, in the class that defines it."""
    module = read(name.module)
    if name.name in module.values and name.name not in module.classes:
        node, documented = module.values[name.name]
        if not documented:
            yield report(name, node.lineno, name.name)
    for function in module.functions.get(name.name, [])[-1:]:
        if not ast.get_docstring(function):
            yield report(name, function.lineno, name.name)
    if name.name not in module.classes:
        return
    if not ast.get_docstring(module.classes[name.name]):
        yield report(name, module.classes[name.name].lineno, name.name)
    every = [fields(base) for base in bases(name)]
    for field in dict.fromkeys(field for each in every for field in each):
        having = [each[field] for each in every if field in each]
        if not any(one.documented for one in having):
            first = having[-1]  # an override needs none where the base class has one
            yield report(first.where, first.line, f"{first.where.name}.{field}")


def report(name: Name, line: int, what: str) -> tuple[str, str]:
    return name.module, f"{read(name.module).path.relative_to(ROOT)}:{line}: {what} has no docstring"


@cache
def all_missing() -> dict[str, list[str]]:
    """What is missing, by module."""
    found = {one for name in public() for one in missing(name)}
    return {module: sorted(line for other, line in found if other == module) for module in {one for one, _ in found}}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_of_all_is_looked_at(package: str) -> None:
    assert set(exported(package)) <= public()


def test_no_public_name_or_field_lacks_a_docstring() -> None:
    lines = [line for each in all_missing().values() for line in each]
    assert not lines, "write what it holds, its unit and what None means:\n" + "\n".join(sorted(lines))


# The program itself: each way in which a docstring may stand, and in which it may be missing.

SOURCE = '''
class Base:
    """A base class."""

    code: str = "unknown"
    """Documented here, for the classes that override it."""
    kind: str = ""

    def method(self) -> None: ...


class Public(Base):
    code = "other"
    size: int
    """Bytes."""
    width: int

    def __init__(self) -> None:
        self.set_here = 1
        """Documented."""
        self.bare = 2

    @property
    def shown(self) -> Result:
        """A result."""

    @property
    def silent(self) -> int: ...

    def _private(self) -> None: ...


class Result:
    """What a method gives."""

    seconds: float
    _own: float
'''


def test_the_program_finds_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "llm_rest").mkdir()
    (tmp_path / "llm_rest" / "docstrings_sample.py").write_text(SOURCE)
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    sample = "llm_rest.docstrings_sample"
    lines = {line.split(": ")[1].split()[0] for name in ("Public", "Result") for _, line in missing(Name(sample, name))}
    assert lines == {
        "Public",
        "Public.width",
        "Public.bare",
        "Public.silent",
        "Base.kind",
        "Base.method",
        "Result.seconds",
    }
    assert list(classes_in(named(ast.parse("list['Result']", mode="eval").body, read(sample)), set())) == [
        Name(sample, "Result")
    ]
