"""The wire of the OpenAI Responses API: the common format itself, except for differences of hosts and opaque state.

Follows `POST /v1/responses` of the OpenAI reference, the Open Responses document 2026-04-24 and the hosts that serve
either (read 2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import Framing, lazy_streams
from .request import *
from .response import *
from .types import *

if TYPE_CHECKING:
    from .stream import *
else:
    __getattr__ = lazy_streams(__name__, "EVENT")

FRAMING: Framing = "sse"
END: bytes | None = b"[DONE]"
"""Sent in encoding, as Open Responses requires; other senders may leave it out."""
NAMED_EVENTS = True
