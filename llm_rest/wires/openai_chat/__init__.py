"""The wire of Chat Completions, as OpenAI and some forty hosts serve it.

Follows `POST /v1/chat/completions` of the OpenAI reference and the references of the hosts (read 2026-11-20). The
differences of a host are a `ChatDialect`; `CHAT_HOSTS` in `vendors/dialects.py` has the known hosts.
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

FRAMING: Framing = "sse"
END: bytes | None = b"[DONE]"
NAMED_EVENTS = False
