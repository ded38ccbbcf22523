"""The allowed imports of each module, as data, and checked against every import statement of the package.

A new module needs a row here before anything else passes: choosing its row is choosing what it may know.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from llm_rest import wires
from llm_rest.vendors.rows import VENDORS
from tests.test_installs import REQUIREMENTS

PACKAGE = Path(__file__).parents[1] / "llm_rest"
NAME = PACKAGE.name

FOUNDATION = ("unknown", "shapes", "losses", "errors", "vendor_errors", "suggestions")
PURE = (*FOUNDATION, "responses", "vendors.dialects")
TABLES = ("transport.framing", "vendors.rows", "vendors.models")
TOOLS = ("tools", "loop")


@dataclass(frozen=True)
class Row:
    """Modules with the same allowed imports: of this package, and of other distributions."""

    modules: tuple[str, ...]
    ours: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ("msgspec",)


ROWS = (
    Row(FOUNDATION, FOUNDATION),
    Row(("responses",), FOUNDATION),
    Row(("vendors",), (), ()),
    Row(("vendors.dialects",)),
    # One wire never imports another: what two of them need is a fact of Responses or a dialect.
    Row(("wires",), PURE),
    Row(("transport.framing",), ("errors",), ()),
    Row(("transport.retry",), ("errors",)),
    Row(("vendors.rows",), ("vendors.dialects", "errors")),
    # `check(request, capabilities)` reads a Responses request.
    Row(("vendors.models",), ("vendors.dialects", "errors", "responses", "unknown", "losses")),
    Row(("vendors.auth", "vendors.single_flight"), ("errors", "vendors", "sync"), ("msgspec", "anyio")),
    Row(("sync",), (), ()),
    Row(("sqlite",), ("errors",), ()),
    # h11 and certifi come with httpx, whose transports are entered where a tool intercepts them. trio is named where it runs.
    Row(("transport",), ("errors", "sync"), ("msgspec", "httpx", "httpcore", "h11", "anyio", "trio", "certifi")),
    Row(
        ("client",),
        (
            *PURE,
            "wires",
            *TABLES,
            "vendors.auth",
            "sync",
            "transport",
            *TOOLS,
            "conversation",
            "policy",
            "bulk",
            "telemetry",
        ),
    ),
    Row(("telemetry",), (*PURE, "client", *TOOLS), ("msgspec", "opentelemetry")),
    # typing_extensions is for type checkers alone: it is not imported when the program runs.
    Row(
        TOOLS,
        (*FOUNDATION, "responses", "vendors.models", "wires.schema", "sync", *TOOLS),
        ("msgspec", "anyio", "typing_extensions"),
    ),
    # A chat is driven through a client; the data, its limits and its stores import items alone.
    Row(
        ("conversation",), (*PURE, "wires", "vendors.models", "sync", "sqlite", *TOOLS, "client"), ("msgspec", "anyio")
    ),
    Row(("conversation.prompt_cache",), (*PURE, "wires")),
    # What holds back, counts and prices the requests of a client, chooses its model and keeps answers; loaded where it is used.
    Row(("policy",), (*PURE, "vendors", "transport", "sync", "sqlite", "client")),
    # Many calls of a client; its workers are those of the tool loop.
    Row(("bulk",), (*PURE, "wires", "vendors.rows", "sync", "sqlite", "transport", "loop", "client", "policy")),
    # Each actor of Ray Data limits its requests in its own loop; pyarrow comes with Ray and is imported by name.
    Row(("bulk.ray",), (*FOUNDATION, "bulk", "client", "policy"), ("msgspec", "anyio")),
    # The simulated model is a handler of the server, and needs nothing of what serves it over a socket.
    Row(
        ("simulator",),
        (*PURE, "wires", "vendors.models", "sync", "tools.schema", "loop", "conversation.prompt_cache", "server"),
    ),
    Row(("server",), ("*",), ("msgspec", "anyio", "starlette", "uvicorn", "h11")),
    # What tests are written with; nothing of the package needs it.
    Row(
        ("testing",),
        ("sync", *FOUNDATION, "responses", "wires", "vendors", "transport", "client", "simulator", "server"),
        ("msgspec", "pytest", "hypothesis"),
    ),
    Row(("cli", "__main__"), ("*",), ("msgspec", "anyio", "rich")),
    # The package itself exports names of everything, and only the outermost modules import it.
    Row(("",), ("*",), ()),
)


CEILING = 500_000
"""Tokens of the whole package: names, numbers, strings and operators, as `tokenize` reads them."""

EIGHT = {"types", "request", "messages", "content", "reasoning", "tools", "response", "stream"}
"""The modules of a wire, the same names in each; a wire has those that it needs."""

NINTH = {"wires.anthropic_messages.stream_encoder", "wires.openai_chat.hosts", "wires.openai_chat.media"}
"""A ninth module where a wire has a ninth subject: the events of a stream; whose document it was; images, sound and
tools that hosts ran."""

UNDECLARED = {"hypothesis", "pytest", "trio", "typing_extensions"}
"""Imported only by what brings them: tests that use our strategies, pytest that loads our plugin, a program on that event loop,
type checkers."""

NETWORK = {"httpx", "httpx2", "httpcore", "h11", "anyio", "asyncio", "socket", "ssl", "http", "urllib.request"}


@dataclass(frozen=True)
class Import:
    """One imported module as one statement names it."""

    module: str
    target: str
    line: int
    indented: bool

    def __str__(self) -> str:
        return f"{self.module.replace('.', '/') or '__init__'}.py:{self.line} imports {self.target}"


def modules() -> dict[str, Path]:
    """Our modules by their name below the package; the package itself is the empty name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, nodes: Iterable[ast.AST], known: Iterable[str], *, package: bool) -> Iterator[Import]:
    """Every import among these nodes of a module."""
    here = name.split(".") if name else []
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, alias.name, node.lineno, node.col_offset > 0)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = node.level - (1 if package else 0)
                base = ".".join((NAME, *here[: len(here) - up], *filter(None, [base])))
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                # `from .wires import openai_chat` imports a module, `from .errors import LLMError` a name of one.
                target = whole if whole.removeprefix(f"{NAME}.") in known else base
                yield Import(name, target, node.lineno, node.col_offset > 0)


