"""What a call takes as its input and its tools: what people have, on every wire."""

from __future__ import annotations

from collections import UserList, deque
from pathlib import Path
from typing import Any, cast

import pytest

from llm_rest import Client, LossError, Message, ToolRegistry, image, tool
from llm_rest.responses import InputText
from tests.callers import NewClient
from tests.support import WIRES

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
FILES = {"p.png": PNG, "photo": PNG, "p.pdf": b"%PDF-1.4 ...", "p.txt": b"plain", "p.py": b"print()"}
every_wire = pytest.mark.parametrize("wire", WIRES)


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
def test_texts_parts_and_items_may_be_mixed_in_any_sequence(wire: str, made: Any) -> None:
    with Client("simulator/demo", wire=wire) as llm:
        assert llm.generate(made(image(PNG))).output_text.split() == ["what?", "[image]"]


@every_wire
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("alone", [True, False])
def test_a_path_is_read_with_its_media_type(wire: str, name: str, alone: bool, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name])
    with Client("simulator/demo", wire=wire, on_loss="ignore") as llm:
        if (wire, name) == ("ollama_chat", "p.pdf"):
            with pytest.raises(LossError, match=r"input\[0\]: a file, which"):
                llm.generate(path)
            return
        text = llm.generate(path if alone else ["What is this?", path]).output_text
    assert alone or text.startswith("What is this?")
    assert ("[image]" if name in ("p.png", "photo") else "[file" if wire != "ollama_chat" else name) in text


@every_wire
@pytest.mark.parametrize("role", ["system", "developer", "agent", "human", "user", "assistant"])
def test_a_message_needs_no_type_and_every_role_is_read(wire: str, role: str) -> None:
    with Client("simulator/demo", wire=wire, on_loss="ignore") as llm:
        said = [{"role": "user", "content": "Hi"}, {"role": role, "content": "One."}]
        reply = llm.generate([*said, {"role": "human", "content": "say Two."}])
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
CALL = 'call weather {"city": "Oslo"}'


@pytest.mark.anyio
@pytest.mark.parametrize("tools", TOOLS, ids=range(len(TOOLS)))
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
