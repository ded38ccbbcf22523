"""What a client does with a model, case by case, each written once for every SDK, every upstream, sync and async.

A case is a coroutine of `(client, model, spy)`; its docstring is its line in `docs/clients.md`, which `page.py` writes.
`CANNOT` gives the reason for every cell that cannot be, and `test_table.py` sees that it fails for as long as the reason stands.
"""

from __future__ import annotations

import itertools
from base64 import b64encode
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import pytest

from llm_rest import wires
from llm_rest.errors import ErrorFacts

from .neutral import IMAGE, PAPER, Answer, Attached, Call, Client, Person, Results, Said, Unsayable, happened
from .of_ollama import Ollama
from .of_openai import Chat, Responses
from .world import CLIENTS, Spy

Case = Callable[[Any, str, Spy], Coroutine[Any, Any, None]]

CASES: dict[str, Case] = {}
ONLY: dict[str, str] = {}
"""Cases of one client, for what the API of no other has."""

OSLO, BERGEN = Call({"city": "Oslo"}), Call({"city": "Bergen"})


def case(made: Case) -> Case:
    CASES[made.__name__] = made
    return made


def case_of(client: str) -> Callable[[Case], Case]:
    """A case of one client only."""

    def added(made: Case) -> Case:
        ONLY[made.__name__] = client
        return case(made)

    return added


def ways(client: Client) -> tuple[Callable[..., Awaitable[Answer]], ...]:
    """Whole and streamed."""
    return client.ask, client.stream


def made(answer: Answer) -> list[tuple[str, Any]]:
    """The calls in an answer."""
    return [(call.name, call.arguments) for call in answer.calls]


def wanted(*calls: Call) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in calls]


# --- text -----------------------------------------------------------------------------------------------------------


@case
async def plain(client: Client, model: str, spy: Spy) -> None:
    """text: an answer with its end and its tokens"""
    answer = await client.ask(model, client.user("Hello there, you."))
    assert (answer.text, answer.ended, answer.tokens) == ("Hello there, you.", "stop", (5, 5))


@case
async def stream(client: Client, model: str, spy: Spy) -> None:
    """stream: the text in chunks, as the vendor sends them"""
    answer = await client.stream(model, client.user("pieces 5\nsay Hello, world."))
    assert (answer.text, answer.ended, answer.tokens) == ("Hello, world.", "stop", (7, 4))
    assert answer.pieces >= 3, "it came as the vendor said it"


@case
async def length(client: Client, model: str, spy: Spy) -> None:
    """length: an answer truncated at its token limit is marked"""
    for asked in ways(client):
        answer = await asked(model, client.user("say " + "word " * 40), most=20)
        assert (answer.text, answer.ended) == ("word " * 16, "length")


@case
async def refusal(client: Client, model: str, spy: Spy) -> None:
    """refusal: a refusal is distinguished from an answer"""
    for asked in ways(client):
        answer = await asked(model, client.user("refuse I cannot help with that."))
        blocked = client.wire == "gemini_generate_content" and answer.ended == "refusal"
        assert blocked or answer.text == "I cannot help with that.", "Google's SDK shows no words of a blocked answer"
        if answer.ended != "refusal":
            raise Unsayable


@case
async def structured(client: Client, model: str, spy: Spy) -> None:
    """structured: an answer of a type, by the SDK's own helper where it has one"""
    assert await client.person(model, client.user("Who?")) == Person(name="name", born=1)


# --- tools ----------------------------------------------------------------------------------------------------------


async def conversation(client: Client, model: str, script: str, *calls: Call, gave: str, failed: bool = False) -> str:
    """The text that ends a conversation in which these calls are made, streamed the second time."""
    texts: list[str] = []
    for asked in ways(client):
        said: Said = client.user(script)
        first = await asked(model, said, tools=True)
        assert (made(first), first.ended) == (wanted(*calls), "tools")
        results: Results = [(call, gave, failed) for call in first.calls]
        said = [*said, *first.said, *client.results(results)]
        last = await asked(model, said, tools=True)
        assert last.ended == "stop"
        texts.append(last.text)
    assert texts[0] == texts[1]
    return texts[0]


