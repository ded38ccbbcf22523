"""`vendors`: the vendors, their wires, and the environment variables of their keys; or all facts about one vendor."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from ..vendors.models import ROWS
from ..vendors.rows import DIALECTS, VENDORS, NoAuth, url_variables, vendor_named
from . import write_json
from .tables import show

if TYPE_CHECKING:
    from argparse import Namespace

    from ..vendors.rows import Vendor


def run(arguments: Namespace) -> int:
    """List the vendors, or show one. Raises `ConfigError` for a name that no vendor has."""
    if arguments.name:
        facts: Any = details_of(vendor_named(arguments.name))
        if not arguments.json:
            show(
                ("fact", arguments.name),
                [(name, _text(fact)) for name, fact in facts.items() if fact not in (None, {}, [])],
            )
            return 0
    else:
        facts = [facts_of(vendor) for vendor in VENDORS.values()]
    if arguments.json:
        write_json(facts)
        return 0
    show(
        ("vendor", "wires", "key", "set"),
        [
            (
                fact["name"],
                " ".join(fact["wires"]),
                " or ".join(fact["keys"]) or ("not needed" if fact["key_optional"] else "an argument"),
                "yes" if fact["key_set"] else "",
            )
            for fact in facts
        ],
    )
    return 0


def _text(fact: object) -> str:
    if isinstance(fact, dict):
        return " ".join(f"{name}: {value}" for name, value in cast("dict[str, object]", fact).items())
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    return " ".join(map(str, cast("list[object]", fact))) if isinstance(fact, list | tuple) else str(fact)


def facts_of(vendor: Vendor) -> dict[str, Any]:
    """The facts about a vendor, and whether a key for it is set; never the key."""
    names = keys(vendor)
    ways = vendor.auth if isinstance(vendor.auth, tuple) else (vendor.auth,)
    return {
        "name": vendor.name,
        "wires": vendor.wires,
        "base_url": vendor.base_url,
        "keys": names,
        "key_set": bool(set_keys(vendor)),
        "key_optional": any(isinstance(way, NoAuth) or way.optional for way in ways),
        "docs_url": vendor.docs_url,
    }


def details_of(vendor: Vendor) -> dict[str, Any]:
    """All facts about a vendor: `facts_of`, and the differences of its dialects from the wire's default one."""
    dialects: dict[str, str] = {}
    for surface in vendor.surfaces:
        usual = DIALECTS[surface.wire]()
        dialect = usual if surface.dialect is None else surface.dialect
        differs = {name: getattr(dialect, name) for name in usual.__struct_fields__}
        found = [f"{name}={value!r}" for name, value in differs.items() if value != getattr(usual, name)]
        dialects[f"dialect of {surface.wire}"] = ", ".join(found) or "the usual one"
    return {
        **facts_of(vendor),
        "base_url_variables": url_variables(vendor),
        "header_variables": vendor.header_env,
        "first_byte_seconds": vendor.first_byte,
        "start": vendor.start or None,
        "models": [row.prefix + "*" for row in ROWS if row.at is not None and vendor.name in row.at],
        **dialects,
    }


def keys(vendor: Vendor) -> list[str]:
    """The environment variables that may hold a key for the vendor."""
    ways = [way for surface in vendor.surfaces for way in vendor.ways(surface.wire)]
    found = (way.env for way in ways if not isinstance(way, NoAuth))
    return list(dict.fromkeys(name for env in found for name in ((env,) if isinstance(env, str) else env)))


def set_keys(vendor: Vendor) -> list[str]:
    """The vendor's environment variables that are set."""
    return [name for name in keys(vendor) if os.environ.get(name, "").strip()]
