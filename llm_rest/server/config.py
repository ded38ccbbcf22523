"""How a gateway is set up: which names lead to which models, who may ask, and how much; from a TOML file or from flags.

Secrets are never in the file: it names the environment variables that hold them. Before changing this file, know that nobody
but the operator says where a request goes: callers give names, and a name leads where this says.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from ..errors import ConfigError
from ..vendors import is_loopback
from .access import Door, Limits
from .history import StoredHistory
from .store import MAX_BYTES, MemoryStore, SQLiteStore

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Upstream(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model, written `vendor/model`, and where it is reached where that is not the vendor's own address.

    `key_env` names the environment variable that holds the key, where it is not the vendor's own.
    """

    model: str
    base_url: str | None = None
    wire: str | None = None
    key_env: str | None = None


class Keep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where conversations are kept: in memory, or in the SQLite file at `path`, which outlives the process; `bytes` at most."""

    path: str | None = None
    bytes: int = MAX_BYTES

    def history(self) -> StoredHistory:
        """The history that is kept there. Raises `ConfigError` where it cannot be."""
        return StoredHistory(MemoryStore(self.bytes) if self.path is None else SQLiteStore(self.path, self.bytes))


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a gateway serves, to whom.

    `models` are models by the names that callers use. A caller may also write `vendor/model`, for the vendors of those models
    and for `vendors`; `"*"` there is every vendor. `default` answers every other name; without it there is no such model.
    `tokens` gives each caller the environment variable that holds its access token. `keep` says where conversations are kept.
    """

    default: str | Upstream | None = None
    models: dict[str, str | Upstream] = field(default_factory=dict[str, "str | Upstream"])
    vendors: tuple[str, ...] = ()
    tokens: dict[str, str] = field(default_factory=dict[str, str])
    limits: Limits = Limits()
    keep: Keep = Keep()


def load(path: Path) -> Config:
    """The set-up in a TOML file. Raises `ConfigError` saying what is wrong with it."""
    try:
        return msgspec.toml.decode(path.read_bytes(), type=Config)
    except OSError as problem:
        raise ConfigError(f"cannot read {path}: {problem.strerror}") from None
    except (msgspec.MsgspecError, ValueError) as problem:
        raise ConfigError(f"{path}: {problem}") from None


def tokens(config: Config, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The access tokens by the callers' names. Raises `ConfigError` for a variable without one."""
    found: dict[str, str] = {}
    for name, variable in config.tokens.items():
        token = (os.environ if environ is None else environ).get(variable, "").strip()
        if len(token) < SHORTEST:
            raise ConfigError(
                f"{variable} holds no access token of at least {SHORTEST} characters", hint=f"set {variable}"
            )
        found[name] = token
    return found


def door(config: Config, host: str | None) -> Door:
    """Who may ask a gateway that listens on `host`. Raises `ConfigError` where anybody on a network could.

    Without a host, on a server of somebody else's, whoever may reach that may ask where there are no tokens.
    """
    found = tokens(config)
    if host is None:
        return Door(tokens=found, limits=config.limits)
    if not found and not is_loopback(host):
        raise ConfigError(f"a gateway on {host} needs access tokens", hint="--token-env NAME, or [tokens] in the file")
    return Door.at(host, tokens=found, limits=config.limits)


SHORTEST = 16
"""The fewest characters of an access token."""
