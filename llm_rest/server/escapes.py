"""Fields of a request that could get around what the operator of a gateway allows: checked in the encoded request.

The encoded request is what a vendor reads, whatever the wire of the caller, and also what was preserved of the caller's own
document. Before changing this file, know that hosts read several notations of one name (Google's JSON takes snake_case,
Go's takes any case), that vLLM and others have their own names for the output limit, and that a repeated key was decided when
the document was decoded: the last one counts. The lists are a field of the dialects (`Escapes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from msgspec import UNSET
from msgspec.structs import replace

from ..errors import printable
from ..losses import Loss
from ..responses.items import CustomToolCallOutput, FunctionCallOutput, Message
from ..responses.request import items_of
from ..responses.tools import CustomTool, FunctionTool
from ..unknown import Model, Unknown, as_list, as_object, base, extras, given, with_extras
from .handler import invalid_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..responses import Request
    from ..vendors.dialects import Escapes
    from .config import Config
    from .handler import Refused

Outputs = FunctionCallOutput | CustomToolCallOutput

OTHER_NAMES = ("model", "stream", "name")
"""Fields that only the gateway sets; `name` is Ollama's earlier word for the model."""


class Guard:
    """Checks each encoded request to a vendor by what a gateway's configuration allows."""

    def __init__(self, config: Config) -> None:
        self._most = config.limits.output_tokens
        self._limits = self._most is not None
        named = bool(config.models) or config.default is not None
        self._restricts = self._limits or (named and "*" not in config.vendors)
        self._shares = len(config.tokens) > 1
        self._tools = config.hosted_tools
        self._unknown = config.unknown
        self._allowed = frozenset(map(plain_name, config.allow))

    def __call__(self, body: Model, request: Request, dialect: Any, wire: str, lost: list[Loss]) -> Model:
        """The body with one spelling of each field that the gateway decides. Raises `Refused` for what is not allowed."""
        body = self._one_spelling(body, request, dialect, lost)
        if wire == "gemini_generate_content" and given(getattr(body, "model", None)):
            body = replace(body, model=UNSET)  # the path has the model
        if self._restricts or self._shares:
            self._check_fields(body, dialect.escapes)
        if self._shares:
            for name in files_of(request):
                self._refuse_state(name)
        if self._tools is not True:
            self._check_tools(body, request)
        return self._without_unknown(body, (wire, dialect.issuer), lost)

    def _one_spelling(self, body: Model, request: Request, dialect: Any, lost: list[Loss]) -> Model:
        escapes: Escapes = dialect.escapes
        if unknown := extras(body):
            known, limits = _names(type(base(body))), _plain_names(escapes.other_limits)
            for name, value in unknown.items():
                if plain_name(name) in known | limits or plain_name(name) in OTHER_NAMES or _has_limit(value, limits):
                    lost.append(
                        Loss(name, "another name of a field that this server sets, or an object with one", "dropped")
                    )
                    body = _without(body, name)
        for holder in _holders(escapes.limits):
            inner = getattr(body, holder)
            if isinstance(inner, Model) and extras(inner):
                known, limits = _names(type(base(inner))), _plain_names(escapes.other_limits)
                for name, value in extras(inner).items():
                    if plain_name(name) in known | limits or _has_limit(value, limits):
                        lost.append(
                            Loss(f"{holder}.{name}", "another name of a field that this server sets", "dropped")
                        )
                        inner = _without(inner, name)
                body = replace(body, **{holder: inner})
        return self._one_limit(body, request, escapes.limits, getattr(dialect, "max_tokens_field", ""), lost)

    def _one_limit(self, body: Model, request: Request, limits: tuple[str, ...], usual: str, lost: list[Loss]) -> Model:
        """The body with one output limit, which is at most the configured one."""
        paths = sorted(limits, key=lambda path: path != usual) if len(limits) > 1 else limits
        found = [(path, value) for path in paths if given(value := _get(body, path))]
        if not found:
            return body
        written = request.max_output_tokens
        kept = next((path for path, value in found if value == written), found[0][0])
        for path in paths:
            value = _get(body, path)
            if path != kept and value is None:
                body = _set(body, path, UNSET)
            elif path != kept and value is not UNSET:
                lost.append(Loss(path, f"the output limit is sent as {kept}", "dropped"))
                body = _set(body, path, UNSET)
            elif path == kept and self._most is not None and not (isinstance(value, int) and 0 < value <= self._most):
                body = _set(body, path, self._most)
        return body

    # Fields.

    def _check_fields(self, body: Model, escapes: Escapes) -> None:
        lists = escapes.state, escapes.multiplies, escapes.leaves, escapes.prices
        self._check_object(body, "", lists, escapes)
        for holder in _holders(escapes.limits):
            inner = getattr(body, holder)
            if isinstance(inner, Model):
                name = body.__struct_encode_fields__[body.__struct_fields__.index(holder)]
                self._check_object(inner, f"{name}.", lists, escapes)

    def _check_object(self, body: Model, path: str, lists: tuple[tuple[str, ...], ...], escapes: Escapes) -> None:
        for field, name, plain, kind in _declared(type(base(body)), *lists):
            if given(value := getattr(body, field)):
                self._check_field(path + name, plain, kind, value, escapes)
        for name, value in extras(body).items():
            watched = _watched(*lists).get(plain_name(name))
            if watched is not None and given(value):
                self._check_field(path + name, plain_name(name), watched, value, escapes)

    def _check_field(self, path: str, plain: str, kind: str, value: Any, escapes: Escapes) -> None:
        if plain in self._allowed:
            return
        if kind == "state":
            if self._shares and value and not _is_new(value):
                self._refuse_state(path)
        elif kind == "multiplies":
            if self._limits and value not in (0, 1):
                raise _refused(path, f"{path} above 1 is not served: send several requests")
        elif value and (
            self._restricts if kind == "leaves" else self._limits and not _is_harmless(plain, value, escapes)
        ):
            raise _refused(path, f"{path} is not sent to a vendor by this server; its operator can allow it")

    def _refuse_state(self, name: str) -> None:
        if plain_name(name.rpartition(".")[2]) not in self._allowed:
            message = f"{name}: this server has several callers with one key at the vendor, so its files are not served"
            raise _refused(name, f"{message}; send the data itself")

    def _check_tools(self, body: Model, request: Request) -> None:
        allowed = self._tools if isinstance(self._tools, tuple) else ()
        for i, tool in enumerate(request.tools or ()):
            kind = tool.kind if isinstance(tool, Unknown) else tool.type
            if not isinstance(tool, FunctionTool | CustomTool) and kind not in allowed:
                raise _refused(f"tools[{i}]", f"tools[{i}]: tools of type {printable(kind, 50)} are not served here")
        sent = cast("list[Any]", getattr(body, "tools", None) or ())
        for tool in sent:
            if isinstance(tool, Model) and "function_declarations" in tool.__struct_fields__:
                # Gemini's tools have no type: each is a field.
                names = [name for name, _ in _given(tool) if plain_name(name) != "functiondeclarations"]
                if names and not (allowed and request.tools):
                    raise _refused("tools", f"tools: {printable(names[0], 50)} is not served here")

    def _without_unknown(self, body: Model, host: tuple[str, str], lost: list[Loss]) -> Model:
        policy = self._unknown
        if policy == "pass" or (policy == "auto" and (self._most is None or host in MAKERS)):
            return body
        for name in extras(body):
            if plain_name(name) in self._allowed:
                continue
            if policy == "refuse":
                raise _refused(name, f"{printable(name, 50)} is unknown to this server")
            lost.append(Loss(name, "a field that this server does not know", "dropped"))
            body = _without(body, name)
        return body


