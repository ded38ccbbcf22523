"""What an answer costs: what the vendor reports, or else a price file that the user names. Never a guess: `None` instead.

The file has the format of `data.json` of genai-prices (https://github.com/pydantic/genai-prices, read 2026-11-23). Costs are
integers of nano-dollars. Before changing this file, know that a price is one of the file for what was counted: where one is
missing that an answer needs, the cost is not known.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct

from ..errors import ConfigError
from ..unknown import decoder_of, extras

if TYPE_CHECKING:
    from ..client.target import Target
    from ..responses.response import Response, Usage

DOLLAR = 1_000_000_000
"""Nano-dollars."""


class _Tier(Struct):
    start: int
    price: Decimal


class _Tiers(Struct):
    base: Decimal
    tiers: list[_Tier]


_Prices = dict[str, Decimal | _Tiers | None]


class _Dated(Struct):
    prices: _Prices
    constraint: dict[str, str] | None = None


class _Variant(Struct):
    when: dict[str, str]
    prices: _Prices
    constraint: dict[str, str] | None = None


class _Model(Struct):
    id: str
    match: dict[str, Any]
    prices: _Prices | list[_Dated]
    price_variants: list[_Variant] | None = None


class _Provider(Struct):
    id: str
    models: list[_Model]
    api_pattern: str = ""
    fallback_model_providers: list[str] | None = None


class _File(Struct):
    providers: list[_Provider]
    date: date | None = None


class Prices:
    """The prices in a file: `Client(prices="prices.json")`, or `prices=Prices("prices.json", max_age=30)`.

    The format is that of `data.json` of genai-prices. The date of the prices is the file's `date`, else when it was last changed;
    where that is more than `max_age` days ago, `ConfigError` is raised. It is raised for a file of another format as well, and
    names the entry.
    """

    def __init__(self, path: str | os.PathLike[str], *, max_age: float | None = None) -> None:
        self.path = Path(path)
        """The file."""
        try:
            data = self.path.read_bytes()
            changed = datetime.fromtimestamp(self.path.stat().st_mtime, UTC).date()
        except OSError as problem:
            raise ConfigError(f"prices: cannot read {self.path}: {problem.strerror}") from None
        try:
            found = decoder_of(_File | list[_Provider]).decode(data)
        except msgspec.ValidationError as problem:
            raise ConfigError(f"prices: {self.path}: {_named(str(problem), data)}", hint=_FORMAT) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            at = re.search(r"byte (\d+)", str(problem))
            line = data.count(b"\n", 0, int(at[1]) if at else 0) + 1
            raise ConfigError(f"prices: {self.path} is no JSON (line {line}): {problem}", hint=_FORMAT) from None
        file = found if isinstance(found, _File) else _File(found)
        self.date = file.date or changed
        """The date of the prices."""
        self._providers = {provider.id: provider for provider in file.providers}
        self._found: dict[tuple[str, str, str], _Model | None] = {}
        self._check(max_age)

    def _check(self, max_age: float | None) -> None:
        for provider in self._providers.values():
            for model in provider.models:
                parts: list[_Dated] = model.prices if isinstance(model.prices, list) else [_Dated(model.prices)]
                for part in [*parts, *(model.price_variants or ())]:
                    for name, price in part.prices.items():
                        tiers = (
                            [price.base, *(tier.price for tier in price.tiers)]
                            if isinstance(price, _Tiers)
                            else [price]
                        )
                        for number in tiers:
                            if number is not None and not (number.is_finite() and number >= 0):
                                what = f"{provider.id}/{model.id}: {name} is a price in US dollars, not {number}"
                                raise ConfigError(f"prices: {self.path}: {what}")
        if max_age is not None and (age := (datetime.now(UTC).date() - self.date).days) > max_age:
            what = f"the prices are of {self.date}, {age} days ago, which is more than max_age={max_age:g}"
            raise ConfigError(f"prices: {self.path}: {what}", hint="get a newer file, or raise max_age=")

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
        at: datetime | None = None,
    ) -> int | None:
        """What this usage of `"vendor/model"` costs in nano-dollars; `None` where the file has no price for a part of it.

        `batch` is for answers of a vendor's batch API, and `calls` are calls of hosted tools by type, such as `web_search_call`.
        """
        context = {"service_tier": service_tier} if service_tier else {}
        found = self._prices(model, base_url, {**context, "processing": "batch"} if batch else context, at, batch=batch)
        return None if found is None else _cost(found, usage, calls)

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
        if entry is None:
            return None
        at = datetime.now(UTC) if at is None else at.astimezone(UTC)
        dated = entry.prices if isinstance(entry.prices, list) else [_Dated(entry.prices)]
        active = [one for one in dated if _active(one.constraint, at)] or dated[:1]
        if not active:
            return None
        special: _Prices = {}
        for one in entry.price_variants or ():
            if one.when.items() <= context.items() and _active(one.constraint, at):
                special = {**one.prices, **special}
        return None if batch and not special else {**active[-1].prices, **special}

    def _model(self, vendor: str, name: str, base_url: str) -> _Model | None:
        provider = self._providers.get(vendor) or self._at(base_url)
        if provider is None:
            return None
        providers = [provider, *(self._providers.get(one) for one in provider.fallback_model_providers or ())]
        models = (model for one in providers if one is not None for model in one.models)
        return next((model for model in models if _matches(model.match, name.lower())), None)

    def _at(self, base_url: str) -> _Provider | None:
        for provider in self._providers.values():
            if provider.api_pattern and _search(provider.api_pattern, base_url):
                return provider
        return None


_FORMAT = "the format is that of data.json in https://github.com/pydantic/genai-prices/tree/main/prices"


def _named(problem: str, data: bytes) -> str:
    """The text of a fault in the file with the ids of its entry."""
    what, _, path = problem.partition(" - at `")
    names: list[str] = []
    value: Any = msgspec.json.decode(data)
    for step in re.findall(r"\[(\d+)\]|\.(providers|models)", path):
        value = cast("dict[Any, Any]", value)[step[1] or int(step[0])]
        if isinstance(value, dict) and isinstance(name := cast("dict[str, Any]", value).get("id"), str):
            names.append(name)
    return f"{'/'.join(names) or 'the document'}: {what} at {path.rstrip('`') or '$'}"


def _active(constraint: Mapping[str, str] | None, at: datetime) -> bool:
    if constraint is None:
        return True
    if (start := constraint.get("start_date")) is not None:
        return at.date().isoformat() >= start
    begin, end, now = constraint.get("start_time", ""), constraint.get("end_time", ""), at.time().isoformat()
    return begin <= now < end if begin <= end else now >= begin or now < end


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


_FEES = {
    "web_search_call": "web_searches_kcount",
    "file_search_call": "storage_searches_kcount",
    "code_interpreter_call": "code_executions_kcount",
}
"""The fee for a thousand calls of a hosted tool."""
_HOSTED = frozenset({*_FEES, "image_generation_call"})


def _cost(prices: _Prices, usage: Usage, calls: Mapping[str, int]) -> int | None:
    total = Decimal(0)
    for names, count, per in _parts(usage, calls):
        price = next((price for name in names if (price := prices.get(name)) is not None), None)
        if isinstance(price, _Tiers):
            tiers = sorted((tier.start, tier.price) for tier in price.tiers if usage.input_tokens > tier.start)
            price = tiers[-1][1] if tiers else price.base
        if price is None:
            if count and names != ("requests_kcount",):
                return None
            continue
        total += price * count * DOLLAR / per
    return int(total.quantize(Decimal(1), ROUND_HALF_UP))


def _parts(usage: Usage, calls: Mapping[str, int]) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """What is counted: the names of its price, the best first, how much it is, and how many a price is for."""
    inside, outside = usage.input_tokens_details, usage.output_tokens_details
    cached = (inside.cached_tokens or 0) if inside else 0
    written = (inside.cache_write_tokens or 0) if inside else 0
    reasoning = min((outside.reasoning_tokens or 0) if outside else 0, usage.output_tokens)
    million = 1_000_000
    rest = max(0, usage.input_tokens - cached - written)
    for name, count in ((inside and inside.cache_write_tokens_details) or {}).items():
        lifetime = re.fullmatch(r"(?:ttl_|ephemeral_)(\w+?)(?:_input)?_tokens", name)
        if lifetime and isinstance(count, int) and 0 < count <= written:
            written -= count
            yield (f"cache_write_{lifetime[1]}_mtok", "cache_write_mtok", "input_mtok"), count, million
    yield ("cache_write_mtok", "input_mtok"), written, million
    yield ("cache_read_mtok", "input_mtok"), cached, million
    yield ("input_mtok",), rest, million
    yield ("output_reasoning_mtok", "output_mtok"), reasoning, million
    yield ("output_mtok",), usage.output_tokens - reasoning, million
    yield ("requests_kcount",), 1, 1000
    for kind, count in calls.items():
        yield (_FEES.get(kind, "no price"),), count, 1000


class Pricing:
    """What answers of one target cost."""

    __slots__ = ("_prices", "_reports", "_target")

    def __init__(self, prices: Prices | None, target: Target) -> None:
        self._prices, self._target = prices, target
        self._reports = target.endpoint.vendor.reports_cost

    @property
    def reports(self) -> bool:
        """Whether the vendor reports the cost."""
        return self._reports

    @property
    def file(self) -> str:
        """Where the prices are from."""
        return "" if self._prices is None else str(self._prices.path)

    def of_usage(self, usage: Usage) -> int | None:
        """What this usage would cost by the price file, without tools."""
        if self._prices is None:
            return None
        endpoint = self._target.endpoint
        return self._prices.cost(usage, f"{endpoint.vendor.name}/{endpoint.model}", base_url=endpoint.base_url)

    def __call__(self, response: Response, batch_factor: float | None = None) -> int | None:
        """What a response cost in nano-dollars; `None` where that is not known.

        `batch_factor` is for answers of a vendor's batch API: the part of the usual price that they cost, where the file has no
        batch prices. Calls of hosted tools are not discounted.
        """
        usage = response.usage
        if usage is None:
            return None
        if self._reports:
            ticks = extras(usage).get("cost_in_usd_ticks")
            if isinstance(ticks, int):
                return (
                    ticks + 5
                ) // 10  # https://docs.x.ai/developers/cost-tracking, read 2026-11-23: 10 ** 10 a dollar
            if isinstance(usage.cost, int | float):
                return round(Decimal(str(usage.cost)) * DOLLAR)
        if self._prices is None:
            return None
        endpoint = self._target.endpoint
        calls: Counter[str] = Counter(item.type for item in response.output if item.type in _HOSTED)
        cost = partial(
            self._prices.cost,
            usage,
            f"{endpoint.vendor.name}/{endpoint.model}",
            base_url=endpoint.base_url,
            service_tier=response.service_tier,
            calls=calls,
        )
        if batch_factor is None:
            return cost()
        found, usual = cost(batch=True), None if calls else cost()
        return round(usual * batch_factor) if found is None and usual is not None else found
