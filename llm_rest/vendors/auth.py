"""Authentication: from an API key, the environment or a token provider to the headers of one request.

A key is a `Secret` from the start: no print, log, pickle or traceback reveals it, and only the transport reads it, when
the request is written. Before changing this file, know that it must raise without a key or the environment among the
local variables of a frame, because error reporters record those.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn, cast
from urllib.parse import urlsplit

from msgspec import to_builtins

from ..errors import ConfigError, ErrorFacts, LLMError
from .rows import Auth, Bearer, Endpoint, Header, NoAuth, is_loopback
from .single_flight import Flights


class Secret:
    """A secret text.  `reveal()` returns it; `str`, `repr` and formatting return a placeholder."""

    __slots__ = ("__text",)

    def __init__(self, text: str | Secret) -> None:
        self.__text: str = text.__text if isinstance(text, Secret) else text

    def reveal(self) -> str:
        """The text itself. Call it in the expression that uses it, so that no local variable holds it."""
        return self.__text

    def after(self, prefix: str) -> Secret:
        """The secret with `prefix` before it."""
        return Secret(prefix + self.__text)

    def __repr__(self) -> str:
        return "Secret('[redacted]')"

    def __str__(self) -> str:
        return "[redacted]"

    def __format__(self, spec: str) -> str:
        return format("[redacted]", spec)

    def __bool__(self) -> bool:
        return bool(self.__text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.__text == other.__text

    def __hash__(self) -> int:
        return hash((Secret, self.__text))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Secret:
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a secret cannot be pickled; pass the key again")


class APIKey(Secret):
    """An API key, as the return value of a token provider: sent in the vendor's header for keys.

    Anything else that a provider returns is an access token, sent as `Authorization: Bearer`.
    """

    __slots__ = ()


Token = str | Secret
"""An API key or access token."""
TokenProvider = Callable[[str, str | None], Token | Awaitable[Token]]
"""`(vendor, account) -> token`, called for every request. May be asynchronous for `AsyncClient` only."""


Signed = Mapping[str, str | Secret]
"""The headers that authenticate a request."""


class Credentials:
    """The credentials of one client: a key, or a token provider.

    Errors are raised by `headers`, not before, because a token may come with the call.
    """

    __slots__ = ("_endpoint", "_fixed", "_flights", "_key", "_provider", "_way")

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        way: Auth,
        key: Secret | None = None,
        provider: TokenProvider | None = None,
        fixed: Mapping[str, str | Secret] = {},
    ) -> None:
        self._endpoint = endpoint
        self._way = way
        self._key = key
        self._provider = provider
        self._fixed = dict(fixed)
        self._flights = Flights()

    def __repr__(self) -> str:
        known = "a key" if self._key else "a token provider" if self._provider else "no key"
        return f"<Credentials for {self._endpoint.vendor.name}: {known}>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("credentials cannot be pickled; pass the key again")

    @property
    def renewable(self) -> bool:
        """Whether a token that was rejected (401) can be replaced by calling the token provider again."""
        return self._key is None and self._provider is not None

    def headers(
        self, *, account: str | None = None, user_token: Token | None = None, refused: Signed | None = None
    ) -> Signed:
        """The headers that authenticate a request. Raises `ConfigError` without a key, naming what to set.

        `refused` are the headers of a request that failed with 401: a token provider is called for new ones.
        """
        secret = self._known(account, user_token)
        del user_token
        provider = self._provider
        if secret is not None or provider is None:
            return self._signed(secret)

        def question() -> Signed:
            with self._provider_errors():
                token = provider(self._endpoint.vendor.name, account)
            if isinstance(token, Awaitable):
                if isinstance(token, Coroutine):
                    token.close()
                raise ConfigError(
                    "the token provider is asynchronous", hint="use AsyncClient, or a synchronous provider"
                )
            secret = _secret(token)
            del token
            return self._signed(secret)

        return self._flights.ask(account, question, refused)

    async def headers_async(
        self, *, account: str | None = None, user_token: Token | None = None, refused: Signed | None = None
    ) -> Signed:
        """The same, where the token provider may be asynchronous."""
        secret = self._known(account, user_token)
        del user_token
        provider = self._provider
        if secret is not None or provider is None:
            return self._signed(secret)

        async def question() -> Signed:
            with self._provider_errors():
                token = provider(self._endpoint.vendor.name, account)
                if isinstance(token, Awaitable):
                    token = await token
            secret = _secret(token)
            del token
            return self._signed(secret)

        return await self._flights.ask_async(account, question, refused)

    @contextmanager
    def _provider_errors(self) -> Generator[None]:
        """Converts an exception of the caller's token provider to a `ConfigError` with its cause."""
        try:
            yield
        except LLMError:
            raise
        except Exception as problem:
            what = f"the token provider for {self._endpoint.vendor.name} failed: {type(problem).__name__}: {problem}"
            hint = "credentials= is called as provider(vendor, account)"
            raise ConfigError(what, hint=hint, no_key=True) from problem

    def _known(self, account: str | None, user_token: Token | None) -> Secret | None:
        if user_token is not None:
            return _secret(user_token)
        if account is not None and (self._key is not None or self._provider is None):
            # Using the other key would make the call on another account.
            raise ConfigError("account= needs a token provider", hint="pass credentials= and no api_key=")
        return self._key

    def _signed(self, secret: Secret | None) -> dict[str, str | Secret]:
        endpoint, name = self._endpoint, self._endpoint.vendor.name
        headers = checked_headers(self._fixed)
        if secret is None:
            if endpoint.key_optional:
                return headers
            raise ConfigError(f"no API key for {name}", hint=_how_to_set(endpoint), no_key=True)
        if not secret:
            what = f"the token for {name} is empty or no text"
            raise ConfigError(what, hint="give a str that is not blank", no_key=True)
        url = urlsplit(endpoint.base_url)
        if url.scheme == "http" and not (is_loopback(url.hostname or "") or endpoint.vendor.allow_insecure):
            raise ConfigError(
                f"a key for {name} would travel over plain http",
                hint="use https://, or a Vendor(..., allow_insecure=True) for a host of your own network",
            )
        # A token that is no API key is sent as a bearer token, also where the vendor's keys have a header of their own.
        match self._way if secret is self._key else endpoint.ways[0] if isinstance(secret, APIKey) else Bearer():
            case Bearer():
                checked_headers({"Authorization": secret})
                headers["Authorization"] = secret.after("Bearer ")
            case Header(name=header):
                headers |= checked_headers({header: secret})
            case NoAuth():
                pass
        return headers


