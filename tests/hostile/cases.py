"""The table: every case, by the letter of what goes wrong."""

from __future__ import annotations

from tests.hostile.cases_callers import H, K, M
from tests.hostile.cases_errors import E
from tests.hostile.cases_http import P, T
from tests.hostile.cases_json import J
from tests.hostile.cases_load import LONG_TEXT, C, R
from tests.hostile.cases_streams import S
from tests.hostile.table import Case

CASES: list[Case] = [*T, *P, *E, *S, LONG_TEXT, *J, *H, *M, *K, *R, *C]
