"""What vendors want back and clients have no place for: kept for each caller, put back, or done without.

Forged state is tested by the attack E01 on the gateway."""

from __future__ import annotations

from collections.abc import Generator

import openai
import pytest

from llm_rest import wires
from llm_rest.server.history import StoredHistory
from llm_rest.server.store import MemoryStore

from .neutral import Answer, Client, Said
from .world import TOKENS, Spy, World, world

SIGNERS = [name for name in wires.NAMES if name != "ollama_chat"]
OTHERS = [name for name in SIGNERS if name != "openai_chat"]

SCRIPT = 'reason Let me see.\ncall get_weather {"city": "Oslo"}\nreason Aha.\nsay Cold and wet.'


def bare(answer: Answer) -> Said:
    """The turn as a client of Chat Completions writes it who knows no more than its reference."""
    return [{name: answer.said[0].get(name) for name in ("role", "content", "tool_calls")}]


async def turn(client: Client, model: str, *, first: str = "", stream: bool = False) -> Said:
    """The conversation up to the result of a call, in the words of a plain client."""
    asked = client.stream if stream else client.ask
    said = client.user(f"{SCRIPT}{first}")
    answer = await asked(f"{model}.signing", said, tools=True, thinking=True)
    returned = bare(answer) if client.wire == "openai_chat" else answer.said
    return [*said, *returned, *client.results([(call, "4 degrees", False) for call in answer.calls])]


# --- within the store -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model", SIGNERS)
def test_a_plain_chat_client_brings_back_signatures_it_never_saw(
    gateway: World, spy: Spy, model: str, stream: bool
) -> None:
    client = gateway.client("openai.chat", "sync")

    async def play() -> None:
        said = await turn(client, model, stream=stream)
        issued = [*spy.issued]
        assert issued
        second = await client.ask(f"{model}.signing", said, tools=True, thinking=True)
        assert (second.text, spy.returned()) == ("Cold and wet.", issued)
        said = [*said, *bare(second), *client.user(f"{SCRIPT}\npieces 9")]
        issued = [*spy.issued]
        again = await client.ask(f"{model}.signing", said, tools=True, thinking=True)
        assert spy.returned() == issued, "the first turn is still whole in the second"
        said = [*said, *bare(again), *client.results([(again.calls[0], "5 degrees", False)])]
        issued = [*spy.issued]
        assert (await client.ask(f"{model}.signing", said, tools=True, thinking=True)).text == "Cold and wet."
        assert spy.returned() == issued

    gateway.run("sync", play)


@pytest.mark.parametrize("model", OTHERS)
def test_the_same_call_in_two_conversations_has_two_signatures(gateway: World, spy: Spy, model: str) -> None:
    """A client of Ollama keeps no ids of calls: both turns look alike to it."""
    client = gateway.client("ollama", "sync")

    async def play() -> None:
        turns: list[tuple[Said, list[str]]] = []
        for first in ("", "\npieces 7"):
            before = len(spy.issued)
            turns.append((await turn(client, model, first=first), spy.issued[before:]))
        assert turns[0][1] != turns[1][1]
        for said, issued in turns:
            await client.ask(f"{model}.signing", said, tools=True, thinking=True)
            assert spy.returned() == issued

    gateway.run("sync", play)


@pytest.mark.parametrize("name", ["openai.chat", "ollama"])
@pytest.mark.parametrize("model", OTHERS)
def test_nobody_gets_the_signatures_of_another_caller(gateway: World, spy: Spy, model: str, name: str) -> None:
    alice, bob = (gateway.client(name, "sync", TOKENS[who]) for who in ("alice", "bob"))

    async def play() -> None:
        said = await turn(alice, model)
        assert (await bob.ask(f"{model}.signing", said, tools=True, thinking=True)).text == "Cold and wet."
        assert spy.returned() == []
        assert (await alice.ask(f"{model}.signing", said, tools=True, thinking=True)).text == "Cold and wet."
        assert spy.returned() == spy.issued[:1]

    gateway.run("sync", play)


@pytest.mark.parametrize("whole", [False, True], ids=["plain", "messages returned whole"])
@pytest.mark.parametrize("model", OTHERS)
def test_a_conversation_that_changes_under_way_is_not_refused(
    gateway: World, spy: Spy, model: str, whole: bool
) -> None:
    """Thoughts hold only where they were thought; clients that never saw one cannot know.

    The system prompt tells the time, notes are added to the question while it is answered, old turns are left out.
    """
    client = gateway.client("openai.chat", "sync")

    async def play() -> None:
        told: Said = []
        for number in range(4):
            said = [*told, *client.user(f"{SCRIPT}\npieces {number + 20}")]
            if number == 3:
                del said[:4]
            texts: list[str] = []
            for step in range(2):
                clock: Said = [{"role": "system", "content": f"It is {len(spy.bodies)} o'clock."}]
                answer = await client.ask(f"{model}.signing", [*clock, *said], tools=True, thinking=True)
                texts.append(answer.text)
                said += answer.said if whole else bare(answer)
                said += client.results([(call, "4 degrees", False) for call in answer.calls])
                if number == 2 and step == 0:
                    said[-3]["content"] += "\ndelay 0"
            assert texts == ["", "Cold and wet."]
            told = said

    gateway.run("sync", play)


# --- beyond it ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["no room", "little room"])
def forgetful(request: pytest.FixtureRequest) -> Generator[World]:
    with world(StoredHistory(MemoryStore(1 if request.param == "no room" else 4000))) as found:
        yield found


async def forgotten(client: Client, model: str, *, stream: bool = False) -> Said:
    """A turn that the gateway has forgotten: others came, and took the room."""
    said = await turn(client, model, stream=stream)
    for number in range(6):
        await turn(client, model, first=f"\npieces {number + 5}")
    return said


FORGETFUL = {"openai.chat": "openai_chat", "google-genai": "gemini_generate_content", "ollama": "ollama_chat"}
"""The clients that do not bring back what other vendors want, and their wires."""


@pytest.mark.sample(8)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("name", "model"), [(name, model) for name, own in FORGETFUL.items() for model in wires.NAMES if model != own]
)
def test_a_turn_whose_signatures_are_forgotten_is_that_of_a_stranger_and_not_refused(
    forgetful: World, name: str, model: str, stream: bool
) -> None:
    client, spy = forgetful.client(name, "sync"), forgetful.spy
    spy.forget()

    async def play() -> None:
        said = await forgotten(client, model, stream=stream)
        second = await client.ask(f"{model}.signing", said, tools=True, thinking=True)
        assert (second.text, spy.returned()) == ("Cold and wet.", [])

    forgetful.run("sync", play)


def test_a_vendor_on_the_clients_own_wire_may_insist_on_what_the_client_dropped(forgetful: World) -> None:
    client = forgetful.client("openai.chat", "sync")

    async def play() -> None:
        said = await forgotten(client, "openai_chat")
        with pytest.raises(openai.BadRequestError, match="reasoning_details"):
            await client.ask("openai_chat.signing", said, tools=True, thinking=True)

    forgetful.run("sync", play)
