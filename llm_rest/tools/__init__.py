"""Tools: functions a model may call, their schemas, and running them with arguments that fit.

`@tool` makes one of a function, a `ToolRegistry` keeps several, and a `Toolbox` is what one run offers. Nothing here knows
a vendor or decides when a tool runs: that is the loop's. The shapes are those of the OpenAI function calling guide
(read 2026-11-20).
"""

from .context import ToolContext, ToolFacts
from .function import Tool, tool
from .output import output_of
from .registry import ToolExecutor, ToolRegistry
from .toolbox import Prepared, Toolbox

__all__ = [
    "Prepared",
    "Tool",
    "ToolContext",
    "ToolExecutor",
    "ToolFacts",
    "ToolRegistry",
    "Toolbox",
    "output_of",
    "tool",
]
