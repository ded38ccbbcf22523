"""Keys: where they come from, how they travel, and that nothing shows them."""

from __future__ import annotations

import copy
import json
import logging
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from llm_rest.errors import ConfigError, ErrorFacts
from llm_rest.vendors.auth import APIKey, Secret, checked_headers, credentials, text_without_secrets, without_secrets
from llm_rest.vendors.rows import Endpoint, Header, NoAuth, Vendor, resolve

KEY = "k-9f8e7d6c5b4a3210"


def endpoint(model: str = "openai/gpt-5.1", **options: object) -> Endpoint:
    return resolve(model, environ={}, **options)  # pyright: ignore[reportArgumentType]


def shown(headers: Mapping[str, str | Secret]) -> dict[str, str]:
    return {name: value.reveal() if isinstance(value, Secret) else value for name, value in headers.items()}


# --- a secret -------------------------------------------------------------------------------------------------------

WAYS_TO_SHOW: dict[str, Callable[[Secret], object]] = {
    "str": str,
    "repr": repr,
    "format": lambda secret: f"{secret}{secret!r}{secret!s:>40}",
    "percent": lambda secret: "%s %r" % (secret, secret),  # noqa: UP031
    "in a list": lambda secret: repr([secret, (secret,), {"k": secret}]),
    "copy": lambda secret: repr(copy.copy(secret)),
    "deepcopy": lambda secret: repr(copy.deepcopy({"k": secret})),
    "prefixed": lambda secret: str(secret.after("Bearer ")),
    "dir": dir,
    "json": lambda secret: json.dumps({"k": secret}, default=str),
    "log": lambda secret: logging.LogRecord("t", 0, "", 0, "%s and %r", (secret, {"key": secret}), None).getMessage(),
}


@pytest.mark.parametrize("way", WAYS_TO_SHOW)
def test_nothing_shows_a_secret(way: str) -> None:
    """BUGS 84"""
    assert KEY not in str(WAYS_TO_SHOW[way](Secret(KEY)))


@pytest.mark.parametrize("take", [pickle.dumps, vars, msgspec.json.encode, json.dumps, list, "".join])
def test_what_would_take_a_secret_apart_fails(take: Callable[[object], object]) -> None:
    with pytest.raises(TypeError) as caught:
        take([Secret(KEY)] if take == "".join else Secret(KEY))
    assert KEY not in str(caught.value)


def test_a_secret_is_a_value() -> None:
    assert Secret(KEY) == Secret(Secret(KEY))
    assert Secret(KEY) not in (Secret("other"), KEY)
    assert len({Secret(KEY), Secret(KEY)}) == 1
    assert (bool(Secret("")), bool(Secret(KEY))) == (False, True)
    assert Secret(KEY).reveal() == KEY


# --- where a key comes from -----------------------------------------------------------------------------------------


