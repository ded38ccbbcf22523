"""What a call takes as its input, its tools and its URL: what people have, on every wire and for both kinds of client."""

from __future__ import annotations

from collections import UserList, deque
from pathlib import Path
from typing import Any, cast

import pytest

from llm_rest import Client, ConfigError, LossError, Message, ToolRegistry, image, tool
from llm_rest.responses import FunctionTool, InputText
from tests.callers import NewClient
from tests.support import WIRES

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
every_wire = pytest.mark.parametrize("wire", WIRES)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "p.png").write_bytes(PNG)
    (tmp_path / "photo").write_bytes(PNG)
    (tmp_path / "p.pdf").write_bytes(b"%PDF-1.4 ...")
    (tmp_path / "p.txt").write_text("plain")
    (tmp_path / "p.py").write_text("print()")
    (tmp_path / "p.bin").write_bytes(b"\xff\x00\xfe")
    (tmp_path / "empty.txt").write_bytes(b"")
    return tmp_path


def weather(city: str) -> str:
    """The weather in a city.

    Args:
        city: Where.
    """
    return f"sun in {city}"


# --- input ----------------------------------------------------------------------------------------------------------

WHAT: list[Any] = [
    lambda picture: ["what?", picture],
    lambda picture: ("what?", picture),
    lambda picture: UserList(["what?", picture]),
    lambda picture: deque(["what?", picture]),
    lambda picture: [{"role": "user", "content": ("what?", picture)}],
    lambda picture: {"role": "human", "content": ["what?", picture]},
    lambda picture: Message(role="user", content=cast("Any", ("what?", picture))),
    lambda picture: [InputText(text="what?"), picture.to_dict()],
    lambda picture: ["first", {"role": "agent", "content": "Yes."}, "what?", picture],
]


@every_wire
@pytest.mark.parametrize("made", WHAT, ids=range(len(WHAT)))
async def test_texts_parts_and_items_may_be_mixed_in_any_sequence(
    new_client: NewClient, wire: str, made: Any, files: Path
) -> None:
    async with new_client("simulator/demo", api_key=None, wire=wire) as llm:
        reply = await llm.generate(made(image(files / "p.png")))
    assert reply.output_text.split() == ["what?", "[image]"]


@every_wire
@pytest.mark.parametrize("name", ["p.png", "photo", "p.pdf", "p.txt", "p.py"])
@pytest.mark.parametrize("alone", [True, False])
async def test_a_path_is_read_with_its_media_type(
    new_client: NewClient, wire: str, name: str, alone: bool, files: Path
) -> None:
    path = files / name
    async with new_client("simulator/demo", api_key=None, wire=wire, on_loss="ignore") as llm:
        if (wire, name) == ("ollama_chat", "p.pdf"):
            with pytest.raises(LossError, match=r"input\[0\]: a file, which"):
                await llm.generate(path)
            return
        text = (await llm.generate(path if alone else ["What is this?", path])).output_text
    assert alone or text.startswith("What is this?")
    assert ("[image]" if name in ("p.png", "photo") else "[file" if wire != "ollama_chat" else name) in text


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("p.bin", r"input\[0\]: file: p.bin has an unknown type"),
        ("nope.png", r"input\[0\]: file: there is no file .*nope.png"),
        ("empty.txt", r"input\[0\]: file: empty.txt is empty"),
        ("", r"input\[0\]: file: .* cannot be read: IsADirectoryError"),
    ],
)
async def test_a_path_that_cannot_be_sent_is_refused_by_name(
    new_client: NewClient, name: str, problem: str, files: Path
) -> None:
    async with new_client("simulator/demo", api_key=None) as llm:
        with pytest.raises(ConfigError, match=problem):
            await llm.generate(files / name)
        with pytest.raises(ConfigError, match=problem.replace("0", "1", 1)):
            await llm.generate(["What is this?", files / name])


