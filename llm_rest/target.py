"""Whom a call goes to: the vendor, the wire and its dialect, the credentials, and what is known of the model."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from . import models, wires
from .auth import Credentials, Secret, TokenProvider, credentials, key_variables
from .dialects import GeminiDialect, ResponsesDialect
from .errors import ConfigError
from .vendors import VENDORS, Endpoint, Vendor, is_loopback, resolve, url_variables
from .wires import Wire


class Target(Struct):
    """Everything about the other side that stays the same from call to call."""

    endpoint: Endpoint
    wire: Wire[Any, Any, Any]
    dialect: Any
    credentials: Credentials
    known: models.Capabilities
    keep: bool = False
    """Whether answers keep what describes their documents; the wire's own gateway writes them again."""
    headers: dict[str, str | Secret] | None = None
    """The headers of every request, once they are known not to change."""

    @property
    def vendor(self) -> str:
        """The vendor's name."""
        return self.endpoint.vendor.name

    @property
    def decoding(self) -> dict[str, Any]:
        """The options of the wire's decoders that are the same for every answer."""
        dialect = {"dialect": self.dialect}
        return {**dialect, "keep": self.keep} if self.endpoint.wire in wires.KEEPING else dialect

    @property
    def model(self) -> str:
        """The model as the vendor calls it."""
        return self.endpoint.model

    def facts(self) -> dict[str, Any]:
        """What the suggestions of an error name; only what is known."""
        endpoint = self.endpoint
        row, url = endpoint.vendor, urlsplit(endpoint.base_url)
        origin = f"{url.scheme}://{url.netloc}" if url.netloc else None
        local = is_loopback(url.hostname or "")
        facts = {
            "endpoint": origin,
            "local": origin if local else None,
            "start": row.start if local else None,
            "base_url_env": " or ".join(url_variables(row)),
            "key_env": " or ".join(key_variables(endpoint)),
            "provider": "credentials=" if self.credentials.renewable else None,
            "context_window": self.known.context_window,
            "max_output": self.known.max_output,
        }
        return {name: fact for name, fact in facts.items() if fact}


class Targets:
    """Finds the target of a model. What was given for one vendor, its key above all, is used for no other."""

    def __init__(
        self,
        model: str | None,
        *,
        api_key: Secret | None,
        base_url: str | None,
        wire: str | None,
        vendor: Vendor | str | None,
        provider: TokenProvider | None,
    ) -> None:
        self._key = api_key
        self._base_url = base_url
        self._wire = wire
        self._vendor = _row(vendor)
        self._provider = provider
        self._home = self._vendor.name if self._vendor else (model or "").partition("/")[0]
        self._found: dict[str | None, Target] = {}
        self._keep = False
        if not self._home and (api_key or base_url):
            raise ConfigError("api_key= and base_url= belong to one vendor", hint="give model= or vendor= with them")

    def keep_documents(self) -> None:
        """Let answers keep what describes their documents."""
        self._keep = True
        self._found.clear()

    def find(self, model: str | None) -> Target:
        """The target of `model`. Raises `ConfigError` where it leads nowhere."""
        found = self._found.get(model)
        if found is None:
            if len(self._found) > 100:
                self._found.clear()  # the names come from callers of a gateway
            found = self._found[model] = self._make(model)
        return found

    def _make(self, model: str | None) -> Target:
        mine = self._vendor is not None or not self._home or (model or "").partition("/")[0] == self._home
        endpoint = resolve(
            model,
            vendor=self._vendor,
            wire=self._wire if mine else None,
            base_url=self._base_url if mine else None,
        )
        dialect: Any = endpoint.dialect
        known = models.capabilities(endpoint.model, endpoint.vendor.name)
        if isinstance(dialect, ResponsesDialect):
            reasons = None if known.reasoning is None else bool(known.reasoning)
            dialect = replace(dialect, asks_to_keep_nothing=True, model_reasons=reasons)
        elif isinstance(dialect, GeminiDialect):
            dialect = replace(dialect, asks_to_keep_nothing=True)
        return Target(
            endpoint=endpoint,
            wire=wires.load(endpoint.wire),
            dialect=dialect,
            credentials=credentials(endpoint, api_key=self._key if mine else None, provider=self._provider),
            known=known,
            keep=self._keep,
        )


def _row(vendor: Vendor | str | None) -> Vendor | None:
    if not isinstance(vendor, str):
        return vendor
    if vendor not in VENDORS:
        raise ConfigError(
            f"there is no vendor {vendor!r}", hint=f"there are {', '.join(VENDORS)}; or pass a Vendor(...)"
        )
    return VENDORS[vendor]
