"""Keywords of other libraries, and the equivalent here, for the error where one of them is passed to a client or a call.

The tables are data: a row is the keywords with the same meaning elsewhere, what to write here, and an example that
runs. Before changing this file, know that `tests/test_keywords.py` runs every example.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, Never

from ..errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


class Row(NamedTuple):
    """Keywords of other libraries, and the equivalent keyword of this one."""

    words: tuple[str, ...]
    instead: str
    example: str


CALLS = (
    Row(
        ("messages", "contents", "history", "chat_history", "inputs", "question", "query", "user_prompt"),
        "the conversation is the first argument, input",
        'llm.generate([{"role": "user", "content": "Hi"}])',
    ),
    Row(
        ("system", "system_prompt", "system_message", "system_instruction", "preamble"),
        "write instructions",
        'llm.generate("Hi", instructions="Be brief.")',
    ),
    Row(
        ("max_tokens", "max_completion_tokens", "max_new_tokens", "max_tokens_to_sample", "num_predict"),
        "write max_output_tokens",
        'llm.generate("Hi", max_output_tokens=100)',
    ),
    Row(
        (
            *("response_format", "response_model", "response_schema", "response_mime_type", "output_format"),
            *("output_schema", "output_type", "result_type", "text_format", "json_schema", "schema", "format"),
        ),
        "output= takes a type or a JSON Schema and gives reply.parsed, generate_json gives the value alone",
        'llm.generate("Ada, born 1815", output={"type": "object", "properties": {"name": {"type": "string"}}}).parsed',
    ),
    Row(
        ("reasoning_effort", "effort", "thinking", "thinking_config", "thinking_budget", "budget_tokens", "think"),
        "write reasoning, with an effort",
        'llm.generate("Hi", reasoning={"effort": "low"})',
    ),
    Row(
        ("n", "candidate_count", "num_completions", "best_of", "num_return_sequences"),
        "a call gives one answer; make a call for each",
        '[llm.generate("Hi") for _ in range(2)]',
    ),
    Row(("functions",), "write tools", 'llm.generate("Hi", tools=[weather])'),
    Row(("function_call",), "write tool_choice", 'llm.generate("Hi", tools=[weather], tool_choice="required")'),
    Row(
        ("disable_parallel_tool_use",),
        "write parallel_tool_calls",
        'llm.generate("Hi", tools=[weather], parallel_tool_calls=False)',
    ),
    Row(
        ("max_turns", "max_steps", "max_rounds", "max_tool_rounds", "recursion_limit"),
        "a run of the tool loop takes max_iterations",
        'llm.generate_with_tools("Hi", [weather], max_iterations=5)',
    ),
    Row(("web_search_options",), "searching the web is a tool", 'llm.generate("Hi", tools=[{"type": "web_search"}])'),
    Row(("stop_sequences",), "write stop", 'llm.generate("Hi", stop=["END"])'),
    Row(
        ("logprobs",),
        "write top_logprobs, and include them",
        'llm.generate("Hi", top_logprobs=3, include=["message.output_text.logprobs"])',
    ),
    Row(("verbosity",), "write text, with a verbosity", 'llm.generate("Hi", text={"verbosity": "low"})'),
    Row(
        ("generation_config", "config", "options", "parameters", "model_kwargs"),
        "every option is a keyword of its own",
        'llm.generate("Hi", temperature=0.2, max_output_tokens=100)',
    ),
    Row(
        ("extra_body", "logit_bias", "modalities", "min_p", "repetition_penalty", "additional_kwargs"),
        "what only one wire knows stands in extra, under the name of the wire",
        'llm.generate("Hi", extra={"openai_chat": {"logit_bias": {"50256": -100}}})',
    ),
    Row(
        ("safety_settings",),
        "what only Gemini knows stands in extra",
        'llm.generate("Hi", extra={"gemini_generate_content": {"safetySettings": []}})',
    ),
    Row(
        ("keep_alive",),
        "what only Ollama knows stands in extra",
        'llm.generate("Hi", extra={"ollama_chat": {"keep_alive": "5m"}})',
    ),
    Row(
        ("headers", "default_headers", "betas"),
        "write extra_headers",
        'llm.generate("Hi", extra_headers={"x-team": "search"})',
    ),
    Row(
        ("images", "image_url", "files", "attachments", "documents", "audio"),
        "images and files are part of the input",
        'llm.generate(["What is this?", image("photo.png")])',
    ),
    Row(("request_timeout", "timeout_seconds"), "write timeout, in seconds", 'llm.generate("Hi", timeout=30)'),
    Row(
        ("max_retries", "num_retries", "retries"),
        "write retry, the number of all requests: one more than the retries",
        'llm.generate("Hi", retry=3)',
    ),
    Row(
        ("engine", "deployment", "deployment_id", "deployment_name", "model_name", "model_id"),
        'write model, as "vendor/model"',
        'llm.generate("Hi", model="openai/gpt-5")',
    ),
    Row(
        ("stream", "streaming", "stream_options"),
        "llm.stream gives the answer as it comes, llm.generate the whole answer",
        'llm.stream("Hi")',
    ),
    Row(("output",), "generate takes it; stream_json streams a value", 'llm.stream_json("Hi", dict)'),
    Row(
        ("base_url", "api_base"),
        "it belongs to the client",
        'Client("compatible/my-model", base_url="http://localhost:8000/v1")',
    ),
    Row(
        ("api_key", "token", "auth_token"),
        "a key belongs to the client; user_token= is for one call",
        'Client("openai/gpt-5", api_key="...")',
    ),
)
"""Keywords of a call."""

CLIENTS = (
    Row(
        ("max_retries", "num_retries", "retries"),
        "write retry, the number of all requests: one more than the retries",
        'Client("openai/gpt-5", retry=3)',
    ),
    Row(
        ("api_base", "host", "endpoint", "url", "server_url", "azure_endpoint", "openai_api_base"),
        "write base_url",
        'Client("compatible/my-model", base_url="http://localhost:8000/v1")',
    ),
    Row(
        ("token", "auth_token", "key", "openai_api_key", "anthropic_api_key", "google_api_key"),
        "write api_key",
        'Client("openai/gpt-5", api_key="...")',
    ),
    Row(
        ("azure_ad_token_provider", "token_provider", "credential", "auth"),
        "credentials= is a function that gives a token",
        'Client("openai/gpt-5", credentials=lambda vendor, account: "...")',
    ),
    Row(
        ("organization", "org_id"),
        "set OPENAI_ORG_ID in the environment, or write the header",
        'Client("openai/gpt-5", defaults={"extra_headers": {"OpenAI-Organization": "org-1"}})',
    ),
    Row(
        ("project",),
        "set OPENAI_PROJECT_ID in the environment, or write the header",
        'Client("openai/gpt-5", defaults={"extra_headers": {"OpenAI-Project": "proj-1"}})',
    ),
    Row(
        ("default_headers", "headers", "custom_headers"),
        "write extra_headers, for all calls in defaults",
        'Client("openai/gpt-5", defaults={"extra_headers": {"x-team": "search"}})',
    ),
    Row(
        ("default_query", "extra_query", "api_version"),
        "give an HTTP client that adds it",
        'Client("openai/gpt-5", http=httpx.Client(params={"api-version": "v1"}))',
    ),
    Row(
        ("http_client", "httpx_client", "http_options", "session", "transport", "follow_redirects", "trust_env"),
        "write http, an HTTP client",
        'Client("openai/gpt-5", http=httpx.Client())',
    ),
    Row(
        ("proxy", "proxies", "http_proxy", "https_proxy"),
        "set HTTPS_PROXY in the environment, or give an HTTP client",
        'Client("openai/gpt-5", http=httpx.Client(proxy="http://localhost:3128"))',
    ),
    Row(
        ("verify", "verify_ssl", "ssl_verify", "ssl_context", "cert", "ca_bundle"),
        "write tls: a path, or an ssl.SSLContext",
        'Client("openai/gpt-5", tls=ssl.create_default_context())',
    ),
    Row(
        ("request_timeout", "timeout_seconds", "connect_timeout", "read_timeout"),
        "write timeout: seconds, or Timeouts",
        'Client("openai/gpt-5", timeout=Timeouts(connect=5, total=60))',
    ),
    Row(
        ("limits", "pool_limits", "pool_size", "max_keepalive_connections"),
        "write max_connections",
        'Client("openai/gpt-5", max_connections=10)',
    ),
    Row(
        (
            *("engine", "deployment", "deployment_id", "deployment_name", "azure_deployment", "model_name", "model_id"),
            *("default_model", "provider", "custom_llm_provider", "model_provider"),
        ),
        'the first argument is the model, as "vendor/model"',
        'Client("openai/gpt-5")',
    ),
    Row(("callbacks", "hooks", "event_hooks", "logger"), "write on_event", 'Client("openai/gpt-5", on_event=print)'),
    Row(("stream", "streaming"), "llm.stream gives the answer as it comes", 'Client("simulator/demo").stream("Hi")'),
)
"""Keywords of a client."""

CONSTRUCTOR = frozenset("api_key base_url max_connections http tls credentials defaults wire vendor telemetry".split())
"""Keywords of a client that are not keywords of a call."""

VALUES: dict[tuple[str, type], Row] = {
    ("prompt", str): Row(
        ("prompt",), "it is a stored prompt; a text is the first argument, input", 'llm.generate("Hi")'
    ),
    ("reasoning", str): Row(("reasoning",), "it has an effort", 'llm.generate("Hi", reasoning={"effort": "low"})'),
    ("reasoning", bool): Row(("reasoning",), "it has an effort", 'llm.generate("Hi", reasoning={"effort": "low"})'),
    ("text", str): Row(("text",), "it is the form of the answer; a text is the first argument", 'llm.generate("Hi")'),
}
"""Keywords of a call that have another meaning in other libraries, by the type of the value."""


def row_for(name: str, table: tuple[Row, ...]) -> Row | None:
    """The row of a keyword in any notation: `max_tokens`, `maxTokens`."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return next((row for row in table if plain in row.words), None)


