"""What a run offers, how a call is prepared, and how it runs: on asyncio, on trio and on threads."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import anyio
import anyio.lowlevel
import msgspec
import pytest

from llm_rest import (
    MCP,
    ConfigError,
    FunctionTool,
    ToolArgumentsError,
    ToolContext,
    ToolExecutor,
    ToolFailedError,
    ToolNotFoundError,
    ToolRegistry,
    Unknown,
    tool,
)
from llm_rest.responses.tools import CustomTool, McpTool, NamespaceTool, ShellTool, WebSearchTool
from llm_rest.tools import Prepared, Tool, Toolbox, ToolFacts


@tool
def add(a: int, b: int = 1) -> int:
    return a + b


async def wait(seconds: float) -> str:
    await anyio.sleep(seconds)
    return f"waited {seconds}"


class Unlisted:
    """An executor of another program's tools."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def has_tool(self, name: str) -> bool:
        return name in ("search", "grep", "shell")

    def definition(self, name: str) -> FunctionTool:
        properties = {"q": {"type": "string"}, "n": {"type": "integer"}}
        return FunctionTool(name=name, parameters={"type": "object", "properties": properties, "required": ["q"]})

    def execute(self, name: str, arguments: dict[str, Any]) -> Any:
        self.calls.append(name)
        return {"found": arguments}


class Remote(Unlisted):
    names = ("search",)


class ByMethod(Unlisted):
    def names(self) -> list[str]:
        return ["grep"]


class AsyncRemote(Remote):
    async def execute(self, name: str, arguments: dict[str, Any]) -> Any:
        await anyio.lowlevel.checkpoint()
        return super().execute(name, arguments)


Run = Callable[..., Any]


@pytest.fixture(params=["asyncio", "trio", "sync"])
def run(request: pytest.FixtureRequest) -> Run:
    def run(box: Toolbox, name: str, arguments: str = "{}", context: ToolContext | None = None) -> Any:
        prepared = box.prepare(name, arguments)
        assert isinstance(prepared, Prepared), prepared
        if request.param == "sync":
            return box.run_sync(prepared, context)
        return anyio.run(box.run, prepared, context, backend=request.param)

    return run


# --- what is offered --------------------------------------------------------------------------------------------------


def test_a_toolbox_is_made_of_anything_that_is_a_tool() -> None:
    given = {"type": "function", "name": "given", "parameters": {"type": "object"}}
    nested = {"type": "function", "function": {"name": "nested"}, "timeout": 5}
    new = {"type": "new_kind", "timeout": 5}
    box = Toolbox(
        [add, wait, given, nested, FunctionTool(name="plain"), WebSearchTool(), MCP("wiki", "https://x/mcp"), new]
    )
    assert box.names == ("add", "wait", "given", "nested", "plain")
    assert [type(one) for one in box.definitions] == [*[FunctionTool] * 5, WebSearchTool, McpTool, Unknown]
    assert box.definitions[3] == FunctionTool(name="nested")
    assert box.definitions[-1] == new, "what stands beside a kind we do not know is the vendor's"
    assert box.facts("add") == ToolFacts(name="add", runs=True)
    assert box.facts("nested") == ToolFacts(name="nested", timeout=5)
    assert box.facts("web_search") is None


def test_an_executor_runs_the_definitions_it_has_a_tool_for() -> None:
    box = Toolbox(["grep", FunctionTool(name="search"), FunctionTool(name="other"), ShellTool()], executor=Remote())
    assert {name: box.facts(name).runs for name in box.names} == {  # type: ignore[union-attr]
        "grep": True,
        "search": True,
        "other": False,
        "shell": True,
    }


def test_an_executor_in_the_list_offers_what_it_names() -> None:
    assert isinstance(Remote(), ToolExecutor)
    assert Toolbox([Remote(), add]).names == ("search", "add")
    assert Toolbox([ByMethod()]).names == ("grep",)
    assert Toolbox(["grep"], Unlisted()).names == ("grep",)
    with pytest.raises(ConfigError, match="Unlisted does not list its tools"):
        Toolbox([Unlisted()])


def test_a_registry_keeps_the_options_of_its_tools() -> None:
    registry = ToolRegistry(add)

    @registry.register
    def later(x: int) -> int:
        return x

    @registry.register(blocking=False, name="slow")
    def named() -> str:
        return "done"

    registry.register(wait, blocking=False, timeout=3)
    assert registry.names == ("add", "later", "slow", "wait")
    assert (later.name, named.blocking) == ("later", False)
    for box in (Toolbox([registry]), Toolbox(["wait"], registry), Toolbox([FunctionTool(name="wait")], registry)):
        assert box.facts("wait") == ToolFacts(name="wait", blocking=False, timeout=3, runs=True, is_async=True)
    asked = {"type": "function", "name": "wait", "needs_approval": True}
    facts = Toolbox([asked], registry).facts("wait")
    assert facts == ToolFacts(name="wait", blocking=False, timeout=3, needs_approval=True, runs=True, is_async=True)


