"""A conversation that walks between vendors: each gets its own opaque state back, at its place, and nobody else's.

The vendors are the simulated ones of `tests/peers`, which sign as the real ones do and refuse what they did not sign. Between
turns the conversation is saved, loaded, forked, edited, or sent within limits. `LLM_REST_TESTS=whole` walks further.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import anyio
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from llm_rest import AsyncClient, Chat, Client, Conversation, HistoryLimits, MaxIterationsError, simulator, tool
from llm_rest.losses import Loss
from llm_rest.responses import AnyItem, FunctionCall, FunctionCallOutput, InputImage, InputText, Message, Reasoning
from llm_rest.simulator.signatures import opened
from llm_rest.sync import drive
from llm_rest.vendors.rows import VENDORS
from tests.clients.world import Spy
from tests.conversation.support import asked, pieces
from tests.peers.anthropic_thoughts import forged
from tests.support import WHOLE

pytestmark = pytest.mark.anyio

MODELS = {
    "openai": "openai/gpt-5.2",
    "anthropic": "anthropic/claude-sonnet-5",
    "google": "google/gemini-3-pro-preview",
    "ollama": "ollama/qwen3-vl",
    "openrouter": "openrouter/anthropic/claude-sonnet-5",
}
NEWEST = {**MODELS, "anthropic": "anthropic/claude-opus-5-5"}
"""The same with a model that binds its thoughts to everything before them."""
THERE = ["openai", "anthropic", "google", "ollama", "openrouter", "anthropic"]
WALK = [*THERE, *reversed(THERE[:-1])]


class Sent(NamedTuple):
    """A request as it came to a vendor."""

    vendor: str
    body: str
    issued: list[str]
    """What had been signed by then."""


class Watch(Spy):
    """The simulated vendors, with what they were sent and what they signed."""

    def forget(self) -> None:
        super().forget()
        self.sent: list[Sent] = []

    def _heard(self, context: Any) -> None:
        self.sent.append(Sent(str(context.vendor), context.body.decode(), [*self.issued]))
        super()._heard(context)


watch = Watch()


def handle(method: str, path: str, headers: Any, body: bytes) -> Any:
    return simulator.handle(method, path, headers, body, watch)


def handle_stream(method: str, path: str, headers: Any, body: bytes) -> Any:
    return simulator.handle_stream(method, path, headers, body, watch)


@pytest.fixture(autouse=True, scope="module")
def here() -> Iterator[None]:
    """All vendors are in this module."""
    with pytest.MonkeyPatch.context() as patch:
        for name in MODELS:
            row = VENDORS[name]
            patch.setitem(VENDORS, name, replace(row, base_url=f"inproc:{__name__}/{name}"))
        for key in ("OPENAI", "ANTHROPIC", "GEMINI", "OPENROUTER"):
            patch.setenv(f"{key}_API_KEY", "sk-test-0123456789")
        yield


# --- what is said, each thing with a mark by which it is found again ------------------------------------------------


class Marks:
    """Words that stand nowhere else."""

    def __init__(self) -> None:
        self.count = 0

    def new(self, kind: str) -> str:
        self.count += 1
        return f"{kind}Q{self.count:04}"


MARK = re.compile(r"[a-z]+Q\d{4}")


def image(mark: str) -> InputImage:
    return InputImage(image_url=f"data:image/png;base64,{mark}")  # which base64 can be


def marks_in(document: str) -> set[str]:
    return set(MARK.findall(document))


LINES = {
    "r": "reason thoughtQ",
    "h": "reason",
    "c": 'call lookup {"word": "wordQ"}',
    "i": 'call draw {"word": "wordQ"}',
    "s": "say textQ",
    "q": "cite https://example.com/pageQ titleQ",
}


def script_of(marks: Marks, shape: str) -> str:
    """The script of an answer; each word that ends in Q becomes a mark."""
    return re.sub(r"([a-z]+)Q", lambda found: marks.new(found[1]), "\n".join(LINES[step] for step in shape))


SHAPES = ["s", "rs", "hs", "sq", "rcrsq", "ccs", "rcrcs", "scs", "rics", "hcrs", "rsciq"]
"""What an answer is made of: thoughts, hidden ones, calls, pictures, texts, citations."""


class Walk:
    """A conversation with several vendors, and what they signed in it."""

    def __init__(self, *, sync: bool) -> None:
        watch.forget()
        self.marks, self.sync = Marks(), sync
        kind: Any = Client if sync else AsyncClient
        self.llm: Any = kind(None, on_loss="ignore", retry=1)
        self.talk = Conversation(instructions=f"Be brief. {self.marks.new('system')}")
        self.signed: list[str] = []
        self.edited = False
        self.rewritten = False
        """Whether anything was changed that thoughts may be bound to."""

        @tool
        def lookup(word: str) -> str:
            """Look a word up."""
            return f"{word} is {self.marks.new('output')}"

        @tool
        def draw(word: str) -> Any:
            """Draw a word."""
            return [InputText(text=self.marks.new("output")), image(self.marks.new("picture"))]

        self.tools = [lookup, draw]

    async def turn(
        self,
        vendor: str,
        shape: str,
        *,
        streams: bool,
        limits: HistoryLimits | None = None,
        models: dict[str, str] = MODELS,
    ) -> None:
        """One turn, whose requests that vendor accepts at once."""
        options: dict[str, Any] = {} if vendor == "ollama" else {"reasoning": {"effort": "low", "summary": "auto"}}
        chat = self.llm.chat(conversation=self.talk, tools=self.tools, limits=limits, model=models[vendor], **options)
        assert isinstance(chat, Chat) is self.sync
        script, first, known = script_of(self.marks, shape), len(watch.sent), {*watch.issued}
        reply = None
        with suppress(MaxIterationsError):  # a script begins again where the round that was played is left out
            reply = (await pieces(chat, script))[1].reply if streams else await asked(chat, script)
        for one in watch.sent[first:]:
            assert "llm_rest.1." not in one.body
            returned = sealed(one.body)
            if vendor == "anthropic" and not self.rewritten and limits is None and self.talk.compacted is None:
                assert not [*forged({**json.loads(one.body), "thinking": {}}, vendor)], "nothing is left to be dropped"
            own = [text for text in [*self.signed, *(t for t in one.issued if t not in known)] if by(vendor, text)]
            if self.edited or limits is not None or self.talk.compacted is not None:
                own = [text for text in own if text in returned]
            assert returned == own, f"{vendor} gets its own opaque state, all of it in its order, and nothing else"
        if reply is None:
            assert limits is not None
            assert limits.rounds
            return
        assert {attempt.outcome for attempt in reply.info.attempts} == {"200"}
        if limits is None and self.talk.compacted is None:
            self.check_losses(vendor, watch.sent[-1].body, reply.losses)
        self.signed += [text for text in watch.issued if text not in known]

    def check_losses(self, vendor: str, body: str, lost: list[Loss]) -> None:
        """What an item says is in the request, or a loss names the item."""
        arrived = marks_in(body)
        named = {int(found[1]) for loss in lost if (found := re.match(r"input\[(\d+)\]", loss.path))}
        last = max(i for i, item in enumerate(self.talk.items) if isinstance(item, Message) and item.role == "user")
        for i, item in enumerate(self.talk.items[: last + 1]):
            said = marks_in(msgspec.json.encode(item).decode())
            assert said <= arrived or i in named, f"{vendor}: nothing says that {said - arrived} of item {i} is lost"

    def edit(self, kind: str, place: float) -> None:
        """Change the conversation as its owner may."""
        items: list[Any] = self.talk.items
        match kind:
            case "saved":
                self.talk = Conversation.load(self.talk.save())
                return
            case "forked":
                self.talk = self.talk.fork()
                return
            case "noted":
                self.talk.add(f"By the way: {self.marks.new('note')}")
                return
            case "prompted":
                self.talk.set_system_prompt(f"Be long. {self.marks.new('system')}")
                self.rewritten = True
                return
            case "plain":
                self.talk = self.talk.without_carriers()
            case "removed":  # what a thought led to, the thought stays
                for item in items[int(place * len(items)) :][:1]:
                    name = getattr(item, "call_id", item)
                    if name is not item or getattr(item, "role", None) == "assistant":
                        items[:] = [one for one in items if getattr(one, "call_id", one) != name]
                self.talk.compacted = None
            case _:
                kinds: Any = {"text": Message, "call": FunctionCall, "output": FunctionCallOutput, "thought": Reasoning}
                found = [i for i, item in enumerate(items) if isinstance(item, kinds[kind])]
                found = [i for i in found if getattr(items[i], "role", "assistant") == "assistant"]
                if found:
                    at = found[int(place * len(found))]
                    # Some vendors sign a thought with what follows it: who writes that anew takes the thought out.
                    first = at - (kind == "text" and at > 0 and isinstance(items[at - 1], Reasoning))
                    items[first : at + 1] = self.changed(items[at])
                    if kind == "thought" or first < at:
                        self.forget_ids(first)
                    self.talk.compacted = None  # which counts items
        self.edited = self.rewritten = True

    def forget_ids(self, start: int) -> None:
        """The ids of what followed a thought in its answer, which OpenAI refuses without the thought (docs/conversations.md)."""
        items = self.talk.items
        for i, item in enumerate(items[start:], start):
            if isinstance(item, FunctionCallOutput) or (isinstance(item, Message) and item.role != "assistant"):
                return
            if isinstance(item, FunctionCall | Message):
                items[i] = replace(item, id=None)

    def changed(self, item: AnyItem) -> list[AnyItem]:
        """Another item in its place, or none."""
        word = self.marks.new("edited")
        match item:
            case FunctionCall():
                return [replace(item, arguments=f'{{"word": "{word}"}}')]
            case FunctionCallOutput():
                return [replace(item, output=word)]
            case Message():
                return [Message(role="assistant", content=word)]
            case _:
                return []


def sealed(body: str) -> list[str]:
    """The strings in a request that some vendor signed, in their order."""
    found: list[str] = []

    def look(value: Any) -> None:
        if isinstance(value, str):
            found.extend([value] if any(by(name, value) for name in MODELS) else [])
        elif isinstance(value, dict | list):
            for inner in value.values() if isinstance(value, dict) else value:
                look(inner)

    look(json.loads(body))
    return found


def by(vendor: str, text: str) -> bool:
    """Whether the vendor signed it."""
    return opened(vendor, text) is not None


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
async def test_a_conversation_walks_between_five_vendors_and_back(way: str, streams: bool) -> None:
    walk = Walk(sync=way == "sync")
    walk.talk.add(Message(role="user", content=[image(walk.marks.new("picture")), InputText(text="Look at this.")]))
    walk.talk.add(Message(role="assistant", content="A picture."))
    for number, vendor in enumerate(WALK):
        models = NEWEST if number % 4 else MODELS
        await walk.turn(vendor, "rcrsq" if number % 2 else "rirsq", streams=streams, models=models)
        walk.talk = Conversation.load(walk.talk.save())
    assert {name for name in MODELS if any(by(name, text) for text in walk.signed)} == {*MODELS} - {"ollama"}


LIMITS = [
    HistoryLimits(max_items=6),
    HistoryLimits(max_tokens=60, rounds=True),
    HistoryLimits(max_items=8, compact="summary"),
]
EDITS = ["saved", "forked", "noted", "prompted", "plain", "text", "call", "output", "thought", "removed"]
TURNS = st.tuples(
    st.tuples(st.sampled_from([*MODELS]), st.sampled_from([MODELS, NEWEST])),
    st.sampled_from(SHAPES),
    st.booleans(),
    st.one_of(st.none(), st.sampled_from(LIMITS)),
    st.lists(st.tuples(st.sampled_from(EDITS), st.floats(0, 0.99)), max_size=2),
)


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@settings(max_examples=300 if WHOLE else 15)
@given(turns=st.lists(TURNS, min_size=1, max_size=6))
def test_random_walks_with_edits_and_limits_are_accepted_by_every_vendor(sync: bool, turns: list[Any]) -> None:
    async def walk() -> None:
        walked = Walk(sync=sync)
        for (vendor, models), shape, streams, limits, edits in turns:
            await walked.turn(vendor, shape, streams=streams, limits=limits, models=models)
            for kind, place in edits:
                walked.edit(kind, place)

    drive(walk()) if sync else anyio.run(walk)