def refusal(name: str, known: Collection[str]) -> ConfigError:
    """The error for an unknown keyword of a call; `known` are the valid ones."""
    row = row_for(name, CALLS)
    if row is None and (name in CONSTRUCTOR or row_for(name, CLIENTS)):
        row = row_for(name, CLIENTS)
        what = f"it belongs to the client: {row.instead}" if row else "it belongs to the client"
        example = row.example if row else f'Client("openai/gpt-5", {name}=...)'
        return _error(name, what, example)
    if row is not None:
        return _error(name, row.instead, row.example)
    from .run import LoopOptions

    if name in LoopOptions.__annotations__:
        return _error(name, "a run of the tool loop takes it", f"llm.generate_with_tools(..., {name}=...)")
    return ConfigError(f"there is no option {name}", hint=_near(name, known))


def refuse_constructor(kind: str, words: dict[str, Any], options: Collection[str]) -> Never:
    """Raise `ConfigError` for unknown keywords of a client; `options` are those of a call. The values are discarded."""
    names = sorted(words)
    words.clear()  # may be a key, and tracebacks are recorded with local variables
    name = names[0]
    if (row := row_for(name, CLIENTS)) is not None:
        error = _error(name, row.instead, row.example)
    elif name in options:
        error = _error(
            name, "options of calls stand in defaults", f'Client("openai/gpt-5", defaults={{"{name}": ...}})'
        )
    elif (row := row_for(name, CALLS)) is not None:
        error = _error(name, f"it belongs to a call: {row.instead}", row.example)
    else:
        error = ConfigError(f"there is no option {name}", hint=_near(name, CONSTRUCTOR))
    # httpx has the same names for its two clients.
    error.hint = re.sub(r"\bClient\(", f"{kind}(", error.hint or "")
    raise error


def misplaced(options: Mapping[str, object]) -> ConfigError | None:
    """The error for the first keyword whose value has another meaning in other libraries; `None` without one."""
    for name, value in options.items():
        if (row := VALUES.get((name, type(value)))) is not None:
            return ConfigError(f"{name}: {row.instead}", hint=f"such as {row.example}")
    return None


def _error(name: str, instead: str, example: str) -> ConfigError:
    return ConfigError(f"there is no option {name}: {instead}", hint=f"such as {example}")


def _near(name: str, known: Collection[str]) -> str:
    from difflib import get_close_matches  # only for this message

    near = get_close_matches(name, sorted(known), n=3)
    return f"did you mean {' or '.join(near)}?" if near else "extra={wire: {...}} sends what only one wire knows"