@case
async def one_tool(client: Client, model: str, spy: Spy) -> None:
    """tool: a call, its result, the answer to it"""
    text = await conversation(client, model, 'call get_weather {"city": "Oslo"}', OSLO, gave="4 degrees")
    assert text == "get_weather said: 4 degrees"


@case
async def parallel_tools(client: Client, model: str, spy: Spy) -> None:
    """parallel tools: two calls at once"""
    script = 'call get_weather {"city": "Oslo"}\ncall get_weather {"city": "Bergen"}'
    text = await conversation(client, model, script, OSLO, BERGEN, gave="4 degrees")
    assert text == "get_weather said: 4 degrees\nget_weather said: 4 degrees"


SAY_FAILED = ("anthropic_messages", "gemini_generate_content")
"""The wires on which a result says that the tool failed."""


@case
async def tool_error(client: Client, model: str, spy: Spy) -> None:
    """tool error: the model gets the failure of a tool, as text where a wire has no flag for it"""
    script = 'call get_weather {"city": "Oslo"}'
    text = await conversation(client, model, script, OSLO, gave="no such city", failed=True)
    if client.wire not in SAY_FAILED:
        assert text == "get_weather said: no such city"
    elif model not in SAY_FAILED:
        assert text == "get_weather said: Error: no such city"
    else:
        assert text == "get_weather failed: no such city"


@case
async def reasoning(client: Client, model: str, spy: Spy) -> None:
    """reasoning: two turns of a thinking model, which gets every signature back and would refuse another"""
    await thinking_turns(client, model, spy, ways(client), lambda answer: answer.said)


SHOW_CONTENT = ("openai_chat", "ollama_chat")
"""The wires whose thoughts are the `content` of reasoning items without a summary; those of others are summaries."""


@case_of("openai.responses")
async def reasoning_without_content(client: Responses, model: str, spy: Spy) -> None:
    """reasoning without `content`: reasoning items whose text the client dropped still bring back every signature"""

    def returned(answer: Answer) -> Said:
        contents = [item.pop("content", None) for item in answer.said if item["type"] == "reasoning"]
        assert any(contents) == (model in SHOW_CONTENT)
        return answer.said

    await thinking_turns(client, model, spy, ways(client), returned, summary=False)


@case_of("openai.responses")
async def item_reference(client: Responses, model: str, spy: Spy) -> None:
    """item_reference: items of earlier answers, reasoning too, are sent by id, over HTTP and WebSocket"""

    def returned(answer: Answer) -> Said:
        return [{"type": "item_reference", "id": item["id"]} for item in answer.said]

    async with client.socket() as over_socket:
        await thinking_turns(client, model, spy, (*ways(client), over_socket), returned, stored=True)


async def thinking_turns(
    client: Client,
    model: str,
    spy: Spy,
    ways: Sequence[Callable[..., Awaitable[Answer]]],
    returned: Callable[[Answer], Said],
    **options: Any,
) -> None:
    """A call, its result and another question, each answer sent back as `returned` says; the vendor gets every signature."""
    options |= {"tools": True, "thinking": True}
    for asked in ways:
        spy.forget()
        script = 'reason Let me see.\ncall get_weather {"city": "Oslo"}\nreason Aha.\nsay Cold and wet.'
        said: Said = client.user(script)
        first = await asked(f"{model}.signing", said, **options)
        assert made(first) == wanted(OSLO)
        said = [*said, *returned(first), *client.results([(call, "4 degrees", False) for call in first.calls])]
        issued = [*spy.issued]
        second = await asked(f"{model}.signing", said, **options)
        assert second.text == "Cold and wet."
        assert spy.returned() == issued
        said = [*said, *returned(second), *client.user("say You are welcome.")]
        issued = [*spy.issued]
        assert (await asked(f"{model}.signing", said, **options)).text == "You are welcome."
        assert spy.returned() == issued
        assert bool(issued) == (model != "ollama_chat"), "Ollama's models think without signing"


