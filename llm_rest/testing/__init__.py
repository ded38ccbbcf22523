"""The testing kit: a fake model with a script, recording and replaying of HTTP exchanges, conformance of servers.

`fake.py` is the model, `cassette.py` records and replays, `conformance.py` checks servers, and `plugin.py` is what pytest loads.
Names are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cassette import CassetteError as CassetteError, Fault as Fault, record as record, replay as replay
    from .fake import (
        Broken as Broken,
        FakeModel as FakeModel,
        Refusal as Refusal,
        Streamed as Streamed,
        Thinking as Thinking,
        ToolCall as ToolCall,
    )

_HOME = {
    **dict.fromkeys(("Broken", "FakeModel", "Refusal", "Streamed", "Thinking", "ToolCall"), ".fake"),
    **dict.fromkeys(("CassetteError", "Fault", "record", "replay"), ".cassette"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name], __name__), name)
