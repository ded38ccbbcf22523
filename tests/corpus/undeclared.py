"""Fields and kinds that recordings have and our structs do not declare: kept as they are, listed so that a new one is seen.

A field is written `Struct.field`, a kind `Struct.field: kind`. To clear a line, declare it in the wire's `types.py`.
"""

from __future__ import annotations

UNDECLARED: dict[str, frozenset[str]] = {
    "openai_responses": frozenset(
        {
            "Request.provider",  # an aggregator's choice of hosts
            "Response.output_text",  # a reader of a client library that a host sends too
            "Usage.pydantic_ai_gateway",  # what a gateway charged
        }
    ),
    "openai_chat": frozenset(),
    "gemini_generate_content": frozenset(
        {
            "UsageMetadata.pydantic_ai_gateway",  # what a gateway charged
        }
    ),
    "anthropic_messages": frozenset(
        {
            "Usage.pydantic_ai_gateway",  # what a gateway charged
        }
    ),
    "ollama_chat": frozenset(),
}
