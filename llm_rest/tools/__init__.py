"""Tools: functions that a model may call, their schemas, validation of arguments, and execution.

`@tool` makes one of a function, a `ToolRegistry` holds several, and a `Toolbox` has the tools of one run. Nothing here
is vendor-specific or decides when a tool runs: the loop does. The shapes are those of the OpenAI function calling guide
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
