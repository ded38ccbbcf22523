"""The allowed imports of each module, as data, and checked against every import statement of the package.

A new module needs a row here before anything else passes: choosing its row is choosing what it may know.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

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
    Row(("server",), ("*",), ("msgspec", "anyio", "starlette", "uvicorn")),
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


class Size(NamedTuple):
    """At most so many lines of `.py` in so many files; `goal` is what the design asks for, where that is not reached."""

    lines: int
    files: int
    goal: int | None = None


SIZES = {
    "": Size(2_160, 10),  # the modules at the top alone
    "responses": Size(4_620, 14),
    "wires": Size(20_675, 58, goal=15_700),
    "wires.openai_responses": Size(1_660, 9),
    "wires.openai_chat": Size(4_180, 9),
    "wires.anthropic_messages": Size(4_775, 10),
    "wires.ollama_chat": Size(1_980, 9),
    "wires.gemini_generate_content": Size(4_500, 9),
    "vendors": Size(2_845, 6),
    "transport": Size(3_170, 12, goal=2_300),
    "tools": Size(1_675, 11),
    "loop": Size(2_235, 11),
    "client": Size(7_200, 27),
    "conversation": Size(1_655, 7, goal=900),
    "policy": Size(2_160, 9, goal=1_200),
    "server": Size(3_425, 16, goal=2_600),
    "simulator": Size(1_895, 8, goal=1_300),
    "telemetry": Size(605, 1),  # 300 of code, the rest are tables
    "testing": Size(1_380, 7),
    "cli": Size(2_005, 17, goal=1_600),
    "bulk": Size(3_430, 13, goal=1_800),
}
"""The sizes of folders. A number goes down with the code and never up: what is added takes the place of something."""

TELEMETRY = "telemetry"
"""A module at the top with a size of its own."""

TESTS = {
    "": 12_760,  # the files at the top alone
    "bulk": 2_230,
    "clients": 1_900,
    "conversation": 2_230,
    "corpus": 1_060,
    "gateway": 4_490,
    "hostile": 2_700,
    "laws": 3_390,
    "loop": 2_490,
    "oracles": 510,
    "peers": 470,
    "policy": 1_610,
    "responses": 690,
    "structured": 1_420,
    "support": 660,
    "telemetry": 880,
    "testing": 580,
    "tools": 1_270,
    "transport": 2_780,
    "typing": 1_450,
    "vendors": 190,
    "wires": 4_540,
}
"""The lines of each folder of tests, 34,000 being the goal for all of them; these numbers go down as well."""

ROW_LINES = 12_450
"""The lines of the mapping rows, which are data: the text of the pages of the wires, and their cases."""

LONGEST, LONGEST_IN_WIRE = 450, 600
"""Lines of a file of code; tables and `types.py` may be longer."""

LONGER = {
    "errors": 530,
    "telemetry": 605,
    "responses.events": 750,
    "responses.items": 655,
    "unknown": 555,
    "vendors.dialects": 740,
    "vendors.models": 785,
    "vendors.rows": 835,
    "wires.schema": 475,
}
"""Files that are longer still, or tables; these numbers go down as well."""

EIGHT = {"types", "request", "messages", "content", "reasoning", "tools", "response", "stream"}
"""The modules of a wire, the same names in each; a wire has those that it needs."""

NINTH = {"wires.anthropic_messages.stream_encoder"}
"""The two stream machines of Anthropic's wire are 790 lines together, in one file more than a file of a wire may have."""

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


def lines_of(names: list[str]) -> int:
    """How many lines these modules have."""
    return sum(len(MODULES[name].read_text().splitlines()) for name in names)


@pytest.mark.parametrize("folder", SIZES)
def test_a_folder_is_no_larger_than_its_size(folder: str) -> None:
    inside = [
        name
        for name, path in MODULES.items()
        if (folder in prefixes(name) if folder else path.parent == PACKAGE and name != TELEMETRY)
    ]
    found, size = Size(lines_of(inside), len(inside)), SIZES[folder]
    assert found.lines <= size.lines, (
        "say it in fewer lines, or take something away: the size of a folder does not grow"
    )
    assert found.files <= size.files
    assert size.lines - found.lines < 100, "it became smaller: write the new size, so that it stays so"


def test_the_tests_are_no_longer_than_they_were() -> None:
    """What a law, a table or an oracle proves needs no test of its own: a new test takes the place of another."""
    here = Path(__file__).parent
    found = Counter(path.relative_to(here).parts[0] if path.parent != here else "" for path in here.rglob("*.py"))
    for name in found:
        files = (here / name).rglob("*.py") if name else here.glob("*.py")
        found[name] = sum(len(path.read_text().splitlines()) for path in files)
    assert found.keys() == TESTS.keys()
    assert {name: count for name, count in found.items() if count > TESTS[name]} == {}
    assert {name: count for name, count in found.items() if count + 500 < TESTS[name]} == {}, "write the new size"
    assert ROW_LINES - 500 < sum(len(path.read_text().splitlines()) for path in here.rglob("*.toml")) <= ROW_LINES


def test_tests_see_a_wire_from_outside() -> None:
    """Its converters and its `types`, so that its modules can be rewritten without a test that changes."""
    below = re.compile(rf"{NAME}\.wires\.({'|'.join(wires.NAMES)})\.(?!types)")
    assert [path for path in Path(__file__).parent.rglob("*.py") if below.search(path.read_text())] == []


def test_every_folder_has_a_size() -> None:
    assert {name.split(".")[0] for name, path in MODULES.items() if path.parent != PACKAGE} <= SIZES.keys()


def test_a_file_is_no_longer_than_one_can_hold() -> None:
    most = {name: LONGEST_IN_WIRE if wire_of(name) else LONGEST for name in MODULES if not name.endswith(".types")}
    long = {name: count for name in most if (count := lines_of([name])) > LONGER.get(name, most[name])}
    assert long == {}
    assert [name for name in LONGER if lines_of([name]) <= most[name]] == [], "these need no exception any more"


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