MAKERS = (("anthropic_messages", "anthropic"), ("gemini_generate_content", "google"), ("openai_responses", "openai"))
"""Wires and the issuers who made them. They add fields that belong to a beta header or a model; hosts of other wires have many of
their own."""


def is_private(base_url: str) -> bool:
    """Whether a URL is one of this machine or of a private network."""
    host = (urlsplit(base_url).hostname or "").rstrip(".")
    try:
        address = ip_address(host)
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".internal", ".lan", ".home.arpa"))
    return not address.is_global


def urls_of(request: Request) -> Iterator[str]:
    """The URLs of images and documents in a request that its receiver would fetch, by their paths."""
    for i, item in enumerate(items_of(request)):
        name, content = (
            ("output", item.output) if isinstance(item, Outputs) else ("content", getattr(item, "content", None))
        )
        for j, part in enumerate(as_list(content)):
            path = f"input[{i}].{name}[{j}]"
            for field in ("image_url", "file_url", "video_url", "audio_url"):
                url = part.get(field) if isinstance(part, Unknown) else getattr(part, field, None)
                url = as_object(url).get("url") if isinstance(url, dict) else url
                if isinstance(url, str) and url.lstrip()[:5].lower() != "data:":
                    yield f"{path}.{field}"
            if _has_url(part if isinstance(part, Unknown) else getattr(part, "leftovers", None)):
                yield path


URLS = frozenset({"url", "uri", "fileuri", "imageurl", "fileurl", "videourl", "audiourl"})
"""The names of fields with a URL to fetch, in parts that this library does not know."""


def _has_url(value: Any) -> bool:
    """Whether preserved data of a part contains a URL to fetch."""
    if isinstance(value, list):
        return any(map(_has_url, as_list(value)))
    return any(
        url[:5].lower() != "data:" if plain_name(name) in URLS and isinstance(url, str) else _has_url(url)
        for name, url in as_object(value).items()
    )


