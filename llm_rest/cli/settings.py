"""The defaults of the user: a TOML file and environment variables, which the command line overrides.

The file is `$LLM_REST_CONFIG`, else `llm-rest/config.toml` below `$XDG_CONFIG_HOME` or `~/.config`. Unknown keys are errors.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from ..errors import ConfigError


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of the settings file."""

    model: str | None = None
    """The default model, as `vendor/model`."""
    log: bool = False
    """Whether `ask` stores its prompts and answers."""
    store: str | None = None
    """The SQLite file of `chat` and `logs`."""


def settings_file() -> Path:
    """The path of the settings file, which need not exist."""
    named = os.environ.get("LLM_REST_CONFIG")
    return Path(named).expanduser() if named else _below("XDG_CONFIG_HOME", ".config") / "config.toml"


def settings() -> Settings:
    """The settings, with the environment before the file. Raises `ConfigError` for a file that cannot be read or is invalid."""
    path = settings_file()
    try:
        found = msgspec.toml.decode(path.read_bytes(), type=Settings)
    except FileNotFoundError:
        found = Settings()
    except OSError as problem:
        raise ConfigError(f"cannot read {path}: {problem.strerror}") from None
    except (msgspec.MsgspecError, ValueError) as problem:
        raise ConfigError(f"{path}: {problem}", hint=f"it may hold {', '.join(Settings.__struct_fields__)}") from None
    return Settings(
        model=os.environ.get("LLM_REST_MODEL", "").strip() or found.model,
        log=found.log,
        store=os.environ.get("LLM_REST_STORE") or found.store,
    )


def store_file(named: str | None = None) -> Path:
    """The SQLite file of conversations: `--store`, `LLM_REST_STORE`, the settings file, or the user's state folder."""
    chosen = named or settings().store
    if chosen:
        return Path(chosen).expanduser()
    path = _below("XDG_STATE_HOME", ".local/state") / "conversations.db"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def _below(variable: str, usual: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / usual) / "llm-rest"
