"""Vendors: every row is valid, the name of a model leads to one endpoint, and an invalid name or URL is an error."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from llm_rest import wires
from llm_rest.errors import ConfigError
from llm_rest.vendors.dialects import CHAT_HOSTS, COMPATIBLE, ChatDialect, MessagesDialect
from llm_rest.vendors.rows import (
    DIALECTS,
    OTHER_NAMES,
    VENDORS,
    Bearer,
    Dialect,
    Endpoint,
    Header,
    NoAuth,
    Surface,
    URLEnv,
    Vendor,
    is_loopback,
    resolve,
)
from tests.corpus import RENAMED, exchanges

ROOT = Path(__file__).parents[1]

SURFACES = [(row, surface) for row in VENDORS.values() for surface in row.surfaces]


def at(model: str, **options: object) -> Endpoint:
    return resolve(model, **{"environ": {}, **options})  # pyright: ignore[reportArgumentType]


def wrong(model: str | None, **options: object) -> str:
    with pytest.raises(ConfigError) as caught:
        resolve(model, **{"environ": {}, **options})  # pyright: ignore[reportArgumentType]
    assert caught.value.hint, "what to do about it"
    return str(caught.value)


# --- the rows -------------------------------------------------------------------------------------------------------


def test_the_wires_of_the_table() -> None:
    assert tuple(DIALECTS) == wires.NAMES
    assert {surface.wire for _, surface in SURFACES} == set(wires.NAMES)


def variables(row: Vendor) -> list[str]:
    """The environment variables that may hold the key of a vendor."""
    ways = [way for way in row.ways(row.wire) if not isinstance(way, NoAuth)]
    return [name for way in ways for name in ((way.env,) if isinstance(way.env, str) else way.env)]


def problems(row: Vendor) -> list[str]:
    """What is wrong with a row of the table."""
    url = urlsplit(row.base_url)
    local = url.scheme == "inproc" or is_loopback(url.hostname or "")
    valid = {
        "it is found by its name": VENDORS[row.name] is row,
        "no wire is listed twice": len(set(row.wires)) == len(row.wires),
        "the base URL has no slash at its end": not row.base_url.endswith("/"),
        "there is time for the first byte": row.first_byte > 0,
        "a host on the network has https": url.scheme == "https" or row.name == "compatible" or local,
        "variables have names": all(re.fullmatch(r"[A-Z][A-Z0-9_]+", name) for name in variables(row)),
    }
    return [name for name, holds in valid.items() if not holds]


def test_a_row_is_valid() -> None:
    assert {name: found for name, row in VENDORS.items() if (found := problems(row))} == {}


def test_every_host_with_a_chat_dialect_has_a_row() -> None:
    assert set(CHAT_HOSTS) <= set(VENDORS)
    for row, surface in SURFACES:
        if isinstance(surface.dialect, ChatDialect) and row.name in CHAT_HOSTS:
            known = msgspec.structs.asdict(CHAT_HOSTS[row.name])
            stated = msgspec.structs.asdict(surface.dialect)
            assert {n for n in known if known[n] != stated[n]} <= {"path", "max_tokens_field"}, row.name


def test_opaque_state_is_returned_to_its_issuer_alone() -> None:
    for row, surface in SURFACES:
        base_url = "https://host.example/v1" if "{" in row.base_url or not row.base_url else None
        found = at(f"{row.name}/m", wire=surface.wire, base_url=base_url)
        issuer = row.name if row.base_url else f"{row.name}:host.example"
        assert found.dialect.issuer == issuer, (row.name, surface.wire)


def test_local_servers_need_no_key_and_have_a_long_timeout() -> None:
    for name in (n for n, row in VENDORS.items() if "localhost" in row.base_url or "127." in row.base_url):
        found = at(f"{name}/m")
        assert (found.key_optional, found.vendor.first_byte >= 600) == (True, True), name


OTHER_SURFACES = re.compile(
    r"localhost:8787|europe-west4|ollama\.com|/deployments/|router\.huggingface\.co/\w+/v\d|bedrock-mantle.*aws/v1/responses"
)
"""Recorded URLs that no row means: a proxy, a cloud, an older surface, a provider behind a router."""


PLACES = {"{resource}": "resource", "{region}": "us-east-1", "{account}": "account"}


@pytest.mark.parametrize("wire", wires.NAMES)
def test_recorded_requests_were_sent_to_the_urls_of_the_rows(wire: str) -> None:
    seen: set[str] = set()
    for exchange in exchanges(wire):
        row = VENDORS.get(RENAMED.get(exchange.vendor, exchange.vendor))
        url = exchange.request.url.partition("?")[0] if exchange.request else ""
        url = url.replace("//127.0.0.1:11434/", "//localhost:11434/")  # the same server, in the name of its own client
        if row is None or not url or OTHER_SURFACES.search(url):
            continue
        base_url = row.base_url
        for place, value in PLACES.items():
            base_url = base_url.replace(place, value)
        if "/projects/PROJECT/" in url:
            base_url += "/projects/PROJECT/locations/global"
        found = at(f"{row.name}/m", wire=wire, base_url=base_url)
        start, in_url, _ = (found.base_url + found.dialect.path).partition("{model}")
        assert url.startswith(start) if in_url else url == start
        seen.add(row.name)
    assert seen


# --- from a name to an endpoint -------------------------------------------------------------------------------------


def test_the_name_of_a_model_is_what_follows_the_first_slash() -> None:
    for name in (
        "gemma3:27b",
        "accounts/x/models/m",
        "openai/gpt-oss-120b",
        "/srv/models/llama",
        "a b",
        "@cf/m",
        "模型",
    ):
        found = at(f"vllm/{name}")
        assert (found.vendor.name, found.model) == ("vllm", name)


BAD_NAMES = (
    "../../admin?key=x#y", "..", "./m", "a/../b", "a/.", "m?x=1", "m#f", "a%2f", "a\\b", "m\r\nX: y", "m\x00", " m", "m\n",
    "m" * 513,
)  # fmt: skip


def test_a_model_name_cannot_change_the_path_of_the_url() -> None:
    assert [name for name in BAD_NAMES if "cannot be sent" not in wrong(f"vllm/{name}")] == []


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        *((none, {}, 'no model was given (pass one as "vendor/model"; there is no default)') for none in (None, "")),
        ("gpt-5.1", {}, 'the model \'gpt-5.1\' names no vendor (write "vendor/gpt-5.1", such as "openai/gpt-5.1")'),
        ("openai/", {}, "has no name after its vendor"),
        ("opnai/m", {}, "did you mean openai"),
        ("deep-seek/m", {}, "did you mean deepseek"),
        *((f"{name}/m", {}, f"did you mean {meant}") for name, meant in OTHER_NAMES.items()),
        ("openai/m", {"wire": "anthropic_messages"}, "'anthropic_messages' (it speaks openai_responses, openai_chat)"),
        ("compatible/m", {}, "pass base_url="),
        ("openai/m", {"environ": {"OPENAI_BASE_URL": "p.example"}}, "OPENAI_BASE_URL must begin with https://"),
        ("azure_openai/my-deployment", {}, "{resource}"),
        ("azure_openai/my-deployment", {}, "pass base_url= or set AZURE_OPENAI_ENDPOINT"),
        # A variable that is to hold a name cannot lead to another host.
        *(
            ("snowflake/m", {"environ": {"SNOWFLAKE_ACCOUNT": value}}, "has no host of its own")
            for value in ("evil.example#", "a@evil.example", "a/b", "a b", "{0}")
        ),
    ],
)
def test_an_error_names_what_to_write_instead(model: str | None, options: dict[str, Any], words: str) -> None:
    assert words in wrong(model, **options)


def test_a_vendor_with_a_name_like_no_other_gets_the_list() -> None:
    message = wrong("zzzz/m")
    assert all(name in message for name in VENDORS)
    assert "base_url=" in message


PROXY = "https://p.example"
LOCAL = ("localhost:1234", "localhost", "127.0.0.1:1234/v1", "[::1]:1234", "box.localhost:80")


@pytest.mark.parametrize(
    ("model", "given", "wire", "used"),
    [
        # The wire is the preferred one, or the one that the path of the base URL belongs to.
        ("ollama/m", "http://nas:11434/v1", "openai_chat", "http://nas:11434"),
        ("ollama/m", "http://nas:11434/v1/messages", "anthropic_messages", "http://nas:11434"),
        ("ollama/m", "http://nas:11434/api", "ollama_chat", "http://nas:11434"),
        ("google/m", f"{PROXY}/v1beta/openai/", "openai_chat", PROXY),
        ("google/m", f"{PROXY}/v1beta", "gemini_generate_content", PROXY),
        ("deepseek/m", f"{PROXY}/anthropic", "anthropic_messages", PROXY),
        ("openai/m", f"{PROXY}/v1/chat/completions", "openai_chat", f"{PROXY}/v1"),
        ("compatible/org/m", f"{PROXY}/v1", "openai_chat", f"{PROXY}/v1"),
        # The path that the wire adds, or a part of it, is not repeated.
        ("openai/m", f"{PROXY}/v1/", "openai_responses", f"{PROXY}/v1"),
        ("openai/m", "http://localhost:8787/openai", "openai_responses", "http://localhost:8787/openai"),
        ("openai/m", "http://[::1]:8787", "openai_responses", "http://[::1]:8787"),
        ("openai/m", f"{PROXY}/v1/responses", "openai_responses", f"{PROXY}/v1"),
        ("anthropic/m", f"{PROXY}/v1/messages/", "anthropic_messages", PROXY),
        ("anthropic/m", f"{PROXY}/anthropic", "anthropic_messages", f"{PROXY}/anthropic"),
        ("google/m", f"{PROXY}/v1beta/models", "gemini_generate_content", PROXY),
        ("anthropic/m", f"{PROXY}/xv1", "anthropic_messages", f"{PROXY}/xv1"),
        ("anthropic/m", "https://v1", "anthropic_messages", "https://v1"),
        # This machine needs no scheme, and a host that needs no key may have plain http.
        *(("compatible/m", local, "openai_chat", f"http://{local}") for local in LOCAL),
        ("compatible/m", "http://gpu.example/v1", "openai_chat", "http://gpu.example/v1"),
    ],
)
def test_a_base_url_replaces_the_one_of_the_row_and_chooses_the_wire(
    model: str, given: str, wire: str, used: str
) -> None:
    found = at(model, base_url=given)
    assert (found.wire, found.base_url, found.model) == (wire, used, model.partition("/")[2])


def test_a_wire_that_is_given_is_used() -> None:
    assert at("openai/gpt-5.1", wire="openai_chat").dialect.path == "/chat/completions"
    assert at("ollama/m", base_url="http://nas:11434/v1", wire="openai_responses").wire == "openai_responses"


# --- a row of one's own ---------------------------------------------------------------------------------------------

MINE = Vendor(
    name="my",
    wire="openai_chat",
    base_url="https://host.example/v1",
    auth=Bearer(env="MY_KEY"),
    dialect=ChatDialect(max_tokens_field="max_tokens"),
)


@pytest.mark.parametrize("model", ["my/org/m", "org/m"])
def test_a_row_of_ones_own_may_be_named_or_not(model: str) -> None:
    found = at(model, vendor=MINE)
    assert (found.vendor, found.model, found.base_url) == (MINE, "org/m", "https://host.example/v1")
    assert found.dialect == ChatDialect(max_tokens_field="max_tokens", issuer="my")


def test_a_chat_host_without_a_dialect_gets_the_basic_one() -> None:
    row = Vendor(name="my", wire="openai_chat", base_url="https://h.example/v1")
    assert at("m", vendor=row).dialect == msgspec.structs.replace(COMPATIBLE, issuer="my")

    stated = msgspec.structs.replace(row, dialect=ChatDialect(issuer="lab"))
    assert at("m", vendor=stated).dialect.issuer == "lab"


def test_a_row_may_join_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VENDORS, "my", MINE)
    assert at("my/m").vendor is MINE


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        *(({"name": name}, "cannot be named") for name in ("", "a/b", "a b", "ä", "-a")),
        ({"wire": "openai"}, "there is no wire 'openai'"),
        ({"dialect": MessagesDialect()}, "takes a ChatDialect, not a MessagesDialect"),
    ],
)
def test_an_invalid_row_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Vendor(**{"name": "my", "wire": "openai_chat", **fields})
    with pytest.raises(ConfigError, match="there is no wire 'chat'"):
        Surface("chat")


def test_a_surface_may_have_authentication_of_its_own() -> None:
    row = Vendor(
        name="my",
        wire="openai_chat",
        base_url="https://h.example/v1",
        auth=Bearer(env="K"),
        other_wires=(Surface("anthropic_messages", auth=Header(name="x-api-key", env="K")),),
    )
    assert at("m", vendor=row).ways == (Bearer(env="K"),)
    assert at("m", vendor=row, wire="anthropic_messages").ways == (Header(name="x-api-key", env="K"),)


# --- base URLs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("host.example/v1", "must begin with https:// or http://"),
        ("https://", "must begin with https:// or http://"),
        ("10.0.0.1:8000", "must begin with https:// or http://"),
        ("localhost.example.com", "must begin with https:// or http://"),
        ("", "needs a base URL"),
        ("ftp://host.example", "must begin with https:// or http://"),
        ("inproc:os", "inproc: address is part of a vendor's row"),
        ("https://user:pw@host.example", "user name or password"),
        ("https://@host.example", "user name or password"),
        ("https://host.example/v1?key=s3cr3t", "query or fragment"),
        ("https://host.example/v1#s3cr3t", "query or fragment"),
        ("https://host.example/a b", "characters"),
        ("https://host.example/a\r\nX: y", "characters"),
        ("https://host.example/../admin", "path segments"),
        ("https://host.example\\@evil.example", "user name or password"),
        ("https://host.example\\evil.example", "characters"),
        ("https://hóst.example", "characters"),
        ("https://host.example/{s3cr3t}", "characters"),
        ("https://host.example:99999", "is not a URL"),
        ("https://[::1", "is not a URL"),
        ("http://host.example/v1", "a key never travels over plain http"),
        ("http://localhost.evil.example/v1", "a key never travels over plain http"),
    ],
)
def test_a_base_url_that_is_unsafe_or_none_is_refused_and_not_shown(url: str, why: str) -> None:
    message = wrong("openai/m", base_url=url)
    assert why in message
    assert "base_url" in message
    assert "s3cr3t" not in message
    assert "pw@" not in message


def test_a_row_may_allow_plain_http() -> None:
    row = msgspec.structs.replace(MINE, base_url="http://gpu.example/v1", allow_insecure=True)
    assert at("m", vendor=row).base_url == "http://gpu.example/v1"


@pytest.mark.parametrize(
    ("model", "environ", "used"),
    [
        ("openai/m", {"OPENAI_BASE_URL": " "}, "https://api.openai.com/v1"),
        ("anthropic/m", {"ANTHROPIC_BASE_URL": "https://p.example/"}, "https://p.example"),
        ("groq/m", {"GROQ_BASE_URL": "https://p.example"}, "https://p.example/openai/v1"),
        ("groq/m", {"GROQ_BASE_URL": "https://p.example/openai/v1"}, "https://p.example/openai/v1"),
        ("cerebras/m", {"CEREBRAS_BASE_URL": "https://p.example/"}, "https://p.example/v1"),
        ("azure_openai/m", {"AZURE_OPENAI_ENDPOINT": "https://r.azure.com/"}, "https://r.azure.com/openai/v1"),
        ("ollama/m", {"OLLAMA_HOST": "nas"}, "http://nas:11434"),
        ("ollama/m", {"OLLAMA_HOST": "nas:9999"}, "http://nas:9999"),
        ("ollama/m", {"OLLAMA_HOST": "https://nas.example"}, "https://nas.example"),
        ("ollama/m", {"OLLAMA_HOST": "0.0.0.0"}, "http://0.0.0.0:11434"),
        ("bedrock_mantle/m", {"AWS_REGION": "eu-west-1"}, "https://bedrock-mantle.eu-west-1.api.aws"),
        ("snowflake/m", {"SNOWFLAKE_ACCOUNT": "o-a"}, "https://o-a.snowflakecomputing.com/api/v2/cortex/v1"),
        ("deepseek/m", {"OPENAI_BASE_URL": "https://p.example/v1"}, "https://api.deepseek.com"),
    ],
)
def test_the_environment_may_name_the_base_url(model: str, environ: dict[str, str], used: str) -> None:
    assert at(model, environ=environ).base_url == used


def test_the_argument_wins_over_the_environment_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://p.example/v1")
    assert resolve("openai/m").base_url == "https://p.example/v1"
    assert resolve("openai/m", base_url="https://a.example/v1").base_url == "https://a.example/v1"
    monkeypatch.setenv("OLLAMA_HOST", "http://nas:11434/v1")
    assert resolve("ollama/m").wire == "openai_chat"


def test_a_row_of_ones_own_may_read_variables() -> None:
    row = msgspec.structs.replace(MINE, base_url_env=("A_URL", URLEnv("B_HOST", path="/v1", port=8000)))
    for environ, used in (
        ({"A_URL": "", "B_HOST": "localhost"}, "http://localhost:8000/v1"),
        ({"A_URL": "https://a.example", "B_HOST": "localhost"}, "https://a.example"),
    ):
        assert at("m", vendor=row, environ=environ).base_url == used


def test_no_frame_of_a_traceback_holds_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SECRET", "s3cr3t-value")
    with pytest.raises(ConfigError) as caught:
        resolve("openai/m", base_url="nonsense")
    for frame, _ in list(traceback.walk_tb(caught.value.__traceback__))[1:]:
        assert "s3cr3t-value" not in repr(frame.f_locals)


# --- the documentation ----------------------------------------------------------------------------------------------


def test_the_documented_table_is_the_table() -> None:
    lines = (ROOT / "docs/vendors.md").read_text().splitlines()
    table = {line.split("`")[1]: line for line in lines if line.startswith("| `")}
    assert set(table) == set(VENDORS)
    for name, row in VENDORS.items():
        _, _, wires_cell, url_cell, key_cell, *_ = (cell.strip() for cell in table[name].split("|"))
        assert re.findall(r"`(\w+)`", wires_cell) == list(row.wires), name
        assert row.base_url.startswith("inproc:") or f"`{row.base_url or 'base_url='}`" == url_cell, name
        assert list(re.findall(r"`([A-Z_]+)`", key_cell)) == variables(row), name


def test_every_variable_that_may_hold_a_url_is_documented() -> None:
    text = (ROOT / "docs/vendors.md").read_text()
    names = [rule if isinstance(rule, str) else rule.name for row in VENDORS.values() for rule in row.base_url_env]
    assert [name for name in names if f"`{name}`" not in text] == []


NOT_CLAIMS = {
    *(
        "path",
        "stream_path",
        "issuer",
        "sources",
        "root",
        "collection",
        "system_role",
        "strict_schemas",
        "search_models",
    ),
    *("max_tokens_field", "seed_field", "effort_field", "reasoning_field", "replay_reasoning", "counts_logprobs"),
    *("documents_by_url", "untyped_calls", "missing_call_state", "think_tags", "output_tokens", "longest_call_id"),
    *("checks_ids", "takes_reasoning_text", "groups_calls", "requires_reasoning", "stores_nothing", "model_reasons"),
    *(
        "media_in_outputs",
        "images",
        "fetches_urls",
        "is_vertex",
        "cache_ttls",
        "metadata_needs_store",
        "body_version",
        "betas_in_body",
        "stream_in_body",
    ),
}
"""The facts of dialects that change how something is written, and leave nothing out."""


def claims(dialect: Dialect) -> Iterator[str]:
    """What the dialect says a host does not support: the options it lacks, and the facts that restrict it."""
    own = type(dialect)()
    for name in dialect.__struct_fields__:
        if name == "lacks":
            yield from getattr(dialect, name)
        elif name not in NOT_CLAIMS and getattr(dialect, name) != getattr(own, name):
            yield name
    yield from ["efforts"] if own == dialect and getattr(own, "efforts", None) else []


@pytest.mark.parametrize(("row", "surface"), SURFACES, ids=[f"{row.name}-{surface.wire}" for row, surface in SURFACES])
def test_a_claim_that_a_host_does_not_support_something_has_a_source(row: Vendor, surface: Surface) -> None:
    dialect = surface.dialect or DIALECTS[surface.wire]()
    assert [claim for claim in claims(dialect) if "read 2026-" not in dialect.sources.get(claim, "")] == []