def files_of(request: Request) -> Iterator[str]:
    """The files, containers and vector stores at the vendor that a request names, by their paths."""
    for i, item in enumerate(items_of(request)):
        content: Any = None
        if isinstance(item, Message):
            content = item.content
        elif isinstance(item, Outputs):
            content = item.output
        for j, part in enumerate(as_list(content)):
            file, url = getattr(part, "file_id", None), getattr(part, "file_url", None)
            left = part if isinstance(part, Unknown) else getattr(part, "leftovers", None)
            if file or (isinstance(url, str) and _is_file(url)) or _names_file(left):
                yield f"input[{i}].content[{j}].file_id"
        if isinstance(item, Unknown) and _names_file(item):
            yield f"input[{i}].file_id"
    for i, tool in enumerate(request.tools or ()):
        for name in ("vector_store_ids", "container", "file_ids"):
            value = tool.get(name) if isinstance(tool, Unknown) else getattr(tool, name, None)
            if value and not _is_new(value):
                yield f"tools[{i}].{name}"


def _is_file(url: str) -> bool:
    return url.startswith(("gs://", "files/")) or "/v1beta/files/" in url


def _names_file(value: Any) -> bool:
    """Whether preserved data of a part names a file at the vendor."""
    if isinstance(value, list):
        return any(map(_names_file, as_list(value)))
    if not isinstance(value, Mapping):
        return False
    fields = cast("Mapping[str, Any]", value)
    own = ((plain_name(name), each) for name, each in fields.items() if isinstance(each, str))
    if any(name == "fileid" or (name == "fileuri" and _is_file(each)) for name, each in own):
        return True
    return any(map(_names_file, fields.values()))


def _is_new(value: Any) -> bool:
    """Whether the value describes a new container and names none."""
    return isinstance(value, Mapping) and not {"id", "container_id", "file_ids"} & {*cast("Mapping[str, Any]", value)}


# --- names and values -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def plain_name(name: str) -> str:
    """A name without what hosts ignore in it: case, underscores."""
    return name.replace("_", "").replace("-", "").lower()


@lru_cache(maxsize=64)
def _plain_names(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(plain_name, names))


@lru_cache(maxsize=64)
def _names(kind: type[Model]) -> frozenset[str]:
    return frozenset(map(plain_name, kind.__struct_encode_fields__))


@lru_cache(maxsize=64)
def _watched(*lists: tuple[str, ...]) -> dict[str, str]:
    """What a field is watched for, by its plain name."""
    kinds = zip(("state", "multiplies", "leaves", "prices"), lists, strict=True)
    return {plain_name(name): kind for kind, names in kinds for name in names}


def _is_harmless(plain: str, value: Any, escapes: Escapes) -> bool:
    return any(plain_name(name) == plain and word == str(value).lower() for name, word in escapes.harmless)


def _has_limit(value: Any, limits: frozenset[str], depth: int = 6) -> bool:
    """Whether an unknown object contains a spelling of the output limit, or of the number of answers."""
    if isinstance(value, list):
        return depth > 0 and any(_has_limit(each, limits, depth - 1) for each in as_list(value))
    if not isinstance(value, dict):
        return False
    fields = cast("dict[str, Any]", value)
    inside = {"candidatecount", "bestof", *limits} & {plain_name(name) for name in fields}
    return bool(inside) or depth <= 0 or any(_has_limit(each, limits, depth - 1) for each in fields.values())


def _given(body: Model) -> Iterator[tuple[str, Any]]:
    """The fields of a struct with a value, by their names on the wire."""
    known = base(body)
    for field, name in zip(known.__struct_fields__, known.__struct_encode_fields__, strict=True):
        if given(value := getattr(known, field)):
            yield name, value
    yield from extras(body).items()


@lru_cache(maxsize=64)
def _holders(limits: tuple[str, ...]) -> tuple[str, ...]:
    """The fields with the objects that have the output limit."""
    return tuple({path.partition(".")[0]: None for path in limits if "." in path})


@lru_cache(maxsize=64)
def _declared(kind: type[Model], *lists: tuple[str, ...]) -> list[tuple[str, str, str, str]]:
    """The watched fields of a struct: in the struct, on the wire, plain, and what each is watched for."""
    watched = _watched(*lists)
    names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    return [
        (field, name, plain_name(name), watched[plain_name(name)])
        for field, name in names
        if plain_name(name) in watched
    ]


def _without(body: Model, name: str) -> Model:
    return with_extras(base(body), {key: value for key, value in extras(body).items() if key != name})


def _get(body: Model, path: str) -> Any:
    holder, _, name = path.rpartition(".")
    inner = getattr(body, holder) if holder else body
    return getattr(inner, name, UNSET) if isinstance(inner, Model) else UNSET


def _set(body: Model, path: str, value: Any) -> Model:
    holder, _, name = path.rpartition(".")
    return replace(body, **{holder: replace(getattr(body, holder), **{name: value})} if holder else {name: value})


def _refused(name: str, message: str) -> Refused:
    return invalid_request(message, name, code="unsupported_parameter")
