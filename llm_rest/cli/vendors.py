"""`vendors`: who can be asked, over which wires, and which variables hold the keys."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from ..vendors.rows import VENDORS, NoAuth
from .tables import show

if TYPE_CHECKING:
    from argparse import Namespace

    from ..vendors.rows import Vendor


def run(arguments: Namespace) -> int:
    """List the vendors."""
    facts = [facts_of(vendor) for vendor in VENDORS.values()]
    if arguments.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(facts)).decode() + "\n")
        return 0
    show(
        ("vendor", "wires", "key", "set", "base URL"),
        [
            (
                fact["name"],
                " ".join(fact["wires"]),
                " or ".join(fact["keys"]) or ("not needed" if fact["key_optional"] else "an argument"),
                "yes" if fact["key_set"] else "",
                fact["base_url"],
            )
            for fact in facts
        ],
    )
    return 0


def facts_of(vendor: Vendor) -> dict[str, Any]:
    """What is known of a vendor, and whether a key for it is set; never the key."""
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


def keys(vendor: Vendor) -> list[str]:
    """The environment variables that may hold a key for the vendor."""
    ways = [way for surface in vendor.surfaces for way in vendor.ways(surface.wire) if not isinstance(way, NoAuth)]
    names = [name for way in ways for name in ((way.env,) if isinstance(way.env, str) else way.env)]
    return list(dict.fromkeys(names))


def set_keys(vendor: Vendor) -> list[str]:
    """Those of the vendor's variables that are set."""
    return [name for name in keys(vendor) if os.environ.get(name, "").strip()]