def credentials(
    endpoint: Endpoint,
    *,
    api_key: Token | None = None,
    provider: TokenProvider | None = None,
    environ: Mapping[str, str] | None = None,
) -> Credentials:
    """The credentials: the `api_key`, else the token provider, else the vendor's environment variables. Never raises."""
    # This frame alone holds the environment; errors about its values are raised later, by `headers`.
    if environ is None:
        environ = os.environ
    fixed: dict[str, str | Secret] = dict(endpoint.vendor.headers)
    for header, name in endpoint.vendor.header_env.items():
        if environ.get(name, "").strip():
            fixed[header] = Secret(environ[name])
    way, key = endpoint.ways[0], _secret(api_key) if api_key else None
    if key is None and provider is None:
        for candidate in endpoint.ways:
            found = next(
                (environ[name] for name in _variables(candidate, endpoint) if environ.get(name, "").strip()), None
            )
            if found is not None:
                way, key = candidate, Secret(found)
                break
    return Credentials(endpoint, way=way, key=key, provider=provider, fixed=fixed)


def _variables(way: Auth, endpoint: Endpoint) -> tuple[str, ...]:
    """The environment variables that may hold a key for this endpoint."""
    if isinstance(way, NoAuth) or (way.hosts and urlsplit(endpoint.base_url).hostname not in way.hosts):
        return ()
    return (way.env,) if isinstance(way.env, str) else way.env


def key_variables(endpoint: Endpoint) -> list[str]:
    """The environment variables that a key for this endpoint is read from, preferred first."""
    return [name for way in endpoint.ways for name in _variables(way, endpoint)]


