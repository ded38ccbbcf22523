"""The vendors' own clients as data: which of their types describes the documents of which wire."""

# What a client's own model is narrowed to here is meant to differ from it.
# pyright: reportIncompatibleVariableOverride=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import pytest

from llm_rest.vendors.dialects import ChatDialect, GeminiDialect, MessagesDialect, OllamaDialect, ResponsesDialect
from tests.oracles.typed import problems


@dataclass(frozen=True)
class Peer:
    """A client library: the types of a request with and without streaming, and the model of an answer."""

    distribution: str
    dialect: Any
    forms: tuple[Any, Any]
    answer: Any
    not_in_body: frozenset[str] = frozenset()
    """Arguments of the library's call that travel in headers."""
    optional: frozenset[str] = frozenset()
    """Keys that the types ask for and the vendor does not."""
    check: Callable[[Any], list[str]] | None = None
    """What the library says against a request, where it describes requests by models and not by types of dicts."""

    def complaints(self, document: Any) -> list[str]:
        """What the library's types say against a request."""
        if self.check is not None:
            return self.check(document)
        return problems(document, self.forms[document.get("stream") is True], optional=self.optional)

    @property
    def version(self) -> str:
        """The installed version, to the minor one."""
        return ".".join(metadata.version(self.distribution).split(".")[:2])


def _openai_responses() -> Peer:
    pytest.importorskip("openai", reason="the OpenAI client is a development-only peer")
    from openai.types.responses import Response
    from openai.types.responses import response_create_params as params

    forms = (params.ResponseCreateParamsNonStreaming, params.ResponseCreateParamsStreaming)
    # The reference gives each of these a default, or recorded requests without them were answered; hosts send citations
    # without a title or indices, which go back as they came.
    optional = frozenset("detail strict parameters annotations id status title start_index end_index".split())
    return Peer("openai", ResponsesDialect(), forms, Response, optional=optional)


def _openai_chat() -> Peer:
    pytest.importorskip("openai", reason="the OpenAI client is a development-only peer")
    from openai.types.chat import ChatCompletion
    from openai.types.chat import completion_create_params as params

    forms = (params.CompletionCreateParamsNonStreaming, params.CompletionCreateParamsStreaming)
    return Peer("openai", ChatDialect(), forms, ChatCompletion)


def _anthropic_messages() -> Peer:
    pytest.importorskip("anthropic", reason="the Anthropic client is a development-only peer")
    from anthropic.types.beta import BetaMessage
    from anthropic.types.beta import message_create_params as params

    forms = (params.MessageCreateParamsNonStreaming, params.MessageCreateParamsStreaming)
    headers = frozenset({"betas", "user_profile_id", "workspace_id"})
    return Peer("anthropic", MessagesDialect(), forms, BetaMessage, headers)


def _ollama_chat() -> Peer:
    pytest.importorskip("ollama", reason="the Ollama client is a development-only peer")
    import ollama
    from ollama._types import ChatRequest

    # The client takes any mapping for a message or an option, and reads images from files; here its own types are meant, with
    # what newer servers know and it does not yet.
    class Call(ollama.Message.ToolCall):
        id: str | None = None

    class Said(ollama.Message):
        images: Sequence[str] | None = None
        tool_calls: Sequence[Call] | None = None
        tool_call_id: str | None = None

    class Function(ollama.Tool.Function):
        parameters: Mapping[str, Any] | None = None

    class Tool(ollama.Tool):
        function: Function | None = None

    class Asked(ChatRequest):
        messages: Sequence[Said] | None = None
        tools: Sequence[Tool] | None = None
        options: ollama.Options | None = None
        truncate: bool | None = None

    class Answer(ollama.ChatResponse):
        message: Said

    return Peer("ollama", OllamaDialect(), (Asked, Asked), Answer)


def _gemini_generate_content() -> Peer:
    pytest.importorskip("google.genai", reason="the Google client is a development-only peer")
    from google.genai import types
    from pydantic import ValidationError

    def check(document: Any) -> list[str]:
        # The client takes the contents and one flat configuration, and spreads the latter over the body.
        config = {name: value for name, value in document.items() if name not in ("contents", "generationConfig")}
        found: list[str] = []
        for model, value in (
            *((types.Content, content) for content in document["contents"]),
            (types.GenerateContentConfig, config | document.get("generationConfig", {})),
        ):
            try:
                model.model_validate(value)
            except ValidationError as problem:
                found += [f"{error['loc']}: {error['msg']}" for error in problem.errors()]
        return found

    return Peer("google-genai", GeminiDialect(), ((), ()), types.GenerateContentResponse, check=check)


PEERS: dict[str, Callable[[], Peer]] = {
    "openai_responses": _openai_responses,
    "openai_chat": _openai_chat,
    "anthropic_messages": _anthropic_messages,
    "ollama_chat": _ollama_chat,
    "gemini_generate_content": _gemini_generate_content,
}