def test_the_functions_of_a_namespace_are_run_by_name() -> None:
    names = NamespaceTool(name="files", tools=[FunctionTool(name="search"), CustomTool(name="grep")])
    box = Toolbox([names], Remote())
    assert (box.names, box.definitions) == (("search", "grep"), [names])


INVALID: list[tuple[list[Any], str]] = [
    ([add, FunctionTool(name="add")], "two tools are called 'add'"),
    ([{"type": "web_search", "blocking": False}], "web_search is run by the vendor and cannot be non-blocking"),
    ([{"type": "code_interpreter", "blocking": False}], "background=True"),
    (
        [{"type": "function", "name": "a", "timeout": "soon"}],
        "tool 'a': timeout: expected a number of seconds or \"none\", got 'soon'",
    ),
    ([{"type": "function", "name": "a", "timeout": 0}], "tool 'a': timeout: expected `float` > 0.0"),
    ([{"name": "a", "input_schema": {}}], "no definition of a tool: it has no type"),
    ([{"type": "function"}], "no definition of a tool"),
    (["grep"], "no executor has a tool called 'grep'"),
    ([3], "a int is no tool"),
]


def test_an_invalid_tool_is_refused_before_anything_is_sent() -> None:
    """BUGS 41"""
    for tools, words in INVALID:
        with pytest.raises(ConfigError) as caught:
            Toolbox(tools)
        assert words in str(caught.value)


def test_a_method_needs_its_object() -> None:
    class Station:
        @tool
        def read(self, hour: int) -> int:
            return hour

        def plain(self, hour: int) -> int:
            return hour

    for lacking in (Station.read, Station.plain):
        with pytest.raises(ConfigError, match=r"take it from an object: thing\."):
            Toolbox([lacking])
    assert Toolbox([Station().read]).names == ("read",)


def test_names_are_given_once_in_a_registry() -> None:
    """BUGS 41"""
    with pytest.raises(ConfigError, match="'add' already"):
        ToolRegistry(add, add)
    with pytest.raises(ConfigError, match="is a tool already"):
        ToolRegistry().register(add, blocking=False)


# --- calls ------------------------------------------------------------------------------------------------------------


PROBLEMS: list[tuple[str, str, list[str]]] = [
    ("add", '{"a": "1"}', ['$.a: expected an integer, got "1"']),
    ("add", "", ["$.a: missing, and required"]),
    ("add", " null", ["$.a: missing, and required"]),
    ("ad", "{}", ["there is no tool called 'ad'; did you mean add? there are add, search"]),
    ("xyz", "{}", ["there is no tool called 'xyz'; there are add, search"]),
    ("search", '{"q": 1}', ["$.q: expected a string, got 1"]),
    ("add", "[1]", ["the arguments must be a JSON object, not [1]"]),
    (
        "add",
        '{"a": 1,}',
        ["the arguments are no valid JSON: trailing comma in object at byte 8, between '{\"a\": 1,' and '}'"],
    ),
    ("add", '{"a": "æøå', ['the arguments are no valid JSON: they end too early, after \'{"a": "æøå\'']),
    ("add", '{"a": 1e999}', ["the arguments are no valid JSON: Number out of range - at `$[...]`"]),
    ("add", '{"a":' + "[" * 1000, ["the arguments are no valid JSON: $: nested deeper than 400 levels"]),
]
"""The name and the arguments of a call, and what is wrong with it."""


def test_an_invalid_call_has_its_problems_listed() -> None:
    box = Toolbox([add, Remote()])
    assert [(name, arguments, box.prepare(name, arguments)) for name, arguments, _ in PROBLEMS] == PROBLEMS
    assert Toolbox().prepare("add", "") == ["there is no tool called 'add'; there are none"]


def test_functions_of_every_kind_run(run: Run) -> None:
    async def double(x: int) -> int:
        return 2 * x

    @functools.wraps(double)
    def passed_on(*args: Any, **kwargs: Any) -> Awaitable[int]:
        return double(*args, **kwargs)

    class Times:
        def __init__(self, n: int) -> None:
            self.n = n

        async def __call__(self, x: int) -> int:
            return self.n * x

    box = Toolbox(
        [add, double, tool(name="passed_on")(passed_on), Times(3), tool(name="p")(functools.partial(double, x=5))]
    )
    assert [run(box, name, '{"x": 2}') for name in ("double", "passed_on", "Times")] == ["4", "4", "6"]
    assert run(box, "add", '{"a": 2}') == "3"
    assert run(box, "p") == "10"