def test_the_token_of_a_call_comes_before_a_key_that_before_a_provider_and_that_before_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A key that happens to be set must not stand in for the account a call is made for."""
    asked: list[tuple[str, str | None]] = []

    def tokens(vendor: str, account: str | None) -> str:
        asked.append((vendor, account))
        return f"token-of-{account}"

    monkeypatch.setenv("OPENAI_API_KEY", "found")
    known = credentials(endpoint(), api_key="given", provider=tokens)
    assert shown(known.headers(user_token="of the user")) == {"Authorization": "Bearer of the user"}
    assert (shown(known.headers()), known.renewable, asked) == ({"Authorization": "Bearer given"}, False, [])
    known = credentials(endpoint(), provider=tokens)
    assert shown(known.headers(account="u42")) == {"Authorization": "Bearer token-of-u42"}
    assert shown(known.headers(account="u43")) == {"Authorization": "Bearer token-of-u43"}
    assert (known.renewable, asked) == (True, [("openai", "u42"), ("openai", "u43")])
    assert shown(credentials(endpoint()).headers()) == {"Authorization": "Bearer found"}


@pytest.mark.parametrize("options", [{"api_key": "given"}, {"environ": {"OPENAI_API_KEY": "found"}}, {}])
def test_an_account_needs_a_token_provider(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="account= needs a token provider"):
        credentials(endpoint(), **{"environ": {}, **options}).headers(account="u42")


@pytest.mark.parametrize("nothing", ["", None, 3])
def test_a_token_that_is_empty_or_no_text_is_an_error(nothing: object) -> None:
    known = credentials(endpoint(), provider=lambda vendor, account: nothing, environ={})  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="the token for openai is empty or no text"):
        known.headers()


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("openai/gpt-5.1", "set OPENAI_API_KEY or pass api_key="),
        ("google/gemini-2.5-pro", "set GOOGLE_API_KEY or set GEMINI_API_KEY or pass api_key="),
        ("anthropic/claude-haiku-4-5", "set ANTHROPIC_API_KEY or set ANTHROPIC_AUTH_TOKEN or pass api_key="),
    ],
)
def test_a_missing_key_names_what_to_set(model: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        credentials(endpoint(model), environ={}).headers()
    assert caught.value.hint == hint
    assert model.partition("/")[0] in caught.value.message


# --- how it travels -------------------------------------------------------------------------------------------------

BEARER = {"Authorization": "Bearer k"}
CLOUD, AZURE = "https://ollama.com", "https://r.openai.azure.com/openai/v1"


@pytest.mark.parametrize(
    ("model", "given", "environ", "headers"),
    [
        ("groq/m", {}, {"GROQ_API_KEY": "k"}, BEARER),
        ("groq/m", {"api_key": "k"}, {"GROQ_API_KEY": "another"}, BEARER),
        ("anthropic/m", {}, {"ANTHROPIC_API_KEY": "k"}, {"x-api-key": "k"}),
        ("anthropic/m", {"api_key": "k"}, {}, {"x-api-key": "k"}),
        ("anthropic/m", {"api_key": "k", "wire": "openai_chat"}, {}, BEARER),
        ("anthropic/m", {}, {"ANTHROPIC_AUTH_TOKEN": "k"}, BEARER),
        ("anthropic/m", {}, {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t"}, {"x-api-key": "k"}),
        ("google/m", {}, {"GEMINI_API_KEY": "b", "GOOGLE_API_KEY": "a"}, {"x-goog-api-key": "a"}),
        ("google/m", {}, {"GEMINI_API_KEY": "b", "GOOGLE_API_KEY": ""}, {"x-goog-api-key": "b"}),
        ("google/m", {}, {"GEMINI_API_KEY": "b", "GOOGLE_API_KEY": " \t\n"}, {"x-goog-api-key": "b"}),
        ("azure_openai/m", {"base_url": AZURE}, {"AZURE_OPENAI_API_KEY": "k"}, {"api-key": "k"}),
        ("azure_openai/m", {"base_url": AZURE}, {"AZURE_OPENAI_AD_TOKEN": "k"}, BEARER),
        (
            "openai/m",
            {},
            {"OPENAI_API_KEY": "k", "OPENAI_ORG_ID": "o", "OPENAI_PROJECT_ID": ""},
            {**BEARER, "OpenAI-Organization": "o"},
        ),
        # Local servers need no key, and take one; that of Ollama's cloud is not for them.
        ("simulator/demo", {}, {}, {}),
        ("vllm/m", {}, {}, {}),
        ("vllm/m", {"api_key": "k"}, {}, BEARER),
        ("ollama/m", {}, {"OLLAMA_API_KEY": "k"}, {}),
        ("ollama/m", {"base_url": CLOUD}, {"OLLAMA_API_KEY": "k"}, BEARER),
    ],
)
def test_a_key_is_sent_in_the_header_of_its_vendor(
    model: str, given: dict[str, str], environ: dict[str, str], headers: dict[str, str]
) -> None:
    """The argument comes before the environment, and there the first variable that is set."""
    options = {**given}
    key = options.pop("api_key", None)
    assert shown(credentials(endpoint(model, **options), api_key=key, environ=environ).headers()) == headers


@pytest.mark.parametrize(
    ("given", "headers"), [("t", {"Authorization": "Bearer t"}), (APIKey("k"), {"x-api-key": "k"})]
)
def test_a_token_is_sent_as_a_bearer_token_and_an_api_key_as_the_vendors_keys_are(given: Any, headers: Any) -> None:
    known = credentials(endpoint("anthropic/m"), provider=lambda vendor, account: given, environ={})
    assert shown(known.headers()) == headers


def test_a_key_never_travels_over_plain_http_to_another_machine() -> None:
    far = endpoint("vllm/m", base_url="http://gpu.example:8000/v1")
    assert credentials(far, environ={}).headers() == {}
    with pytest.raises(ConfigError, match="plain http"):
        credentials(far, api_key=KEY, environ={}).headers()
    for host in ("localhost", "127.0.0.1", "127.8.0.1", "[::1]", "api.localhost"):
        near = endpoint("vllm/m", base_url=f"http://{host}:8000/v1")
        assert shown(credentials(near, api_key="k", environ={}).headers()) == {"Authorization": "Bearer k"}


def test_a_row_of_ones_own_has_headers_several_ways_and_plain_http_where_it_allows_that() -> None:
    row = Vendor(
        name="lab",
        wire="openai_chat",
        base_url="https://lab.example/v1",
        auth=(Header(name="x-lab-key", env=("LAB_KEY", "OLD_LAB_KEY")), NoAuth()),
        headers={"x-team": "blue"},
        allow_insecure=True,
    )
    lab = endpoint("lab/m", vendor=row, base_url="http://gpu:8000/v1")
    assert shown(credentials(lab, environ={"OLD_LAB_KEY": "k"}).headers()) == {"x-team": "blue", "x-lab-key": "k"}
    assert shown(credentials(lab, environ={}).headers()) == {"x-team": "blue"}


# --- header values --------------------------------------------------------------------------------------------------

BAD_ENDS = ["\r\nX-Evil: 1", "\n", "\r", " ", "\t", "\x00", "ключ", "\u2028", "\x7f", "”"]


@pytest.mark.parametrize("value", [*(KEY + end for end in BAD_ENDS), f" {KEY}", f"“{KEY}"], ids=ascii)
@pytest.mark.parametrize("model", ["openai/m", "anthropic/m"])
def test_a_key_that_cannot_be_a_header_is_refused_without_being_shown(model: str, value: str) -> None:
    for known in (
        credentials(endpoint(model), api_key=value, environ={}),
        credentials(endpoint(model), environ={"OPENAI_API_KEY": value, "ANTHROPIC_API_KEY": value}),
        credentials(endpoint(model), provider=lambda vendor, account: value, environ={}),
    ):
        with pytest.raises(ConfigError, match=r"the header (Authorization|x-api-key) cannot be sent") as caught:
            known.headers()
        assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        *((name, "v", "cannot be the name of a header") for name in ("", "a b", "a:b", "a\r\n", "ä")),
        *((name, "0", "is the connection's own") for name in ("Host", "content-length", "Transfer-Encoding", "Expect")),
        ("x", 3, "the value of the header x is a int"),
    ],
    ids=ascii,
)
def test_a_header_that_cannot_be_sent_is_refused(name: str, value: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        checked_headers({name: value})


def test_headers_that_can_be_sent_pass_as_they_are() -> None:
    headers: dict[str, str | Secret] = {"X-Title": "Café ✗"[:4], "x-empty": "", "k": Secret("a b\tc")}
    assert checked_headers(headers) == headers


def test_credentials_show_what_they_know_and_not_the_key() -> None:
    assert repr(credentials(endpoint(), api_key=KEY, environ={})) == "<Credentials for openai: a key>"
    assert repr(credentials(endpoint(), environ={})) == "<Credentials for openai: no key>"
    assert "token provider" in repr(credentials(endpoint(), provider=lambda vendor, account: "t", environ={}))
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(credentials(endpoint(), api_key=KEY, environ={}))


# --- what comes back ------------------------------------------------------------------------------------------------


def test_a_key_that_the_server_repeats_is_redacted() -> None:
    sent = credentials(endpoint(), api_key=KEY, environ={}).headers()
    facts = ErrorFacts(
        status=401,
        message=f"bad key {KEY}",
        code=KEY,
        body={"error": [f"Bearer {KEY}"], KEY: 1},
        leftovers={"w": {"k": KEY}},
    )
    clean = without_secrets(facts, sent)
    assert KEY not in repr(clean)
    assert (clean.message, clean.code) == ("bad key [redacted]", "[redacted]")
    assert clean.body == {"error": ["Bearer [redacted]"], "[redacted]": 1}


@pytest.mark.parametrize("kept", range(8, len(KEY)))
def test_a_key_that_was_truncated_with_the_text_is_redacted_too(kept: int) -> None:
    sent = credentials(endpoint(), api_key=KEY, environ={}).headers()
    for text in (f"bad key {KEY[:kept]}", f"bad key {KEY[:kept]}…"):
        assert without_secrets(ErrorFacts(status=401, message=text), sent).message == "bad key [redacted]"
    assert text_without_secrets(f"{KEY[:kept]} is bad", sent) == f"{KEY[:kept]} is bad"


def test_an_error_without_the_key_or_with_a_very_short_one_stays_as_it_is() -> None:
    facts = ErrorFacts(status=401, message="the key is bad")
    assert without_secrets(facts, {"Authorization": Secret(f"Bearer {KEY}"), "x-team": "the key is bad"}) is facts
    assert without_secrets(facts, {"Authorization": Secret("Bearer k")}) == facts
