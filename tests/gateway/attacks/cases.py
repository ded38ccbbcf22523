"""The table: every attack, in the order it is made."""

from __future__ import annotations

from tests.gateway.attacks import (
    cases_bodies,
    cases_callers,
    cases_entries,
    cases_http,
    cases_load,
    cases_sockets,
    cases_stored,
)
from tests.gateway.attacks.table import Attack

CASES: list[Attack] = [
    *cases_http.CASES,
    *cases_bodies.CASES,
    *cases_entries.CASES,
    *cases_sockets.CASES,
    *cases_load.CASES,
    *cases_callers.CASES,
    *cases_stored.CASES,
]