@pytest.mark.parametrize("remote", [Remote, AsyncRemote])
def test_an_executor_gets_plain_arguments(run: Run, remote: type[Remote]) -> None:
    executor = remote()
    box = Toolbox(["search", CustomTool(name="grep"), ShellTool()], executor)
    assert run(box, "search", '{"q": "x", "n": null}') == '{"found":{"q":"x"}}'
    assert run(box, "grep", "free {text") == '{"found":{"input":"free {text"}}'
    assert run(box, "shell", '{"commands": ["ls"]}') == '{"found":{"commands":["ls"]}}'
    assert executor.calls == ["search", "grep", "shell"]


def test_a_tool_gets_the_context_of_its_call(run: Run) -> None:
    def who(context: ToolContext | None = None) -> str:
        assert context is not None
        return f"{context.execution_id}/{context.call_id}/{context.run}"

    assert run(Toolbox([who]), "who", "{}", ToolContext(execution_id="e", call_id="c", run="r")) == "e/c/r"
    assert run(Toolbox([who]), "who") == "//None"


class Shop(msgspec.Struct):
    name: str


def test_a_tool_gets_the_deps_of_its_context_which_may_be_optional_or_of_any_type(run: Run) -> None:
    def where(context: ToolContext[Shop]) -> str:
        return context.deps.name

    def maybe(context: ToolContext[Shop | None]) -> str:
        return "none" if context.deps is None else context.deps.name

    def whatever(context: Annotated[ToolContext, "its call"]) -> str:
        return f"{context.deps}"

    box = Toolbox([where, maybe, whatever])
    assert "context" not in Tool(where).parameters["properties"]
    assert box.needs_deps == ["where"]
    assert run(box, "maybe") == run(box, "maybe", "{}", ToolContext(call_id="c")) == "none"
    for name in ("where", "maybe"):
        assert run(box, name, "{}", ToolContext(deps=Shop("Skis"))) == "Skis"
    assert run(box, "whatever", "{}", ToolContext(deps=0)) == "0"
    for name in ("where", "whatever"):
        with pytest.raises(ToolFailedError, match=r"ToolContext.deps, and none were passed \(give deps= to the run"):
            run(box, name)


def test_the_repr_of_a_context_does_not_show_the_deps() -> None:
    assert repr(ToolContext(call_id="c", deps="secret")) == "ToolContext(execution_id='', call_id='c')"


def test_a_registry_executes_without_a_run() -> None:
    registry = ToolRegistry(add, wait)
    assert registry.execute("add", {"a": 1}) == 2
    assert anyio.run(registry.execute, "wait", {"seconds": 0}) == "waited 0.0"
    with pytest.raises(ToolArgumentsError, match=r"add: \$\.a: expected an integer"):
        registry.execute("add", {"a": "x"})
    with pytest.raises(ToolNotFoundError, match=r"there are add, wait"):
        registry.execute("sub", {})


class Odd(Exception):
    pass


OF_TASKS = (asyncio.CancelledError, GeneratorExit, BaseException)


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (ValueError("no such city"), "f failed with ValueError: no such city"),
        (Odd(), "f failed with Odd"),
        (Odd("two\nlines, key sk-abcdefghijklmnop"), "f failed with Odd: two lines, key sk-[redacted]"),
        (StopIteration(), "f failed with StopIteration"),
        (SystemExit(2), "f failed with SystemExit: 2"),
        (TimeoutError("slow"), "f failed with TimeoutError: slow"),
        *((kind("odd"), f"f failed with {kind.__name__}: odd") for kind in OF_TASKS),
        (ToolFailedError("The station is closed."), "The station is closed."),
        (ToolNotFoundError("inner"), "f failed with ToolNotFoundError: inner"),
        (
            ExceptionGroup("two", [KeyError("city"), ValueError("no")]),
            "f failed with ExceptionGroup: two (2 sub-exceptions); KeyError: 'city'; ValueError: no",
        ),
        (ExceptionGroup("a", [ExceptionGroup("b", [KeyError("city")])]), "f failed with KeyError: 'city'"),
    ],
)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_tool_error_is_a_message_without_traceback_and_secrets(
    run: Run, problem: BaseException, said: str, kind: str
) -> None:
    def f() -> None:
        raise problem

    async def g() -> None:
        raise problem

    if kind == "async" and type(problem) in OF_TASKS:
        pytest.skip("ends the task")
    if isinstance(problem, StopIteration) and kind == "async":
        said = "f failed with RuntimeError: coroutine raised StopIteration"
    with pytest.raises(ToolFailedError) as caught:
        run(Toolbox([f if kind == "sync" else tool(name="f")(g)]), "f")
    assert caught.value.message == said
    assert caught.value is problem or caught.value.__cause__ is not None, "programmers find the first exception"


def test_a_tool_without_an_implementation_fails(run: Run) -> None:
    with pytest.raises(ToolFailedError, match="no executor runs f"):
        run(Toolbox([FunctionTool(name="f")]), "f")
