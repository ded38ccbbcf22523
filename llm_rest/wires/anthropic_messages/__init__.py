"""The Anthropic Messages API: `POST /v1/messages`, version 2026-10-21 (the older 2023-06-01 where sampling needs it).

In all modules `types.X` is the vendor's struct and `ours.X` the one of Responses. Follows the Messages reference of Anthropic
(read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import Framing, lazy_streams
from .content import *
from .request import *
from .response import *
from .types import *

if TYPE_CHECKING:
    from .stream import *
else:
    __getattr__ = lazy_streams(__name__)

FRAMING: Framing = "sse"
END: bytes | None = None
NAMED_EVENTS = True
