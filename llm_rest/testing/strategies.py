"""Strategies for Hypothesis: requests, responses, items and event streams as programs and models write them.

They keep to what nearly every wire can carry. Needs `hypothesis`, which this package does not install.
"""

from __future__ import annotations

from typing import Any

from .. import responses as r
from ..errors import ConfigError
from ..responses.stream import disassemble

try:
    from hypothesis import strategies as st
except ModuleNotFoundError:
    raise ConfigError("llm_rest.testing.strategies needs hypothesis", hint="pip install hypothesis") from None

NAMES = ("get_weather", "search", "f-1")
_FIELDS = {"city": {"type": "string"}, "days": {"type": "integer"}}
SCHEMA = {"type": "object", "properties": _FIELDS, "required": [*_FIELDS], "additionalProperties": False}
TEXTS = st.sampled_from(["Hi", "4 °C\nand rain", '{"c": 4}', "雪 \U0001f328", "a  b", '\u2028 and \\ "']) | st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20
).filter(lambda text: text.strip() == text != "")
IMAGES = st.sampled_from(["data:image/png;base64,iVBORw0KGgo=", "https://example.com/cat.png"])
PARTS = st.builds(r.InputText, text=TEXTS) | st.builds(r.InputImage, image_url=IMAGES)
SPEECH = st.builds(r.OutputText, text=TEXTS).map(lambda part: r.Message(role="assistant", content=[part]))
ARGUMENTS = st.sampled_from(['{"city":"Oslo","days":2}', '{"days": 1.0, "city": "Bodø"}', "{}"])
IDS = st.integers(0).map("call_{}".format)
CALLS = st.builds(r.FunctionCall, call_id=IDS, name=st.sampled_from(NAMES), arguments=ARGUMENTS)
USAGES = st.builds(r.Usage, input_tokens=st.integers(0, 50), output_tokens=st.integers(0, 50))
TOOLS = [r.FunctionTool(name=name, description=f"Does {name}.", parameters=SCHEMA, strict=False) for name in NAMES]


def user_messages(parts: st.SearchStrategy[Any] = PARTS) -> st.SearchStrategy[r.Message]:
    """Messages of the user: a text, or several parts."""
    return st.builds(r.Message, role=st.just("user"), content=TEXTS | st.lists(parts, min_size=1, max_size=3))


def calls(most: int = 3) -> st.SearchStrategy[list[r.FunctionCall]]:
    """Parallel function calls with ids of their own."""
    return st.lists(CALLS, min_size=1, max_size=most, unique_by=lambda call: call.call_id)


@st.composite
def items(draw: st.DrawFn) -> list[r.AnyItem]:
    """A conversation that a model can answer: messages, calls with their outputs, and a message of the user at its end."""
    made: list[r.AnyItem] = []
    left = draw(st.just([]) | calls(4))
    while left:
        requested = [left.pop() for _ in range(draw(st.integers(1, len(left))))]
        answered = [r.FunctionCallOutput(call_id=call.call_id, output=draw(TEXTS)) for call in requested]
        made += [draw(user_messages()), *requested, *answered, draw(SPEECH)]
    return [*made, draw(user_messages())]


def requests(model: str = "vendor/model") -> st.SearchStrategy[r.Request]:
    """Requests with a conversation, tools, and options that nearly every vendor has."""
    options: dict[str, Any] = {"temperature": st.sampled_from([None, 0, 1]), "instructions": st.none() | TEXTS}
    options |= {"tools": st.sampled_from([None, TOOLS]), "max_output_tokens": st.sampled_from([1000, 4096])}
    return st.builds(r.Request, model=st.just(model), input=TEXTS | items(), **options)


def responses(model: str = "model") -> st.SearchStrategy[r.Response]:
    """Completed answers: a text, calls, or both."""
    output = st.tuples(st.lists(SPEECH, max_size=1), calls() | st.just([])).map(lambda pair: [*pair[0], *pair[1]])
    common: dict[str, Any] = {"id": st.sampled_from(["resp_1", "msg_2"]), "status": st.just("completed")}
    return st.builds(r.Response, model=st.just(model), output=output.filter(bool), usage=USAGES, **common)


def event_streams(model: str = "model") -> st.SearchStrategy[list[r.AnyEvent]]:
    """The events of streamed answers, from the first to the last."""
    return responses(model).map(disassemble)