def prefixes(module: str) -> list[str]:
    """The module and the packages it is in, the innermost first; the empty name is the package itself alone."""
    parts = module.split(".")
    return [".".join(parts[:end]) for end in range(len(parts), 0, -1)]


def row_of(module: str) -> Row | None:
    """The row of the module: the one that names it, or else the innermost package that one names."""
    return next((row for name in prefixes(module) for row in ROWS if name in row.modules), None)


def wire_of(module: str) -> str | None:
    """The wire package a module belongs to; `wires` itself, and what its wires share, belong to none."""
    parts = module.split(".")
    return parts[1] if parts[0] == "wires" and len(parts) > 1 and parts[1] in wires.NAMES else None


def faults(found: Import) -> Iterator[str]:
    """What is wrong with one import, according to the table."""
    row = row_of(found.module)
    if row is None:
        return
    top = found.target.split(".")[0]
    if top == NAME:
        target = found.target.removeprefix(NAME).removeprefix(".")
        if row_of(target) is not row and not {*prefixes(target), "*"} & {*row.ours}:
            yield f"{found}: not in its row"
        theirs, mine = wire_of(target), wire_of(found.module)
        if theirs and mine and theirs != mine:
            yield f"{found}: one wire imports another"
    elif top not in sys.stdlib_module_names and top not in row.theirs:
        yield f"{found}: not a distribution of its row"


MODULES = modules()


def nodes(name: str) -> Iterator[ast.AST]:
    """All nodes of a module."""
    return ast.walk(ast.parse(MODULES[name].read_text()))


@cache
def all_imports() -> list[Import]:
    """Every import statement of the package: at the top, under TYPE_CHECKING and inside functions alike."""
    return [
        found
        for name, path in MODULES.items()
        for found in imports(name, nodes(name), MODULES, package=path.name == "__init__.py")
    ]


def test_every_module_has_a_row() -> None:
    assert [name for name in MODULES if row_of(name) is None] == []


def test_every_import_is_in_the_row_of_its_module() -> None:
    assert [fault for found in all_imports() for fault in faults(found)] == []


def test_every_distribution_that_is_imported_is_declared_by_name() -> None:
    found = {one.target.partition(".")[0] for one in all_imports()} - {NAME, *sys.stdlib_module_names}
    declared = {re.split("[^A-Za-z0-9_-]", requirement)[0] for requirement in REQUIREMENTS}
    assert {"opentelemetry-api" if name == "opentelemetry" else name for name in found} - UNDECLARED <= declared


def test_wires_and_what_is_below_them_import_neither_network_nor_clock() -> None:
    forbidden = NETWORK | {"time", "random", "uuid", "secrets", "os"}
    names = {*PURE, "wires", "transport.framing"}
    pure = [found for found in all_imports() if names & {*prefixes(found.module)}]
    assert [str(f) for f in pure if f.target in forbidden or f.target.split(".")[0] in forbidden] == []


