"""The cost of an answer: as reported by the vendor, else by a price file of the user. Never an estimate: `None` instead.

The file has the format of `data.json` of genai-prices (https://github.com/pydantic/genai-prices, read 2026-11-23). Costs are
integers of nano-dollars. Before changing this file, know that a cost requires a price in the file for every count: where a
required price is missing, or a count with a price of its own, the cost is unknown.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from msgspec import Struct

from ..errors import ConfigError
from ..responses.request import Request, items_of
from ..unknown import decoder_of, extras

if TYPE_CHECKING:
    from ..client.target import Target
    from ..responses.response import Response, Usage

DOLLAR = 1_000_000_000
"""Nano-dollars in a dollar."""

# --- the price file ---------------------------------------------------------------------------------------------------


class _Tier(Struct):
    start: int
    price: Decimal


class _Tiers(Struct):
    base: Decimal
    tiers: list[_Tier]


_Prices = dict[str, Decimal | _Tiers | None]


class _Entry(Struct):
    """Prices that are valid at some times (`constraint`) or for some requests (`when`)."""

    prices: _Prices
    constraint: dict[str, str] = {}
    when: dict[str, str] = {}

    def is_active(self, at: datetime) -> bool:
        rule, now = self.constraint, at.time().isoformat()
        begin, end = rule.get("start_time", ""), rule.get("end_time", "")
        if "start_date" in rule:
            return at.date().isoformat() >= rule["start_date"]
        return not rule or (begin <= now < end if begin <= end else now >= begin or now < end)


class _Model(Struct):
    id: str
    match: dict[str, Any]
    prices: _Prices | list[_Entry]
    price_variants: list[_Entry] | None = None

    @property
    def entries(self) -> list[_Entry]:
        return self.prices if isinstance(self.prices, list) else [_Entry(self.prices)]


class _Provider(Struct):
    id: str
    models: list[_Model]
    api_pattern: str = ""
    fallback_model_providers: list[str] | None = None


class _File(Struct):
    providers: list[_Provider]
    date: date | None = None


_FORMAT = "the format is that of data.json in https://github.com/pydantic/genai-prices/tree/main/prices"


class Prices:
    """A price table from a file: `Client(prices="prices.json")`, or `prices=Prices("prices.json", max_age=30)`.

    The format is that of `data.json` of genai-prices. The date of the prices is the file's `date`, else when it was
    last changed; where that is more than `max_age` days ago, `ConfigError` is raised. It is also raised for a file of
    another format, with the line and the entry.
    """

    def __init__(self, path: str | os.PathLike[str], *, max_age: float | None = None) -> None:
        self.path = Path(path)
        """The path of the file."""
        data = b""
        try:
            data = self.path.read_bytes()
            changed = datetime.fromtimestamp(self.path.stat().st_mtime, UTC).date()
            found = decoder_of(_File | list[_Provider]).decode(data)
        except OSError as problem:
            raise ConfigError(f"prices: cannot read {self.path}: {problem.strerror}") from None
        except msgspec.ValidationError as problem:
            what, _, path = str(problem).partition(" - at `")
            raise self._error(f"{what} at {path.rstrip('`') or '$'}", data, _names(data, path)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            at = re.search(r"byte (\d+)", str(problem))
            line = data.count(b"\n", 0, int(at[1]) if at else 0) + 1
            raise ConfigError(f"prices: {self.path} is no JSON (line {line}): {problem}", hint=_FORMAT) from None
        file = found if isinstance(found, _File) else _File(found)
        self.date = file.date or changed
        """The date of the prices."""
        self._providers = {provider.id: provider for provider in file.providers}
        self._found: dict[tuple[str, str, str], _Model | None] = {}
        for provider, model, name, number in _numbers(file.providers):
            if not (number.is_finite() and number >= 0):
                raise self._error(f"{name} is a price in US dollars, not {number}", data, [provider, model])
        if max_age is not None and (age := (datetime.now(UTC).date() - self.date).days) > max_age:
            what = f"the prices are of {self.date}, {age} days ago, which is more than max_age={max_age:g}"
            raise ConfigError(f"prices: {self.path}: {what}", hint="get a newer file, or raise max_age=")

    def _error(self, what: str, data: bytes, names: list[str]) -> ConfigError:
        """The error for an invalid entry of the file, with its line."""
        place = 0
        for name in names:
            found = re.compile(rb'"id"\s*:\s*' + re.escape(msgspec.json.encode(name))).search(data, place)
            place = found.start() if found else place
        line, entry = data.count(b"\n", 0, place) + 1, "/".join(names) or "the document"
        return ConfigError(f"prices: {self.path}, line {line}, {entry}: {what}", hint=_FORMAT)

    def __repr__(self) -> str:
        models = sum(len(provider.models) for provider in self._providers.values())
        return f"<Prices of {self.date} from {self.path}: {models} models>"

    def cost(
        self,
        usage: Usage,
        model: str,
        *,
        base_url: str = "",
        service_tier: str | None = None,
        batch: bool = False,
        calls: Mapping[str, int] = {},
        request: Request | None = None,
        at: datetime | None = None,
    ) -> int | None:
        """The cost of this usage of `"vendor/model"` in nano-dollars; `None` where the file lacks a price for a part of it.

        `batch` is for answers of a vendor's batch API, and `calls` are calls of hosted tools by type, such as `web_search_call`.
        Where the audio, images or video in a `request` have a price of their own, the usage must count them.
        """
        context = {"service_tier": service_tier} if service_tier else {}
        found = self._prices(model, base_url, {**context, "processing": "batch"} if batch else context, at, batch=batch)
        if found is None:
            return None
        total = Decimal(0)
        for names, count, per in _parts(found, usage, calls, request):
            price = next((price for name in names if (price := found.get(name)) is not None), None)
            if isinstance(price, _Tiers):
                tiers = sorted((tier.start, tier.price) for tier in price.tiers if usage.input_tokens > tier.start)
                price = tiers[-1][1] if tiers else price.base
            if price is not None:
                total += price * count * DOLLAR / per
            elif count:
                return None
        return int(total.quantize(Decimal(1), ROUND_HALF_UP))

    def _prices(
        self, model: str, base_url: str, context: Mapping[str, str], at: datetime | None, *, batch: bool
    ) -> _Prices | None:
        vendor, _, name = model.partition("/")
        key = vendor, name, base_url
        if key not in self._found:
            if len(self._found) > 1000:
                self._found.clear()
            self._found[key] = self._model(*key)
        entry = self._found[key]
        if entry is None or not entry.entries:
            return None
        at = datetime.now(UTC) if at is None else at.astimezone(UTC)
        usual = ([one for one in entry.entries if one.is_active(at)] or entry.entries[:1])[-1].prices
        special: _Prices = {}
        for one in entry.price_variants or ():
            if one.when.items() <= context.items() and one.is_active(at):
                special = {**one.prices, **special}
        return None if batch and not special else {**usual, **special}

    def _model(self, vendor: str, name: str, base_url: str) -> _Model | None:
        by_url = (one for one in self._providers.values() if one.api_pattern and _search(one.api_pattern, base_url))
        provider = self._providers.get(vendor) or next(by_url, None)
        if provider is None:
            return None
        providers = [provider, *(self._providers.get(one) for one in provider.fallback_model_providers or ())]
        models = (model for one in providers if one is not None for model in one.models)
        return next((model for model in models if _matches(model.match, name.lower())), None)


def _names(data: bytes, path: str) -> list[str]:
    """The ids of the provider and the model that contain a path in the file."""
    names: list[str] = []
    value: Any = msgspec.json.decode(data)
    for index, key in re.findall(r"\[(\d+)\]|\.(providers|models)", path):
        entry = value = value[key or int(index)]
        name = cast("dict[str, Any]", entry).get("id") if isinstance(entry, dict) else None
        names += [name] if isinstance(name, str) else []
    return names


def _numbers(providers: Iterable[_Provider]) -> Iterator[tuple[str, str, str, Decimal]]:
    """All prices, each with its provider, its model and its name."""
    for provider in providers:
        for model in provider.models:
            for entry in [*model.entries, *(model.price_variants or ())]:
                for name, price in entry.prices.items():
                    tiers = [price.base, *(one.price for one in price.tiers)] if isinstance(price, _Tiers) else [price]
                    yield from ((provider.id, model.id, name, number) for number in tiers if number is not None)


def _matches(clause: Mapping[str, Any], name: str) -> bool:
    for kind, value in clause.items():
        if kind in ("or", "and"):
            return (any if kind == "or" else all)(_matches(one, name) for one in value)
        text = str(value)
        return {
            "equals": name == text.lower(),
            "starts_with": name.startswith(text.lower()),
            "ends_with": name.endswith(text.lower()),
            "contains": text.lower() in name,
            "regex": kind == "regex" and _search(text, name),
        }.get(kind, False)
    return False


def _search(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error as problem:
        raise ConfigError(f"prices: {pattern!r} is no regular expression: {problem}") from None


# --- counts -----------------------------------------------------------------------------------------------------------

_FEES = {
    "web_search_call": "web_searches_kcount",
    "file_search_call": "storage_searches_kcount",
    "code_interpreter_call": "code_executions_kcount",
}
"""The fee for a thousand calls of a hosted tool."""
_HOSTED = frozenset({*_FEES, "image_generation_call"})
_MEDIA = ("audio", "image", "video")
"""What may have a price of its own, counted in the details of a usage as `audio_tokens`, cached ones as `cached_audio_tokens`."""


class _Part(NamedTuple):
    """A part of what is counted: the names of its price, the best first, how much it is, and how many a price is for."""

    names: tuple[str, ...]
    amount: int
    per: int = 1_000_000


_UNKNOWN = _Part((), 1)
"""A part without a price, so that the cost is unknown."""


def _parts(prices: _Prices, usage: Usage, calls: Mapping[str, int], request: Request | None) -> Iterator[_Part]:
    inside, outside = usage.input_tokens_details, usage.output_tokens_details
    cached = (inside.cached_tokens or 0) if inside else 0
    written = (inside.cache_write_tokens or 0) if inside else 0
    reasoning = min((outside.reasoning_tokens or 0) if outside else 0, usage.output_tokens)
    text, visible = max(0, usage.input_tokens - cached - written), usage.output_tokens - reasoning
    for media in _MEDIA:
        count, read, output = (
            _counted(details, name)
            for details, name in ((inside, media), (inside, f"cached_{media}"), (outside, media))
        )
        if prices.get(f"input_{media}_mtok") is not None and (count or (count is None and media in _media_of(request))):
            if count is None or (cached and read is None):
                yield _UNKNOWN
                return
            read = min(read or 0, count)
            yield _Part((f"input_{media}_mtok",), count - read)
            yield _Part((f"cache_{media}_read_mtok", "cache_read_mtok", "input_mtok"), read)
            text, cached = max(0, text - count + read), max(0, cached - read)
        if prices.get(f"output_{media}_mtok") is not None and output:
            yield _Part((f"output_{media}_mtok",), output)
            visible = max(0, visible - output)
            calls = {kind: calls[kind] for kind in calls if not kind.startswith(media)}
    for name, count in ((inside and inside.cache_write_tokens_details) or {}).items():
        lifetime = re.fullmatch(r"(?:ttl_|ephemeral_)(\w+?)(?:_input)?_tokens", name)
        if lifetime and isinstance(count, int) and 0 < count <= written:
            written -= count
            yield _Part((f"cache_write_{lifetime[1]}_mtok", "cache_write_mtok", "input_mtok"), count)
    yield _Part(("cache_write_mtok", "input_mtok"), written)
    yield _Part(("cache_read_mtok", "input_mtok"), cached)
    yield _Part(("input_mtok",), text)
    yield _Part(("output_reasoning_mtok", "output_mtok"), reasoning)
    yield _Part(("output_mtok",), visible)
    if prices.get("requests_kcount") is not None:
        yield _Part(("requests_kcount",), 1, 1000)
    for kind, count in calls.items():
        yield _Part((_FEES.get(kind, "no price"),), count, 1000)


def _counted(details: Any, name: str) -> int | None:
    """The number of tokens of a kind in the details of a usage."""
    found = extras(details).get(f"{name}_tokens") if details else None
    return found if isinstance(found, int) and found >= 0 else None


def _media_of(request: Request | None) -> set[str]:
    """The media in a request besides text."""
    parts: list[Any] = []
    for item in () if request is None else items_of(request):
        for field in ("content", "output"):
            found: Any = getattr(item, field, None)
            parts += found if isinstance(found, list) else []
    return {part.type.removeprefix("input_") for part in parts}


class Pricing:
    """The cost of answers of one target, to requests such as this one."""

    __slots__ = ("_prices", "_request", "_target", "reports")

    def __init__(self, prices: Prices | None, target: Target, request: Request | None) -> None:
        self._prices, self._target, self._request = prices, target, request
        self.reports = target.endpoint.vendor.reports_cost
        """Whether the vendor reports costs."""

    @property
    def file(self) -> str:
        """The path of the price file."""
        return "" if self._prices is None else str(self._prices.path)

    def of_usage(self, usage: Usage, **facts: Any) -> int | None:
        """The cost of this usage by the price file; `facts` are those of `Prices.cost`."""
        if self._prices is None:
            return None
        endpoint = self._target.endpoint
        return self._prices.cost(usage, f"{endpoint.vendor.name}/{endpoint.model}", base_url=endpoint.base_url, **facts)

    def __call__(self, response: Response, batch_factor: float | None = None) -> int | None:
        """The cost of a response in nano-dollars; `None` where it is unknown.

        `batch_factor` is for answers of a vendor's batch API: the part of the usual price that they cost, where the
        file has no batch prices. Calls of hosted tools are not discounted.
        """
        usage = response.usage
        if usage is None:
            return None
        if self.reports:
            ticks = extras(usage).get("cost_in_usd_ticks")
            if isinstance(ticks, int):
                # 10 ** 10 a dollar: https://docs.x.ai/developers/cost-tracking, read 2026-11-23
                return (ticks + 5) // 10
            if isinstance(usage.cost, int | float):
                return round(Decimal(str(usage.cost)) * DOLLAR)
        calls: Counter[str] = Counter(item.type for item in response.output if item.type in _HOSTED)
        facts: dict[str, Any] = {"service_tier": response.service_tier, "calls": calls, "request": self._request}
        found = self.of_usage(usage, batch=batch_factor is not None, **facts)
        if batch_factor is None or found is not None or calls:
            return found
        usual = self.of_usage(usage, **facts)
        return None if usual is None else round(usual * batch_factor)
