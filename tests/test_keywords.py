"""A keyword of another library is answered with the word here, and with an example that works as it stands."""

from __future__ import annotations

import inspect
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from pytest_httpx import HTTPXMock

from llm_rest import AsyncClient, Client, ConfigError, RetryPolicy, Timeouts, image
from llm_rest.client.keywords import CALLS, CLIENTS, CONSTRUCTOR, VALUES, Row
from llm_rest.client.options import FIELDS, SETTINGS
from tests.callers import answer
from tests.test_client_errors import SECRET, shown_everywhere

CALL_WORDS, CLIENT_WORDS = ([(word, row) for row in rows for word in row.words] for rows in (CALLS, CLIENTS))


def words(pairs: list[tuple[str, Row]]) -> Any:
    return pytest.mark.parametrize(("word", "row"), pairs, ids=[word for word, _ in pairs])


def weather(city: str) -> str:
    """The weather in a city."""
    return f"sun in {city}"


@pytest.fixture
def follow(llm: Client, httpx_mock: HTTPXMock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Runs an example as somebody would who reads it in an error."""
    httpx_mock.add_response(json=answer(), is_reusable=True, is_optional=True)
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    made = (Client, AsyncClient, RetryPolicy, Timeouts, image, weather)
    names = {"llm": llm, "httpx": httpx, "ssl": ssl, **{one.__name__: one for one in made}}
    return lambda example: eval(example, names)


@pytest.fixture(scope="module")
def llm() -> Client:
    return Client("simulator/demo", on_loss="ignore")


def advice(error: ConfigError) -> str:
    """The example in an error."""
    return str(error).partition("(such as ")[2].removesuffix(")")


# --- calls ----------------------------------------------------------------------------------------------------------


@words(CALL_WORDS)
def test_a_call_answers_every_foreign_keyword(llm: Client, word: str, row: Row) -> None:
    with pytest.raises(ConfigError, match=f"there is no option {word}") as caught:
        llm.count_tokens("Hi", **{word: 1})  # type: ignore[arg-type]
    assert row.instead in str(caught.value)
    assert advice(caught.value) == row.example


@pytest.mark.parametrize("row", [*CALLS, *CLIENTS], ids=lambda row: row.words[0])
def test_what_is_answered_works_as_it_stands(row: Row, follow: Callable[[str], Any]) -> None:
    found = follow(row.example)
    assert isinstance(found, Client) or "Client(" not in row.example or "stream" in row.example


CALLING: list[Any] = [
    lambda llm, **more: llm.generate("Hi", **more),
    lambda llm, **more: llm.generate_json("Hi", dict, **more),
    lambda llm, **more: llm.stream("Hi", **more),
    lambda llm, **more: llm.stream_json("Hi", dict, **more),
    lambda llm, **more: llm.run("Hi", **more),
    lambda llm, **more: llm.generate_with_tools("Hi", **more),
    lambda llm, **more: llm.count_tokens("Hi", **more),
    lambda llm, **more: llm.with_options(**more),
    lambda llm, **more: type(llm)("simulator/demo", defaults=more),
]


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("call", CALLING, ids=range(len(CALLING)))
@pytest.mark.anyio
async def test_everything_that_takes_options_gives_the_same_answer(kind: Any, call: Any) -> None:
    with pytest.raises(ConfigError, match="write max_output_tokens"):
        await call(kind("simulator/demo"), max_tokens=5)


@pytest.mark.parametrize(("name", "kind"), VALUES, ids=[name for name, _ in VALUES])
def test_a_keyword_that_means_something_else_elsewhere_is_answered_too(
    llm: Client, name: str, kind: type, follow: Callable[[str], Any]
) -> None:
    with pytest.raises(ConfigError, match=f"^{name}: ") as caught:
        llm.generate("Hi", **{name: kind("low")})
    follow(advice(caught.value))


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("maxTokens", "write max_output_tokens"),
        ("systemInstruction", "write instructions"),
        ("temprature", "did you mean temperature"),
        ("http", "it belongs to the client"),
        ("organization", "it belongs to the client"),
        ("approve", "a run of the tool loop takes it"),
        ("zzz", "extra="),
    ],
)
def test_other_spellings_and_misplaced_words_are_answered(llm: Client, word: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=f"there is no option {word}.*{hint}"):
        llm.generate("Hi", **{word: 1})  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


# --- clients --------------------------------------------------------------------------------------------------------


@words(CLIENT_WORDS)
def test_a_client_answers_every_foreign_keyword(word: str, row: Row) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(ConfigError, match=f"there is no option {word}") as caught:
            kind("openai/gpt-5", **{word: 1})  # type: ignore[arg-type]
        assert row.instead in str(caught.value)
        assert advice(caught.value) == row.example.replace("Client(", f"{kind.__name__}(")


@words([pair for pair in CALL_WORDS if pair[0] not in {*CONSTRUCTOR, *dict(CLIENT_WORDS), "output"}])
def test_a_client_answers_the_keywords_of_calls(word: str, row: Row) -> None:
    with pytest.raises(ConfigError, match=f"there is no option {word}: it belongs to a call: ") as caught:
        Client("openai/gpt-5", **{word: 1})  # type: ignore[arg-type]
    assert advice(caught.value) == row.example


def test_options_of_calls_stand_in_defaults() -> None:
    with pytest.raises(ConfigError, match=r'defaults.*such as AsyncClient\(.*defaults=\{"temperature": ...\}'):
        AsyncClient("openai/gpt-5", temperature=0.2)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="did you mean max_connections"):
        Client("openai/gpt-5", max_conections=2)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="retry=1 makes one request and no retry"):
        Client("openai/gpt-5", retry=0)


@pytest.mark.parametrize("value", [httpx.Timeout(10), (5, 60), "30", 0])
def test_other_forms_of_a_timeout_are_answered_with_ours(value: Any, follow: Callable[[str], Any]) -> None:
    with pytest.raises(ConfigError, match=r"such as timeout=30, or timeout=Timeouts\(connect=5, total=60\)"):
        Client("openai/gpt-5", timeout=value)
    follow("Client('openai/gpt-5', timeout=30), Client('openai/gpt-5', timeout=Timeouts(connect=5, total=60))")


# --- all of them ----------------------------------------------------------------------------------------------------


def test_no_foreign_word_is_a_word_of_ours() -> None:
    calls = FIELDS | SETTINGS
    assert not calls & {word for word, _ in CALL_WORDS}
    ours = set(inspect.signature(Client).parameters) - {"unknown"}
    assert not ours & {word for word, _ in CLIENT_WORDS}
    assert ours - calls - {"on_event"} == CONSTRUCTOR
    for pairs in (CALL_WORDS, CLIENT_WORDS):
        assert len(pairs) == len(dict(pairs)), "a word has two rows"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda made: made("openai/gpt-5", token=SECRET),
        lambda made: made("openai/gpt-5", apikey=SECRET),
        lambda made: made("simulator/demo").generate("Hi", api_key=SECRET),
        lambda made: made("simulator/demo").run("Hi", api_key=SECRET),
        lambda made: made("simulator/demo").with_options(token=SECRET, extra_headers={"x-key": SECRET}),
        lambda made: made("simulator/demo").stream("Hi", headers={"authorization": SECRET}),
    ],
    ids=range(6),
)
def test_what_a_foreign_keyword_held_is_in_no_traceback(wrong: Callable[[type[Client]], Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        wrong(Client)
    assert SECRET not in shown_everywhere(caught.value)
