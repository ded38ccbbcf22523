"""What a server of Ollama gives out: short ids of calls, and what was thought in the model's own words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from llm_rest.responses import CustomToolCall, FunctionCall, Reasoning

from .plain import Plain
from .seals import mac, wire_item

if TYPE_CHECKING:
    from llm_rest.responses import AnyItem, Response
    from llm_rest.server.handler import Context


def finished(response: Response, document: Plain, context: Context) -> Response:
    """The response with short ids of calls, and with what was thought in the model's own words."""
    output: list[AnyItem] = []
    for i, item in enumerate(response.output):
        if isinstance(item, FunctionCall | CustomToolCall):
            output.append(replace(item, call_id=f"call_{mac('call', response.id, i)[:8]}"))
        elif not isinstance(item, Reasoning):
            output.append(item)
        elif text := "\n".join(part.text for part in item.summary or ()):
            message = {"role": "assistant", "content": "", "thinking": text}
            output.append(wire_item("ollama_chat", {"message": message, "done": True, "done_reason": "stop"}, context))
    return replace(response, output=output)
