"""The facts of vendors as the client sees them: a row of the table, resolved."""

from __future__ import annotations

from functools import cache
from typing import Any

from llm_rest.vendors.rows import DIALECTS, VENDORS, resolve

ELSEWHERE = "https://host.example.com/v1"


@cache
def facts(vendor: str, wire: str) -> Any:
    """The dialect of a vendor on one of its wires; of an unknown host, that of any compatible one."""
    row = VENDORS.get(vendor)
    if row is None or wire not in row.wires:
        row = VENDORS["compatible"]
        if wire not in row.wires:
            return DIALECTS[wire]()
    complete = row.base_url and "{" not in row.base_url
    return resolve(f"{row.name}/m", wire=wire, base_url=None if complete else ELSEWHERE, environ={}).dialect
