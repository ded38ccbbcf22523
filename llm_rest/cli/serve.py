"""`serve`: every wire over HTTP until interrupted, answered by the simulated vendor or, as a gateway, by real ones.

Before changing this file, know that the lines it prints are for copying: a test runs them with the vendors' own packages.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..errors import ConfigError
from ..server import app
from ..server.access import GRACE
from ..server.config import Config, access_control, load
from . import note, write

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from ..server.access import AccessControl
    from ..server.config import Upstreams
    from ..server.handler import Handler


def run(arguments: Namespace) -> int:
    """Serve until Ctrl-C."""
    if arguments.simulate:
        return _serve(arguments, lambda url: _announce(url, "simulating every vendor", "any-name", []))
    from ..server.gateway import Gateway  # a slow import of the HTTP client

    config = config_of(arguments)
    handler = Gateway(config, history=config.keep.history())
    names = handler.models() or [f"{vendor}/..." for vendor in config.vendors]
    if not names:
        raise ConfigError("the gateway has no models", hint="name a default, models or vendors in the file")
    _log()
    what = f"a gateway to {', '.join(names)}"
    if not handler.seals.lasting:
        what += ", with a key of this process for the seals on opaque state ([seal] or --keep give one that lasts),"

    def ready(url: str) -> None:
        _announce(url, what, names[0], list(config.tokens.values()))

    return _serve(arguments, ready, handler, access_control(config, arguments.host), config.limits.grace)


def config_of(arguments: Namespace) -> Config:
    """The configuration from the file or the flags."""
    config = load(Path(arguments.config)) if arguments.config else Config()
    named: dict[str, Upstreams] = {name: name for name in arguments.model}
    for alias in arguments.alias:
        name, found, model = alias.partition("=")
        if not (name and found):
            raise ConfigError(
                f"--alias {alias} names no model",
                hint="write --alias name=vendor/model, or name=vendor/model,other/model",
            )
        named[name] = tuple(model.split(",")) if "," in model else model
    return replace(
        config,
        default=arguments.model[0] if arguments.model else config.default,
        models={**config.models, **named},
        tokens={**config.tokens, **{name: name for name in arguments.token_env}},
        keep=replace(config.keep, path=arguments.keep) if arguments.keep else config.keep,
    )


def _serve(
    arguments: Namespace,
    ready: Callable[[str], None],
    handler: Handler | None = None,
    access: AccessControl | None = None,
    grace: float = GRACE,
) -> int:
    with suppress(KeyboardInterrupt):
        app.serve(arguments.host, arguments.port, handler=handler, access=access, grace=grace, ready=ready)
    return 0


def _log() -> None:
    """Log JSON lines to stderr: one for each request, and errors."""
    from ..server.logs import JSONLines

    lines = logging.StreamHandler()
    lines.setFormatter(JSONLines())
    logging.basicConfig(handlers=[lines], level=logging.WARNING)
    logging.getLogger("llm_rest.server").setLevel(logging.INFO)


def _announce(url: str, what: str, model: str, tokens: list[str]) -> None:
    note(f"{what} at {url}; end with Ctrl-C")
    write(f"\n{clients(url, model, tokens[0] if tokens else None)}\n")


def clients(url: str, model: str, token: str | None) -> str:
    """Instructions to point other clients here, ready to copy. `token` is the variable that holds an access token."""
    key, header = ('"any"', "") if token is None else (f'os.environ["{token}"]', "")
    imported = "" if token is None else "import os\n"
    if token is not None:
        header = f', headers={{"Authorization": "Bearer " + {key}}}'
    env_key = "" if token is None else f'\nenv_key = "{token}"'
    return f"""\
# Python
{imported}from openai import OpenAI
gpt = OpenAI(base_url="{url}/v1", api_key={key})
gpt.responses.create(model="{model}", input="Hi")
gpt.chat.completions.create(model="{model}", messages=[{{"role": "user", "content": "Hi"}}])

from anthropic import Anthropic
claude = Anthropic(base_url="{url}", api_key={key})
claude.messages.create(model="{model}", max_tokens=1000, messages=[{{"role": "user", "content": "Hi"}}])

from google import genai
gemini = genai.Client(api_key={key}, http_options={{"base_url": "{url}"}})
gemini.models.generate_content(model="{model}", contents="Hi")

import ollama
llama = ollama.Client("{url}"{header})
llama.chat("{model}", messages=[{{"role": "user", "content": "Hi"}}])

# ~/.codex/config.toml
model = "{model}"
model_provider = "llm_rest"

[model_providers.llm_rest]
name = "llm_rest"
base_url = "{url}/v1"
wire_api = "responses"{env_key}
"""
