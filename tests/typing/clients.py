"""What a type checker sees of a client. Checked by `make check`, never run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, assert_type

import httpx
from openai.types.chat import ChatCompletionMessage

from llm_rest import (
    MCP,
    Access,
    AsyncClient,
    AsyncStream,
    CallInfo,
    Capabilities,
    Client,
    DecodeError,
    Failure,
    FunctionCall,
    FunctionTool,
    LLMError,
    Loss,
    Message,
    ModelInfo,
    Reply,
    Response,
    RetryPolicy,
    Stream,
    Timeouts,
    ToolRegistry,
    Vendor,
    fetch_image,
    file,
    from_messages,
    image,
    to_messages,
    tool,
    user,
)
from llm_rest.responses import AnyItem, StreamOptions


def a_sync_client_gives_values(llm: Client) -> None:
    assert_type(llm.generate("Hi"), Reply)
    assert_type(llm.generate_text("Hi"), str)
    assert_type(llm.try_generate("Hi"), Reply | Failure)
    assert_type(llm.count_tokens("Hi"), int)
    assert_type(llm.estimate_tokens("Hi"), int)
    assert_type(llm.stream("Hi"), Stream)
    assert_type(llm.capabilities(), Capabilities)
    assert_type(llm.with_options(temperature=0.5), Client)
    with llm as same:
        assert_type(same, Client)


async def an_async_client_is_awaited(llm: AsyncClient) -> None:
    assert_type(await llm.generate("Hi"), Reply)
    assert_type(await llm.generate_text("Hi"), str)
    assert_type(await llm.try_generate("Hi"), Reply | Failure)
    assert_type(await llm.count_tokens("Hi"), int)
    assert_type(llm.stream("Hi"), AsyncStream)
    assert_type(llm.with_options(temperature=0.5), AsyncClient)
    async with llm as same:
        assert_type(same, AsyncClient)


async def access_is_a_value(llm: AsyncClient, sync: Client) -> None:
    assert_type(sync.validate_access(), Access)
    access = await llm.validate_access()
    assert_type(access, Access)
    if access.error is not None:
        raise access.error


def a_stream_takes_what_a_call_takes(llm: Client, later: AsyncClient) -> None:
    llm.stream("Hi", temperature=0.2, stream_options={"include_obfuscation": False}, timeout=Timeouts(stall="none"))
    later.stream("Hi", temperature=0.2, stream_options=StreamOptions(include_obfuscation=False))
    llm.stream("Hi", temprature=0.2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    llm.generate("Hi", stream_options={})  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def a_reply_is_a_response_with_readers(reply: Reply) -> None:
    response: Response = reply
    assert_type(response.id, str)
    assert_type(reply.output_text, str)
    assert_type(reply.function_calls, list[FunctionCall])
    assert_type(reply.refusal, str | None)
    assert_type(reply.stop_reason, str)
    assert_type(reply.losses, list[Loss])
    assert_type(reply.info, CallInfo)
    assert_type(reply.info.losses, list[Loss])
    assert_type(reply.info.duration, float)
    assert_type(reply.info.raw, bytes)
    assert_type(reply.info.metadata, dict[str, str])


def stored_responses_are_a_part_of_the_client(llm: Client) -> None:
    assert_type(llm.responses.retrieve("resp_1", timeout=5), Reply)
    assert_type(llm.responses.poll("resp_1", interval=1, timeout=60, retry=2), Reply)
    assert_type(llm.responses.cancel("resp_1"), Reply)
    assert_type(llm.responses.delete("resp_1"), None)
    assert_type(llm.responses.input_items("resp_1"), list[AnyItem])
    assert_type(llm.responses.compact("Hi").output, list[AnyItem])
    assert_type(llm.models.list(), list[ModelInfo])
    llm.responses.poll("resp_1", pause=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def they_are_awaited(llm: AsyncClient) -> None:
    assert_type(await llm.responses.poll("resp_1", interval=1, timeout=60), Reply)
    assert_type(await llm.responses.input_items("resp_1"), list[AnyItem])
    assert_type(await llm.models.list(), list[ModelInfo])


def every_field_of_a_request_is_a_keyword(llm: Client) -> None:
    llm.generate("Hi", temperature=0.2, max_output_tokens=100, stop=["END"], on_loss="raise", timeout=Timeouts(total=5))
    llm.generate("Hi", tools=[FunctionTool(name="weather"), MCP("wiki", "https://host/mcp")], tool_choice="auto")
    llm.generate("Hi", tools=[{"type": "function", "name": "weather"}], reasoning={"effort": "low"})
    llm.generate("Hi", temprature=0.2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    llm.generate("Hi", temperature="warm")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    llm.generate("Hi", on_loss="explode")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    llm.generate(42)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    llm.generate("Hi", retry=RetryPolicy(retry_after_timeout=False))
    llm.generate("Hi", retry="often")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def input_is_a_text_items_or_plain_values(llm: Client, earlier: Reply) -> None:
    llm.generate([{"role": "user", "content": "Hi"}])
    llm.generate(Message(role="user", content="Hi"))
    llm.generate([*earlier.output, {"role": "user", "content": "And then?"}])
    llm.generate(user("What is this?", image("photo.png"), file(b"%PDF-", filename="paper.pdf")))
    assert_type(user("Hi"), Message)
    llm.generate(user(fetch_image("https://host/photo.png")))


def messages_of_other_formats_are_input(
    llm: Client, later: AsyncClient, history: list[dict[str, object]], spoken: ChatCompletionMessage
) -> None:
    llm.generate(history)
    llm.generate([*history, spoken, "And then?"])
    llm.generate(("What is this?", image("photo.png"), Path("paper.pdf")))
    llm.generate(Path("paper.pdf"))
    llm.stream([{"role": "user", "parts": [{"text": "Hi"}]}])
    llm.generate_with_tools([{"role": "user", "parts": [{"text": "Hi"}]}])
    later.stream(history)
    items = from_messages(history, wire="anthropic_messages")
    assert_type(items, list[AnyItem])
    assert_type(to_messages(items, wire="openai_chat"), list[dict[str, Any]])
    llm.generate(items)
    llm.generate([42])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


def a_client_is_made_in_many_ways() -> None:
    Client("anthropic/claude-haiku-4-5", api_key="k", timeout=30, defaults={"temperature": 0.5})
    Client("compatible/m", base_url="https://host/v1", http=httpx.Client(), on_event=print)
    Client("house/m", vendor=Vendor(name="house", wire="openai_chat", base_url="https://host/v1"))
    Client("openai/gpt-5.1", credentials=lambda vendor, account: f"{vendor}-{account}")

    async def token(vendor: str, account: str | None) -> str:
        return f"{vendor}-{account}"

    AsyncClient("openai/gpt-5.1", credentials=token)
    Client("openai/gpt-5.1", on_loss="explode")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Client("openai/gpt-5.1", retry=1)
    Client("openai/gpt-5.1", retry="often")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    RetryPolicy(3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    RetryPolicy(jitter="some")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Client("openai/gpt-5.1", max_retries=2)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def tools_may_be_kept_in_a_variable(llm: Client, later: AsyncClient) -> None:
    def weather(city: str) -> str:
        return city

    def add(a: int, b: int) -> int:
        return a + b

    llm.generate("Hi", tools=[weather, tool(weather), ToolRegistry(weather), FunctionTool(name="f"), {"type": "new"}])
    llm.count_tokens("Hi", tools=(tool(weather),))
    llm.stream("Hi", tools=weather)
    later.stream("Hi", tools=ToolRegistry(weather))
    functions = [weather, add]
    tools = [tool(weather), tool(add)]
    mixed = [weather, tool(add), FunctionTool(name="f")]
    llm.generate("Hi", tools=functions)
    llm.stream("Hi", tools=tools)
    llm.with_options(tools=mixed, retry=None)
    llm.run("Hi", functions)
    llm.generate_with_tools("Hi", mixed)
    later.stream("Hi", tools=functions)
    llm.generate("Hi", tools=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def a_reply_is_shown_and_stored(reply: Reply) -> None:
    assert_type(reply.to_dict(), dict[str, Any])
    assert_type(reply.display_text, str)
    for item in reply.output:
        assert_type(item.to_dict(), dict[str, Any])


def an_error_and_a_loss_say_what_they_are(error: LLMError, unread: DecodeError, loss: Loss, failure: Failure) -> None:
    assert_type(error.code, Literal["auth_error", "rate_limit", "network_error", "invalid_request", "unknown"])
    assert_type(error.retryable, bool)
    assert_type(error.status, int | None)
    assert_type(error.to_dict(), dict[str, Any])
    assert_type(unread.path, str)
    as_builtin: ValueError = unread
    assert_type(str(as_builtin), str)
    assert_type(loss.path, str)
    assert_type(loss.kind, Literal["dropped", "changed", "emulated", "withheld", "refused"])
    assert_type(failure.suggestions, tuple[str, ...])
    assert_type(failure.error, LLMError)