NOON = Call({"city": "Bergen"}, name="get_time")
WEATHER_AND_TIME = 'call get_weather {"city": "Oslo"}\ncall get_time {"city": "Bergen"}'


@case_of("ollama")
async def calls_without_ids(client: Ollama, model: str, spy: Spy) -> None:
    """calls without ids: results are matched to calls by the name of the tool, in any order"""
    for asked in ways(client):
        said = client.user(WEATHER_AND_TIME)
        first = await asked(model, said, tools=True)
        assert made(first) == wanted(OSLO, NOON)
        results = client.results([(NOON, "noon", False), (OSLO, "4 degrees", False)])
        last = await asked(model, [*said, *first.said, *results], tools=True)
        assert sorted(last.text.split("\n")) == ["get_time said: noon", "get_weather said: 4 degrees"]


@case_of("ollama")
async def ids_of_no_call(client: Ollama, model: str, spy: Spy) -> None:
    """ids of no call: results whose `tool_call_id` no call has, as LiteLLM sends them, answer the calls in order"""
    said: list[Any] = [{"role": "user", "content": WEATHER_AND_TIME}]
    calls = [{"function": {"name": call.name, "arguments": call.arguments}} for call in (OSLO, NOON)]
    said.append({"role": "assistant", "content": "", "tool_calls": calls})
    for number, gave in enumerate(("4 degrees", "noon")):
        said.append({"role": "tool", "tool_call_id": f"call_of_nothing_{number}", "content": gave})
    answer = await client.http("POST", "/api/chat", {"model": model, "messages": said, "stream": False})
    assert answer["message"]["content"] == "get_weather said: 4 degrees\nget_time said: noon"


# --- files ----------------------------------------------------------------------------------------------------------


async def shown(client: Client, model: str, spy: Spy, attached: Attached) -> str:
    """What the model says to a file that reached it byte for byte."""
    answer = await client.ask(model, client.user("What is this?", attached))
    sent = str(spy.bodies[-1]).translate(str.maketrans("-_", "+/"))  # Google's client sends base64 for URLs
    assert b64encode(attached.data).decode() in sent
    return answer.text


@case
async def image(client: Client, model: str, spy: Spy) -> None:
    """image: reaches the vendor byte for byte"""
    assert "[image]" in await shown(client, model, spy, IMAGE)


@case
async def pdf(client: Client, model: str, spy: Spy) -> None:
    """PDF: reaches the vendor byte for byte"""
    assert "[file" in await shown(client, model, spy, PAPER)


# --- errors ---------------------------------------------------------------------------------------------------------


async def raised(client: Client, status: int, asking: Awaitable[Answer]) -> Exception:
    """The exception of the SDK's own class for this status."""
    with pytest.raises(client.errors[status]) as caught:
        await asking
    assert client.status(caught.value) == status
    return caught.value


@case
async def wrong_token(client: Client, model: str, spy: Spy) -> None:
    """401: a wrong access token of the gateway is the SDK's own error"""
    for asked in ways(client):
        error = await raised(client, 401, asked(model, client.user("hi")))
        assert "access token" in str(error)
    assert not spy.bodies


async def failing(client: Client, model: str, spy: Spy, status: int) -> None:
    spy.failing = ErrorFacts(status=status, message="Come back later.", retry_after=77)
    for asked in ways(client):
        error = await raised(client, status, asked(model, client.user("hi")))
        assert "Come back later." in str(error)
        assert client.wait(error) in ("77", None)
        assert client.wait(error) or client.wire == "ollama_chat", "only Ollama's SDK drops headers"


@case
async def limited(client: Client, model: str, spy: Spy) -> None:
    """429: the vendor's limit is the SDK's own error, with the vendor's `retry-after`"""
    await failing(client, model, spy, 429)


@case
async def overloaded(client: Client, model: str, spy: Spy) -> None:
    """529: an overloaded vendor is the SDK's own error, with its `retry-after`"""
    await failing(client, model, spy, 529)


