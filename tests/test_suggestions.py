"""What to do about an error: every class of the tree has suggestions, which name the facts of the error."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any, get_args

import pytest
from pytest_httpx import HTTPXMock

from llm_rest import Failure, errors
from llm_rest.client.target import Targets
from llm_rest.errors import (
    APITimeoutError,
    AuthenticationError,
    ConfigError,
    ConnectError,
    ContextLengthError,
    LLMError,
    NotFoundError,
    RateLimitError,
    StoreError,
    StoreReason,
)
from llm_rest.suggestions import HINTED, TABLE
from llm_rest.transport.deadlines import TIMEOUT_MESSAGES
from llm_rest.vendors.rows import VENDORS, NoAuth
from tests.callers import NewClient
from tests.transport.support import nobody

STORE_REASONS: tuple[StoreReason, ...] = get_args(StoreReason)
TREE = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, LLMError)]


def cases() -> list[LLMError]:
    """An error of every class, without facts, and of every case of a class."""
    found = [kind("no") for kind in TREE]
    found += [APITimeoutError("no", phase=phase) for phase in TIMEOUT_MESSAGES]
    found += [StoreError("no", reason=reason) for reason in STORE_REASONS]
    return [*found, ConnectError("no", reason="refused"), ConnectError("no", reason="name")]


def is_sentence(line: str) -> bool:
    return len(line) > 15 and line.isprintable() and not re.search("[{}]|None", line)


def test_every_class_of_the_tree_has_suggestions() -> None:
    for error in cases():
        lines, name = [*error.suggestions], (error.kind, vars(error))
        assert lines, name
        assert [line for line in lines if lines.count(line) > 1 or not is_sentence(line)] == [], name
        assert error.to_response()["suggestions"] == lines, name
        assert error.hint in (None, lines[0]), name


def test_every_row_belongs_to_a_class_and_every_fact_in_it_to_an_error_or_the_client() -> None:
    kinds = {kind.kind for kind in TREE}
    known = {f"api_timeout.{phase}" for phase in TIMEOUT_MESSAGES} | {"connect.refused", "connect.name"}
    known |= {f"store.{reason}" for reason in STORE_REASONS}
    assert {row for row in TABLE if "." not in row} <= kinds
    assert {row for row in TABLE if "." in row} <= known
    assert {*TABLE} >= HINTED
    known = {*vars(ContextLengthError("no")), *vars(ContextLengthError), "limit", "requested"}
    known |= {"endpoint", "local", "start", "base_url_env", "key_env", "provider", "context_window", "max_output"}
    lines = [text for row in TABLE.values() for line in row for text in ((line,) if isinstance(line, str) else line)]
    assert {name for line in lines for name in re.findall(r"\{(\w+)", line)} <= known


def test_a_class_of_a_users_own_has_the_suggestions_of_the_class_above_it() -> None:
    class HouseRulesError(AuthenticationError):
        pass

    error = HouseRulesError("no")
    assert (error.suggestions, error.hint) == (AuthenticationError("no").suggestions, AuthenticationError("no").hint)


def test_a_hint_that_was_given_comes_first_and_once() -> None:
    assert ConfigError("no", hint="set K").suggestions[0] == "set K"
    error = AuthenticationError("no")
    error.hint = error.suggestions[1]
    assert error.suggestions.count(error.hint) == 1
    assert error.suggestions[0] == error.hint


def test_suggestions_are_copied_and_pickled_with_an_error_and_a_failure() -> None:
    error = ConnectError("no", reason="refused")
    error.facts = {"start": "ollama serve"}
    failure = Failure(error.message, error.suggestions, error)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), pickle.loads(pickle.dumps(failure))):
        assert again.suggestions == error.suggestions
        assert again.suggestions[0] == "start the server: ollama serve"
    with pytest.raises(AttributeError):
        failure.description = "other"  # type: ignore[misc]


# --- what they name --------------------------------------------------------------------------------------------------


def test_a_rate_limit_names_the_wait_and_a_context_length_its_limits() -> None:
    assert "wait 2.5 seconds (retry_after)" in " ".join(RateLimitError("slow", retry_after=2.5).suggestions)
    assert "no retry_after" in RateLimitError("slow").suggestions[0]
    error = ContextLengthError("too long", model="m")
    assert "max_output_tokens" in error.suggestions[0]
    error.limit, error.requested = 8192, 9000
    error.facts = {"context_window": 128_000, "max_output": 4096}
    said = " ".join(error.suggestions)
    assert all(number in said for number in ("8192", "9000", "128000", "4096"))


def test_an_authentication_error_names_the_variables_of_the_vendor() -> None:
    for name, row in VENDORS.items():
        if not row.base_url.startswith("https"):
            continue
        base_url = row.base_url.replace("{", "").replace("}", "")
        given = {"api_key": None, "wire": None, "vendor": None, "provider": None, "base_url": base_url}
        target = Targets(f"{name}/m", **given).find(f"{name}/m")  # type: ignore[arg-type]
        error = AuthenticationError("no", vendor=name)
        error.facts = target.facts()
        variables = [env for way in row.ways(row.wire) if not isinstance(way, NoAuth) for env in names(way.env)]
        assert variables, name
        assert [env for env in variables if env not in error.suggestions[0]] == [], name
        assert str(error) == f"no ({error.suggestions[0]})"


def names(env: str | tuple[str, ...]) -> tuple[str, ...]:
    return (env,) if isinstance(env, str) else env


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["ollama", "vllm", "llamacpp", "lmstudio", "compatible"])
async def test_a_server_of_ones_own_that_is_down_is_to_be_started(new_client: NewClient, name: str) -> None:
    url = nobody()
    async with new_client(f"{name}/m", base_url=url) as llm:
        failed = await llm.try_generate("Hi")
    assert isinstance(failed, Failure)
    start = VENDORS[name].start
    assert failed.suggestions[0].startswith(f"start the server: {start}" if start else f"start the server at {url}")
    assert failed.description.endswith("connection refused; is it running?")


def test_a_server_elsewhere_is_checked() -> None:
    error = ConnectError("no", reason="refused")
    error.facts = {"endpoint": "https://llm.example.com"}
    assert error.suggestions[0] == "check that https://llm.example.com is up"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (401, AuthenticationError, ["OPENAI_API_KEY"]),
        (404, NotFoundError, ["llm.models.list()", "openai"]),
        (429, RateLimitError, ["wait 7 seconds", "RetryPolicy("]),
    ],
)
async def test_what_a_vendor_refused_is_a_failure_with_facts(
    new_client: NewClient, httpx_mock: HTTPXMock, status: int, kind: type[LLMError], words: list[str]
) -> None:
    httpx_mock.add_response(status_code=status, json={"error": {"message": "no"}}, headers={"retry-after": "7"})
    async with new_client() as llm:
        failed: Any = await llm.try_generate("Hi")
    assert isinstance(failed.error, kind)
    assert all(word in " ".join(failed.suggestions) for word in words)
    assert failed.error.to_response()["suggestions"] == [*failed.suggestions]
    assert "sk-test" not in repr(failed)


@pytest.mark.anyio
async def test_a_token_provider_is_what_to_check_where_there_is_one(
    new_client: NewClient, httpx_mock: HTTPXMock
) -> None:
    httpx_mock.add_response(status_code=401, json={"error": {"message": "no"}}, is_reusable=True)
    async with new_client(api_key=None, credentials=lambda vendor, account: "token-0123456789") as llm:
        failed = await llm.try_generate("Hi")
    assert failed.suggestions[0] == "check the token that credentials= returns"