def test_importing_goes_one_way() -> None:
    """No cycle between modules when they are loaded; imports inside functions and for type checkers may point back."""
    edges: dict[str, set[str]] = {name: set() for name in MODULES}
    for found in all_imports():
        name, target = found.module, found.target.removeprefix(f"{NAME}.")
        together = f"{target}.".startswith(f"{name}.") or name.startswith(f"{target}.")
        # A package and the modules inside it are loaded together; their order is theirs to arrange.
        if found.target.startswith(f"{NAME}.") and not found.indented and not together:
            edges[name].add(target)
    TopologicalSorter(edges).prepare()  # raises CycleError


COUNTED = {tokenize.NAME, tokenize.NUMBER, tokenize.STRING, tokenize.OP, getattr(tokenize, "FSTRING_START", -1)}


def test_the_package_is_small_enough_to_read() -> None:
    count = 0
    for path in MODULES.values():
        with path.open("rb") as file:
            count += sum(token.type in COUNTED for token in tokenize.tokenize(file.readline))
    assert count <= CEILING, "say it with less, or take something away"


def test_tests_see_a_wire_from_outside() -> None:
    """Its converters and its `types`, so that its modules can be rewritten without a test that changes."""
    below = re.compile(rf"{NAME}\.wires\.({'|'.join(wires.NAMES)})\.(?!types)")
    assert [path for path in Path(__file__).parent.rglob("*.py") if below.search(path.read_text())] == []


def test_every_wire_has_the_same_modules() -> None:
    found = {name for name in MODULES if wire_of(name) and name.count(".") == 2}
    assert {name for name in found if name.split(".")[2] not in EIGHT} == NINTH


def vendor_conditions(among: Iterable[ast.AST], vendors: set[str]) -> Iterator[int]:
    """The lines where a branch compares the name of a vendor."""
    for node in among:
        match node:
            case ast.Compare(left=left, comparators=others):
                asked = [left, *others]
            case ast.Match(subject=subject, cases=cases):
                asked = [subject, *(case.pattern for case in cases)]
            case _:
                continue
        for word in (n for side in asked for n in ast.walk(side)):
            if getattr(word, "value", None) in vendors or "vendor" in (
                getattr(word, "id", ""),
                getattr(word, "attr", ""),
            ):
                yield node.lineno
                break


def test_converters_read_facts_and_never_the_name_of_a_vendor() -> None:
    converters = [name for name in MODULES if name.split(".")[0] in ("wires", "responses")]
    assert [(name, line) for name in converters for line in vendor_conditions(nodes(name), set(VENDORS))] == []


@pytest.mark.parametrize(
    ("module", "statement", "fault"),
    [
        ("wires.openai_chat.request", "from ...client import Client", "not in its row"),
        ("wires.openai_chat.request", "from ..anthropic_messages import types", "one wire imports another"),
        ("wires.openai_chat.request", "def f():\n    import anyio", "not a distribution of its row"),
        ("responses.items", "if TYPE_CHECKING:\n    from llm_rest import wires", "not in its row"),
        ("loop", "from .client import Client", "not in its row"),
        ("wires.openai_chat.request", "from ...vendors.models import check", "not in its row"),
        ("vendors.rows", "import httpx", "not a distribution of its row"),
        ("client.call", "from .. import transport", None),
        ("wires.openai_chat.request", "from . import types", None),
        ("wires.openai_chat.request", "from ...responses.items import Message", None),
        ("cli", "from . import server\nimport argparse", None),
    ],
)
def test_the_table_finds_an_import_that_is_out_of_place(module: str, statement: str, fault: str | None) -> None:
    known = "client transport vendors.models wires wires.anthropic_messages wires.openai_chat responses server"
    known += " wires.anthropic_messages.types wires.openai_chat.types responses.items"
    nodes = ast.walk(ast.parse(statement))
    found = [f for i in imports(module, nodes, known.split(), package=False) for f in faults(i)]
    assert [fault] == [f.partition(": ")[2] for f in found] if fault else found == []


@pytest.mark.parametrize("code", ["vendor == x", "name in ('groq', 'x')", "match name:\n    case 'groq': pass"])
def test_a_condition_on_a_vendor_is_found(code: str) -> None:
    assert list(vendor_conditions(ast.walk(ast.parse(code)), {"groq"})) != []