@case
async def broken(client: Client, model: str, spy: Spy) -> None:
    """error in a stream: is raised where the stream is read"""
    with pytest.raises(client.errors[0], match="Busy"):
        await client.stream(model, client.user("say Hello.\nfail 529 Busy."))


@case_of("openai.chat")
async def broken_chunks(client: Chat, model: str, spy: Spy) -> None:
    """error among chunks: the text before it arrives, no chunk ends the answer, and `create(stream=True)` raises"""
    chunks: list[Any] = []
    with pytest.raises(client.errors[0], match="Busy"):
        await client.read(model, client.user("say Hello.\nfail 529 Busy."), chunks)
    choices = [choice for chunk in chunks for choice in chunk.choices]
    assert "".join(choice.delta.content or "" for choice in choices) == "Hello."
    assert not any(choice.finish_reason for choice in choices)


@case
async def cancel(client: Client, model: str, spy: Spy) -> None:
    """cancel: the vendor is left when the client leaves a stream"""
    await client.leave(model, client.user("pieces 1\ndelay 0.01\nsay " + "word " * 1000))
    assert await happened(spy.left), "the vendor is left too"


# --- beside ---------------------------------------------------------------------------------------------------------


@case
async def count(client: Client, model: str, spy: Spy) -> None:
    """count: tokens as the vendor counts them, or an estimate where it does not"""
    assert await client.count(model, client.user("Count me, please.")) == 5


@case
async def models(client: Client, model: str, spy: Spy) -> None:
    """models: the list has the gateway's names"""
    assert model in await client.models()


@case_of("ollama")
async def show(client: Ollama, model: str, spy: Spy) -> None:
    """show: what a model can do; a model that is not there is the SDK's own error"""
    assert {"completion", "tools"} <= set(await client.capabilities(model))
    with pytest.raises(client.errors[400]) as caught:
        await client.capabilities("no-such-model")
    assert client.status(caught.value) == 404


@case_of("ollama")
async def generate(client: Ollama, model: str, spy: Spy) -> None:
    """generate: a prompt instead of messages, whole and streamed, and none to load a model"""
    for stream in (False, True):
        assert await client.generate(model, "say Once upon a time.", stream=stream) == ("Once upon a time.", "stop")
    asked = len(spy.bodies)
    assert await client.generate(model, "", stream=False) == ("", "load")
    assert len(spy.bodies) == asked, "the vendor has nothing to load"


@case_of("ollama")
async def version(client: Ollama, model: str, spy: Spy) -> None:
    """version: `/api/version` and the list of loaded models, by which clients find a server"""
    found = await client.http("GET", "/api/version")
    assert tuple(map(int, found["version"].split("."))) >= (0, 6, 4), "older ones have no `capabilities`"
    assert model in await client.running()


CANNOT = {
    (client, behind, case): reason
    for clients, upstreams, case, reason in (
        (("openai.chat", "ollama"), wires.NAMES, "count", "the client's API has no way of counting tokens"),
        (("ollama",), wires.NAMES, "pdf", "messages of Ollama's API hold images and no other files"),
        (
            CLIENTS.keys() - {"ollama"},
            ("ollama_chat",),
            "pdf",
            "messages to Ollama hold images and no other files; the client raises its error for a bad request",
        ),
        (
            CLIENTS,
            ("gemini_generate_content", "ollama_chat"),
            "refusal",
            "models behind this API refuse in ordinary text",
        ),
        (
            ("google-genai",),
            ("openai_responses", "openai_chat"),
            "refusal",
            "Google's API marks blocked answers only; a refusal by the model is text",
        ),
        (("ollama",), wires.NAMES, "refusal", "Ollama's API has no refusals; they are text"),
    )
    for client in clients
    for behind in upstreams
}
"""Cells that cannot be, and why: by client, upstream and case."""

CELLS = [
    (client, behind, case)
    for client, behind, case in itertools.product(CLIENTS, wires.NAMES, CASES)
    if ONLY.get(case, client) == client
]
"""Every client in front of every wire in every case that its API has: client, upstream, case."""
