"""Hovering a public name, a field or a method shows a docstring: none is missing.

Public is what the three packages re-export, `llm_rest.wires.load`, and every class or type alias that a field, a property or
a method of those names in its annotations. A field has its docstring below the assignment; one that a class inherits or
overrides may have it in the base class. The program reads source, as editors do.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[1] / "llm_rest"
PACKAGES = (PACKAGE, PACKAGE / "server", PACKAGE / "responses")

INTERNAL = {"call.Caller", "call.PreparedCall", "run.ModelCalls", "options.Settings", "engine.Workers"}
INTERNAL |= {"loss_reports.CallSite", "hooks.WatchedCall", "target.Target"}
"""What methods of the library pass to each other; no user's program holds one, so the search stops there."""

CLASSES = re.compile(r"\b(?:[a-z]\w*\.)?_?[A-Z]\w+")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Definition(NamedTuple):
    """A class, a function or a value at the top of a module, or a field of a class."""

    where: Path
    name: str
    node: ast.stmt
    documented: bool


@cache
def module(path: Path) -> tuple[dict[str, Definition], dict[str, tuple[Path, str]]]:
    """What a module defines, and where it imports other names from, also those for type checkers only."""
    body = ast.parse(path.read_text()).body
    found = {one.name: one for one in defined(path, body)}
    imports: dict[str, tuple[Path, str]] = {}
    for node in chain(body, *(each.body for each in body if isinstance(each, ast.If))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            file = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
            imports |= {one.asname or one.name: (file, one.name) for one in node.names}
    return found, imports


def defined(where: Path, body: list[ast.stmt]) -> Iterator[Definition]:
    """What the statements of a body define; a value is documented by a string that follows it."""
    for node, following in zip_longest(body, body[1:]):
        documented = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        match node:
            case ast.If():
                yield from defined(where, [*node.body, *node.orelse])
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield Definition(where, node.name, node, bool(ast.get_docstring(node)))
            case ast.Assign(targets=[ast.Name(id=name) | ast.Attribute(attr=name)]):
                yield Definition(where, name, node, documented)
            case ast.AnnAssign(target=ast.Name(id=name) | ast.Attribute(attr=name)):
                yield Definition(where, name, node, documented)
            case _:
                pass


def resolved(where: Path, name: str) -> Definition | None:
    """The definition of a name in a module; `None` for what is not of this library."""
    found, imports = module(where) if where.exists() else ({}, {})
    alias, dot, name = name.rpartition(".")
    if dot:
        return resolved(imports[alias][0].parent / f"{alias}.py", name) if alias in imports else None
    return found.get(name) or (resolved(*imports[name]) if name in imports else None)


def named(where: Path, nodes: Iterable[ast.AST | None]) -> Iterator[Definition]:
    """The classes and type aliases in annotations, base classes or the value of a type alias."""
    for node in nodes:
        for name in CLASSES.findall(ast.unparse(node) if node else ""):
            one = resolved(where, name)
            if one and not (isinstance(one.node, ast.Assign) and isinstance(one.node.value, ast.Call)):
                yield one  # and no type variable


def bases(one: Definition) -> Iterator[Definition]:
    """A class and its base classes in this library, nearest first."""
    yield one
    for base in named(one.where, one.node.bases if isinstance(one.node, ast.ClassDef) else []):
        yield from bases(base)


def fields(one: Definition) -> dict[str, Definition]:
    """The public fields, attributes, properties and methods that a class itself defines."""
    found: dict[str, Definition] = {}
    body = one.node.body if isinstance(one.node, ast.ClassDef) else []
    made = (each.body for each in body if isinstance(each, Function) and each.name == "__init__")
    for field in chain(defined(one.where, body), *(defined(one.where, each) for each in made)):
        node = field.node
        local = node not in body and ast.unparse(node)[:5] != "self."
        constant = isinstance(node, ast.AnnAssign) and "ClassVar" in ast.unparse(node.annotation)
        documented = field.name in found and found[field.name].documented
        if not (field.name.startswith("_") or local or constant or documented):
            found[field.name] = field
    return found


def type_expressions(node: ast.stmt) -> Iterator[ast.AST | None]:
    """The annotations of a function or a field, and the value of a type alias."""
    match node:
        case ast.FunctionDef(args=every) | ast.AsyncFunctionDef(args=every):
            for argument in (*every.posonlyargs, *every.args, *every.kwonlyargs, every.vararg, every.kwarg):
                yield argument and argument.annotation
            yield node.returns
        case ast.AnnAssign():
            yield node.annotation
        case ast.Assign(value=ast.Subscript() | ast.BinOp() | ast.Name() as value):
            yield value
        case _:
            pass


def public(names: Iterable[Definition]) -> set[Definition]:
    """These names, and the classes and type aliases that annotations of theirs name."""
    found, todo = set[Definition](), [*names]
    while todo:
        one = todo.pop()
        if one not in found and f"{one.where.stem}.{one.name}" not in INTERNAL and not one.name.startswith("_"):
            found.add(one)
            for base in bases(one):
                todo += named(
                    base.where, chain(*(type_expressions(each.node) for each in [base, *fields(base).values()]))
                )
    return found


def missing(one: Definition) -> Iterator[str]:
    """A line about each docstring that a public name, or a field of one, lacks in the class that defines it."""
    if not one.documented:
        yield f"{one.where}:{one.node.lineno}: {one.name}"
    every = [fields(base) for base in bases(one)]
    for name in {name for each in every for name in each}:
        having = [each[name] for each in every if name in each]
        if not any(each.documented for each in having):  # an override needs none where the base class has one
            yield f"{having[-1].where}:{having[-1].node.lineno}: {one.name}.{name}"


def exported(package: Path) -> Iterator[Definition]:
    """The names that a package re-exports, also those that it loads on first use."""
    for name in re.findall(r"\b(\w+) as \1\b", (package / "__init__.py").read_text()):
        one = resolved(package / "__init__.py", name)
        assert one, f"{package.name}.{name} is not found"
        yield one


def test_no_public_name_or_field_lacks_a_docstring() -> None:
    load = resolved(PACKAGE / "wires" / "__init__.py", "load")
    assert load
    lines = {line for one in public([load, *chain(*map(exported, PACKAGES))]) for line in missing(one)}
    module.cache_clear()  # the syntax trees of the package, 100 MB
    assert not lines, "write what it holds, its unit and what None means:\n" + "\n".join(sorted(lines))