@every_wire
@pytest.mark.parametrize("role", ["system", "developer", "agent", "human", "user", "assistant"])
async def test_a_message_needs_no_type_and_every_role_is_read(new_client: NewClient, wire: str, role: str) -> None:
    async with new_client("simulator/demo", api_key=None, wire=wire, on_loss="ignore") as llm:
        said = [{"role": "user", "content": "Hi"}, {"role": role, "content": "One."}]
        reply = await llm.generate([*said, {"role": "human", "content": "say Two."}])
    assert reply.output_text == "Two."
    assert [loss for loss in reply.info.losses if loss.kind != "changed"] == []


# --- tools ----------------------------------------------------------------------------------------------------------

TOOLS: list[Any] = [
    [weather],
    (weather,),
    weather,
    [tool(weather)],
    tool(weather),
    ToolRegistry(weather),
    [tool(weather).definition],
    [tool(weather).definition.to_dict()],
]
offered = pytest.mark.parametrize("tools", TOOLS, ids=range(len(TOOLS)))
CALL = 'call weather {"city": "Oslo"}'


@every_wire
@offered
async def test_functions_registries_and_definitions_are_offered_by_a_call(
    new_client: NewClient, wire: str, tools: Any
) -> None:
    async with new_client("simulator/demo", api_key=None, wire=wire) as llm:
        (call,) = (await llm.generate(CALL, tools=tools)).function_calls
        assert (call.name, call.arguments.replace(" ", "")) == ("weather", '{"city":"Oslo"}')


@offered
async def test_everything_that_takes_tools_takes_functions(new_client: NewClient, tools: Any) -> None:
    async with new_client("simulator/demo", api_key=None) as llm:
        async with llm.stream(CALL, tools=tools) as stream:
            async for _ in stream:
                pass
        assert len(stream.response.function_calls) == 1
        alone = await llm.count_tokens(CALL)
        assert await llm.count_tokens(CALL, tools=tools) > alone
        assert len((await llm.with_options(tools=tools).generate(CALL)).function_calls) == 1
        assert await llm.generate_json('json {"a": 1}', dict, tools=tools) is not None
    async with new_client("simulator/demo", api_key=None, defaults={"tools": tools}) as llm:
        assert len((await llm.generate(CALL)).function_calls) == 1


@pytest.mark.parametrize("tools", TOOLS[:6], ids=range(6))
async def test_a_run_runs_what_a_call_offers(new_client: NewClient, tools: Any) -> None:
    async with new_client("simulator/demo", api_key=None) as llm:
        assert "sun in Oslo" in (await llm.generate_with_tools(CALL, tools)).output_text
    async with new_client("simulator/demo", api_key=None, defaults={"tools": tools}) as llm:
        assert "sun in Oslo" in (await llm.generate_with_tools(CALL)).output_text


def test_a_function_is_offered_as_tool_makes_it() -> None:
    with Client("simulator/demo") as llm:
        reply = llm.generate("Hi", tools=[weather])
    assert isinstance(reply.tools, list)
    (shown,) = reply.tools
    assert isinstance(shown, FunctionTool)
    meant = tool(weather).definition
    assert (shown.name, shown.description, shown.parameters) == (meant.name, meant.description, meant.parameters)


@pytest.mark.parametrize("wrong", [lambda city: city, dict, 5, "weather", object()])
async def test_what_is_no_tool_is_refused_with_its_place(new_client: NewClient, wrong: Any) -> None:
    async with new_client("simulator/demo", api_key=None) as llm:
        with pytest.raises(ConfigError, match=r"tools\[1\]"):
            await llm.generate("Hi", tools=[weather, wrong])


# --- URLs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address", ["localhost:1234", "localhost", "127.0.0.1:1234/v1", "[::1]:1234", "box.localhost:80"]
)
def test_this_machine_needs_no_scheme(address: str) -> None:
    assert Client("compatible/m", base_url=address).endpoint == f"http://{address}"


@pytest.mark.parametrize("address", ["example.com", "example.com:1234/v1", "10.0.0.1:8000", "localhost.example.com"])
def test_any_other_host_needs_one(address: str) -> None:
    with pytest.raises(ConfigError, match=r"must begin with https:// or http://.*http://localhost:1234"):
        Client("compatible/m", base_url=address)
