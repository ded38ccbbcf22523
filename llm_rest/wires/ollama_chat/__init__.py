"""The wire of Ollama's own `POST /api/chat`, on local servers and in Ollama's cloud.

Follows Ollama's API reference (read 2026-11-20). The differences of a host are an `OllamaDialect`.
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
    __getattr__ = lazy_streams(__name__)

FRAMING: Framing = "ndjson"
END: bytes | None = None
NAMED_EVENTS = False
