"""Leaves that may change without any sign on another wire, and why: data, one line a kind of place.

A line holds for a source wire, a kind of document, paths (positions left out), changes and target wires, each a pattern.
`test_leaves.py` holds the table to 20 lines, each of which is needed by the fixed sample or by the whole corpus.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

ANY = ".*"
EMPTY = "drop|empty|false|zero|text|list|object|add .*"
CHAT, ANTHROPIC, GEMINI = "openai_chat", "anthropic_messages", "gemini_generate_content"
RESPONSES, OLLAMA = "openai_responses", "ollama_chat"


class Excuse(NamedTuple):
    """Why changes of a kind of place need not show elsewhere."""

    ways: str
    why: str
    source: str = ANY
    kind: str = ANY
    changes: str = ANY
    targets: str = ANY


DEFAULT = "the default written out"
NONE = "nothing in it: the same as none"
ONE_WORD = "there is one word for this place, so that any other says the same"
CARRIED = "an event of a stream that carries a piece is read for the piece alone; the last one tells what describes the answer"

TABLE: tuple[Excuse, ...] = (
    # ids, dates and positions
    Excuse(
        r"\.(id|call_id|tool_call_id|tool_use_id|item_id|response_?[iI]d|created|created_at|createTime|completed_at)$",
        "ids are made anew, and dates describe one document",
    ),
    Excuse(
        r"\.(index|\w+_index|sequence_number|obfuscation)$",
        "the order says it, and padding says nothing",
        changes="drop|other|zero|empty|text",
    ),
    # one word
    Excuse(r"\.(type|object|role|mode)$", ONE_WORD, changes=EMPTY),
    Excuse(r"\.object$|\.output\[\]\.(role|type|status)$|user_location\.(approximate\.)?type$", ONE_WORD),
    Excuse(
        r"^\.tools\[\]\.(name|type)$",
        "name and version of a hosted tool",
        source=ANTHROPIC,
        kind="request",
        changes="drop|empty|text|other",
    ),
    Excuse(
        r"(functionResponse\.name|\.tool_name)$",
        "the name of the call that the result belongs to",
        source=f"{OLLAMA}|{GEMINI}",
        kind="request",
    ),
    Excuse(r"(json_schema|format)\.name$", "the name of a schema is a label of one format", kind="request"),
    # nothing in it
    Excuse(
        r"\.(annotations|tool_calls|audio|function_call|refusal|reasoning|reasoning_content|reasoning_details|thinking"
        r"|executed_tools|summary|content|logprobs|top_logprobs|error|incomplete_details|moderation|content_filters"
        r"|tool_usage|billing|caller|image_url|filename|error\.(code|param|type)|stop_reason|done_reason|finish_reason"
        r"|tools|tools\[\]|options|format|labels|metadata|arguments|args|parameters\w*|input_schema|properties|toolConfig"
        r"|functionCallingConfig|thinkingConfig|allowedFunctionNames|generationConfig|mcp_servers|cache_control|prompt_cache_\w+|filters"
        r"|context_management|instructions|web_search_options|headers|stream_options|tool_choice|include)$",
        NONE,
        changes=EMPTY,
    ),
    Excuse(r"\.(input|output)\[\]\.status$", "what came whole is complete", source=RESPONSES),
    Excuse(
        r"^\.input\[\]\.(role|tools\[\].*)$", "tools added later, offered at once", source=RESPONSES, kind="request"
    ),
    Excuse(
        r"[uU]sage\w*(\.\w+)*$", "no count, or a sum, or zero", kind="response|stream", changes="drop|zero|empty|object"
    ),
    # defaults
    Excuse(
        r"\.(stream|store|background|parallel_tool_calls|disable_parallel_tool_use|strict|is_error|defer_loading|truncat\w+"
        r"|enabled|responseLogprobs|include_?[tT]houghts|includeServerSideToolInvocations|include_usage|require_approval"
        r"|external_web_access|container(\.type)?|output_config(\.effort)?|\w+_penalty|n|logprobs|cache_control\.ttl)$",
        DEFAULT,
        kind="request",
        changes="drop|false|other|empty|text|zero",
    ),
    Excuse(r"\.(responseMimeType|responseModalities)$", DEFAULT, source=GEMINI, kind="request"),
    Excuse(
        r"\.additionalProperties$",
        "this wire wants it said, so it is said",
        kind="request",
        changes="drop",
        targets=ANTHROPIC,
    ),
    # what the value itself says
    Excuse(
        r"input_audio\.format$",
        "the model reads what it is from the sound itself",
        source=CHAT,
        kind="request",
        targets=OLLAMA,
    ),
    Excuse(r"logprobs(\[\])?\.bytes(\[\])?$", "the bytes of a token are those of its text", targets=GEMINI),
    # echo
    Excuse(
        r"^(\[\]\.response)?\.(background|frequency_penalty|instructions|max_output_tokens|max_tool_calls|metadata|parallel_tool_calls"
        r"|presence_penalty|previous_response_id|prompt_cache_key|prompt_cache_retention|prompt_cache_options|reasoning"
        r"|safety_identifier|store|temperature|text|tool_choice|tools|top_logprobs|top_p|truncation|user)\b",
        "an answer of a Responses host repeats its request, which the caller has",
        source=RESPONSES,
        kind="response|stream",
    ),
    # streams: of a field in several events the law tries the last value alone, and what is added to an earlier event
    Excuse(
        r"^\[\]\.(type|brand_new)$|^\[\]\.(delta|content_block|message)\b",
        CARRIED,
        source=f"{RESPONSES}|{ANTHROPIC}",
        kind="stream",
        changes="kind|other|drop|zero|add.*",
    ),
    Excuse(
        r"^\[\]\.(usageMetadata(\.\w+\[\])?\.brand_new|modelVersion|candidates\[\]\.content\.role|choices\[\]\.delta\.role)$",
        CARRIED,
        source=f"{GEMINI}|{CHAT}",
        kind="stream",
        changes="kind|other|add.*",
    ),
    Excuse(
        r"^\[\]\.(response\.(status|model|output|brand_new|conversation|moderation|service_tier)|item|part|annotation|delta|text|arguments|input|code|refusal)\b",
        "a piece that the complete item or answer behind it repeats",
        source=RESPONSES,
        kind="stream",
    ),
)

SAMPLE = frozenset(
    f"pydantic-ai-test-{name}"
    for name in (
        "bedrock-mantle-test-reused-tool-call-ids-gpt-5-5-3",
        "openai-tool-availability-delta-test-supported-model-calls-additional-tool-0",
        "openai-responses-test-openai-responses-stream-0",
        "multimodal-tool-returns-test-multimodal-tool-return-matrix-direct-url-for-f9399162-2",
        "openai-test-openai-web-search-tool-with-user-location-0",
        "cache-test-openrouter-cache-streaming-e2e-0",
        "anthropic-test-anthropic-model-web-search-tool-stream-0",
        "anthropic-test-anthropic-code-execution-tool-stream-0",
        "code-execution-test-code-execution-stream-0",
        "openrouter-test-openrouter-stream-error-0",
        "groq-test-tool-use-failed-error-streaming-1",
        "google-test-google-vertex-logprobs-0",
    )
)
"""The exchanges of the fixed sample, beside the documents that we wrote."""


def excuse(one: Any) -> Excuse | None:
    """The excuse for a shortfall, if there is one."""
    return next((row for row in TABLE if _fits(row, one.source, one) and re.fullmatch(row.targets, one.target)), None)


UNSEEN: tuple[Excuse, ...] = (
    Excuse(r"(^|\.)(object|role|index|type|sequence_number|annotation_index)$", ONE_WORD, changes="drop"),
    Excuse(r"\.total(_tokens|TokenCount)$", "a total that is missing is the sum", changes="drop"),
    Excuse(
        r"[uU]sage\.(cache_(creation|read)_input_tokens|prompt_tokens_details)$",
        "a count of zero",
        source=f"{CHAT}|{ANTHROPIC}",
        changes="drop",
    ),
    Excuse(r"\.finish_reason$", "an answer that came whole without a reason is complete", source=CHAT, changes="drop"),
    Excuse(
        r"\.(annotations|delta\.content|arguments|functionCall\.args|content\[\]\.caller)$",
        NONE,
        changes="drop|list|text|object",
    ),
    Excuse(
        r"\.segment\.(startIndex|text)$",
        "what the range that it names says",
        source=GEMINI,
        changes="drop",
    ),
    Excuse(
        r"^\[content_block_stop\]\.index$",
        "the end of a block is where the next event begins one",
        source=ANTHROPIC,
        kind="stream",
        changes="zero",
    ),
)
"""Leaves of an answer that may change without any sign to the caller."""


def unseen(one: Any) -> Excuse | None:
    """The excuse for a leaf of an answer that a caller does not see, if there is one."""
    return next((row for row in UNSEEN if _fits(row, one.wire, one)), None)


def _fits(row: Excuse, source: str, one: Any) -> bool:
    return bool(
        re.fullmatch(row.source, source)
        and re.fullmatch(row.kind, one.kind)
        and re.search(row.ways, one.way)
        and re.fullmatch(row.changes, one.change)
    )