def _how_to_set(endpoint: Endpoint) -> str:
    return " or ".join([*(f"set {name}" for name in key_variables(endpoint)), "pass api_key="])


def _secret(token: object) -> Secret:
    """A token as a secret; a value that is not a text counts as none."""
    if isinstance(token, Secret):
        return token
    return Secret(token if isinstance(token, str) else "")


# --- header values --------------------------------------------------------------------------------------------------

_NAME = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_NOT_IN_A_VALUE = r"[^\t\x20-\x7e\xa0-\xff]|^[\t ]|[\t ]$"
_OF_THE_CONNECTION = frozenset({"content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade"})
"""Headers of framing and routing, which callers may not set: duplicates allow request smuggling."""


def checked_headers(headers: Mapping[str, str | Secret]) -> dict[str, str | Secret]:
    """The headers, if all of them can be sent. Raises `ConfigError` naming the header and never its value."""
    for name, value in headers.items():
        if (problem := _problem(name, value)) is not None:
            del headers, value
            raise problem
    return dict(headers)


def _problem(name: str, value: object) -> ConfigError | None:
    """The error for a header; made here and raised by the caller, whose frame no longer holds the value."""
    if not re.fullmatch(_NAME, name):
        return ConfigError(f"{name!r} cannot be the name of a header", hint="use letters, digits and dashes")
    if name.lower() in _OF_THE_CONNECTION:
        return ConfigError(f"the header {name} is the connection's own", hint="leave it out")
    text = value.reveal() if isinstance(value, Secret) else value
    if not isinstance(text, str):
        return ConfigError(f"the value of the header {name} is a {type(text).__name__}", hint="pass a str")
    if re.search(_NOT_IN_A_VALUE, text):
        return ConfigError(
            f"the value of the header {name} cannot be sent: it contains a line break, a control character, a blank at an end, "
            "or characters outside Latin-1",
            hint="check the variable or argument for a line break at its end",
        )
    return None


# --- redaction of errors ----------------------------------------------------------------------------------------------

_TELLING = 8
"""A text shorter than this is too short to be distinguished from ordinary words, and is not redacted."""


def without_secrets(facts: ErrorFacts, sent: Mapping[str, str | Secret]) -> ErrorFacts:
    """A vendor's error without the secrets in the headers that were sent to it.

    Elsewhere keys are recognised by their form; here they are known exactly, so that a repeated key is always redacted.
    """
    texts = _texts(sent)
    plain = to_builtins(facts)
    if not any(text[:_TELLING] in str(plain) for text in texts):
        return facts
    return ErrorFacts(**_scrubbed(plain, texts))


def text_without_secrets(text: str, sent: Mapping[str, str | Secret]) -> str:
    """The same for a text."""
    return _without(text, _texts(sent))


def bytes_without_secrets(raw: bytes, sent: Mapping[str, str | Secret]) -> bytes:
    """The same for the bytes of a document."""
    for text in _texts(sent):
        raw = raw.replace(text.encode("utf-8", "surrogatepass"), b"[redacted]")
    return raw


def _texts(sent: Mapping[str, str | Secret]) -> list[str]:
    texts = [value.reveal().removeprefix("Bearer ") for value in sent.values() if isinstance(value, Secret)]
    return [text for text in texts if len(text) >= _TELLING]


def _without(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "[redacted]")
        # The server's text is truncated, and a secret in it perhaps as well.
        end = text.rfind(secret[:_TELLING])
        if end >= 0 and secret.startswith(text[end:].removesuffix("…")):
            text = f"{text[:end]}[redacted]"
    return text


def _scrubbed(value: Any, texts: list[str]) -> Any:
    if isinstance(value, str):
        return _without(value, texts)
    if isinstance(value, list):
        return [_scrubbed(entry, texts) for entry in cast("Any", value)]
    if isinstance(value, dict):
        return {_scrubbed(name, texts): _scrubbed(entry, texts) for name, entry in cast("Any", value).items()}
    return value
