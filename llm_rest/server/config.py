"""The configuration of a gateway: models by name, access tokens, limits and storage, from a TOML file or from flags.

Secrets are never in the file: it names the environment variables that hold them. Before changing this file, know that
only the operator decides the destination of a request: callers send names, and the configuration maps them to models.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, field

from ..errors import ConfigError
from ..vendors.rows import is_loopback
from .access import AccessControl, Limits
from .history import StoredHistory
from .store import MAX_BYTES, MemoryStore, SQLiteStore


class Upstream(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model of a vendor, and the base URL, wire and key where they are not the vendor's own."""

    model: str
    """The model as `"vendor/model"`."""
    base_url: str | None = None
    """The base URL; `None` for the vendor's own."""
    wire: str | None = None
    """The wire format; `None` for the vendor's preferred one."""
    key_env: str | None = None
    """The environment variable with the API key; `None` for the vendor's own."""
    urls: Literal["pass", "refuse"] | None = None
    """Whether URLs of images and documents are sent, for the upstream to fetch; by default not to one in a private network."""


Upstreams = str | Upstream | tuple[str | Upstream, ...]
"""A model, or several for fallback: where one fails, the next one is tried (`llm_rest.Fallback`)."""


class Keep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The storage of conversations: in memory, or in a SQLite file."""

    path: str | None = None
    """The SQLite file; `None` stores everything in memory, until the process ends."""
    bytes: int = MAX_BYTES
    """The maximum number of bytes stored; the least recently used entries are deleted first."""

    def history(self) -> StoredHistory:
        """The history in that store. Raises `ConfigError` where the file cannot be opened."""
        return StoredHistory(MemoryStore(self.bytes) if self.path is None else SQLiteStore(self.path, self.bytes))


class Seal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The secret keys of the seals on vendors' opaque state that clients get: the first one signs, and all are accepted.

    Without one a random key is stored in the file of `Keep`, or made for the process if there is none. Gateways with the
    same key accept each other's seals.
    """

    key_env: str | tuple[str, ...] = ()
    """The environment variable with the key, or several."""
    key_file: str | tuple[str, ...] = ()
    """The file whose first line is the key, or several. They come after those of `key_env`."""

    def keys(self) -> list[bytes]:
        """The keys. Raises `ConfigError` for one that is missing or too short."""
        variables = [self.key_env] if isinstance(self.key_env, str) else self.key_env
        files = [self.key_file] if isinstance(self.key_file, str) else self.key_file
        found = {name: os.environ.get(name, "") for name in variables}
        for name in files:
            try:
                found[name] = next(iter(Path(name).read_text("utf-8").splitlines()), "")
            except (OSError, UnicodeError) as problem:
                raise ConfigError(f"cannot read the key of the seals in {name}: {problem}") from None
        for name, key in found.items():
            if len(key.strip()) < SHORTEST:
                raise ConfigError(
                    f"{name} holds no key of at least {SHORTEST} characters for the seals",
                    hint="python -c 'import secrets; print(secrets.token_urlsafe(32))' prints one",
                )
        return [key.strip().encode() for key in found.values()]


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The configuration of a gateway. Callers may name the `models`, and `vendor/model` for their vendors and `vendors`."""

    default: Upstreams | None = None
    """The model for every name that is not in `models`; `None` answers such names with 404."""
    models: Mapping[str, Upstreams] = field(default_factory=dict[str, "Upstreams"])
    """Models by the names that callers use, as `"vendor/model"` or an `Upstream`, or several for fallback, in order."""
    vendors: tuple[str, ...] = ()
    """Vendors whose models callers may name as `vendor/model`, beside those of `models`; `"*"` is every vendor."""
    tokens: Mapping[str, str] = field(default_factory=dict[str, str])
    """The environment variable with each caller's access token, by caller name; empty where no token is needed."""
    limits: Limits = Limits()
    """The limits on size, time and concurrency."""
    keep: Keep = Keep()
    """The storage of conversations."""
    allow: tuple[str, ...] = ()
    """Fields that callers may send although they choose models or prices, multiply the answer, or name files at the vendor."""
    hosted_tools: bool | tuple[str, ...] = True
    """Whether callers may use tools that run at the vendor, MCP servers included; or the types of those that they may use."""
    unknown: Literal["auto", "pass", "drop", "refuse"] = "auto"
    """Fields that this library does not know: `auto` passes them where no `output_tokens` limits the answers."""
    origins: tuple[str, ...] = ()
    """The origins of web pages whose scripts may call the gateway (CORS), as `https://app.example`."""
    seal: Seal = Seal()
    """The keys of the seals on vendors' opaque state that clients get."""


def load(path: Path) -> Config:
    """The configuration in a TOML file. Raises `ConfigError` where it cannot be read or is invalid, naming the place."""
    try:
        return msgspec.toml.decode(path.read_bytes(), type=Config)
    except OSError as problem:
        raise ConfigError(f"cannot read {path}: {problem.strerror}") from None
    except (msgspec.MsgspecError, ValueError) as problem:
        raise ConfigError(f"{path}: {problem}") from None


def tokens(config: Config, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The access tokens by the callers' names. Raises `ConfigError` for an environment variable that is not set."""
    found: dict[str, str] = {}
    for name, variable in config.tokens.items():
        token = (os.environ if environ is None else environ).get(variable, "").strip()
        if len(token) < SHORTEST:
            raise ConfigError(
                f"{variable} holds no access token of at least {SHORTEST} characters", hint=f"set {variable}"
            )
        found[name] = token
    return found


def access_control(config: Config, host: str | None) -> AccessControl:
    """The access control of a gateway that listens on `host`.

    Raises `ConfigError` where `host` is not loopback and there are no tokens. `host=None` is for an ASGI server of the
    caller's: without tokens everyone who reaches it has access.
    """
    found = tokens(config)
    for origin in config.origins:
        if not re.fullmatch(r"https?://[^/\s*]+", origin):
            raise ConfigError(f"origins: {origin!r} is no origin", hint='write "https://app.example", without a path')
    if host is None:
        return AccessControl(tokens=found, limits=config.limits, origins=config.origins)
    if not found and not is_loopback(host):
        raise ConfigError(f"a gateway on {host} needs access tokens", hint="--token-env NAME, or [tokens] in the file")
    return AccessControl.at(host, tokens=found, limits=config.limits, origins=config.origins)


SHORTEST = 16
"""The minimum length of an access token, in characters."""
