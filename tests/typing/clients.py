"""What a type checker sees of clients, runs and typed output beyond `programs/`. Checked by `make check`, never run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypedDict, assert_type

import httpx
from msgspec import Struct
from openai.types.chat import ChatCompletionMessage

from llm_rest import (
    MCP,
    Access,
    AnyLoopEvent,
    AsyncClient,
    AsyncRun,
    AsyncStream,
    CallCompleted,
    CallExecuting,
    CallFailed,
    Capabilities,
    Client,
    DecodeError,
    Failure,
    FunctionTool,
    IterationStart,
    LLMError,
    LLMResponse,
    Loss,
    Message,
    ModelInfo,
    NonblockingError,
    NonblockingResponse,
    NonblockingResult,
    Reply,
    Response,
    ResultArrived,
    RetryPolicy,
    Run,
    RunEnd,
    Stream,
    Timeouts,
    ToolCall,
    ToolRegistry,
    Vendor,
    fetch_image,
    file,
    image,
    to_messages,
    tool,
    user,
)
from llm_rest.responses import AnyEvent, AnyItem, StreamOptions


def a_sync_client_gives_values(llm: Client) -> None:
    assert_type(llm.generate("Hi"), Reply)
    assert_type(llm.generate_text("Hi"), str)
    assert_type(llm.try_generate("Hi"), Reply | Failure)
    assert_type(llm.count_tokens("Hi"), int)
    assert_type(llm.estimate_tokens("Hi"), int)
    assert_type(llm.stream("Hi"), Stream)
    assert_type(llm.capabilities(), Capabilities)
    assert_type(llm.validate_access(), Access)
    assert_type(llm.responses.retrieve("resp_1", timeout=5), Reply)
    assert_type(llm.responses.poll("resp_1", interval=1, timeout=60, retry=2), Reply)
    assert_type(llm.responses.cancel("resp_1"), Reply)
    assert_type(llm.responses.delete("resp_1"), None)
    assert_type(llm.responses.input_items("resp_1"), list[AnyItem])
    assert_type(llm.responses.compact("Hi").output, list[AnyItem])
    assert_type(llm.models.list(), list[ModelInfo])
    llm.responses.poll("resp_1", pause=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def an_async_client_is_awaited(llm: AsyncClient) -> None:
    assert_type(await llm.generate("Hi"), Reply)
    assert_type(await llm.generate_text("Hi"), str)
    assert_type(await llm.try_generate("Hi"), Reply | Failure)
    assert_type(await llm.count_tokens("Hi"), int)
    assert_type(llm.stream("Hi"), AsyncStream)
    assert_type(llm.with_options(temperature=0.5), AsyncClient)
    assert_type((await llm.validate_access()).error, LLMError | None)
    assert_type(await llm.responses.poll("resp_1", interval=1, timeout=60), Reply)
    assert_type(await llm.responses.input_items("resp_1"), list[AnyItem])
    assert_type(await llm.models.list(), list[ModelInfo])
    async with llm as same:
        assert_type(same, AsyncClient)


def a_reply_and_an_error_say_what_they_are(reply: Reply, error: LLMError, loss: Loss, failure: Failure) -> None:
    response: Response = reply
    assert_type(response.stop_reason, str)
    assert_type(reply.refusal, str | None)
    assert_type(reply.display_text, str)
    assert_type(reply.info.raw, bytes)
    assert_type(reply.info.metadata, dict[str, str])
    assert_type(error.code, Literal["auth_error", "rate_limit", "network_error", "invalid_request", "unknown"])
    assert_type(error.to_dict(), dict[str, Any])
    as_builtin: ValueError = DecodeError("no", path="$")
    assert_type(str(as_builtin), str)
    assert_type(loss.kind, Literal["dropped", "changed", "emulated", "withheld", "refused"])
    assert_type(failure.suggestions, tuple[str, ...])
    assert_type(failure.error, LLMError)


def every_field_of_a_request_is_a_keyword(llm: Client, later: AsyncClient) -> None:
    llm.generate("Hi", temperature=0.2, max_output_tokens=100, stop=["END"], on_loss="raise", timeout=Timeouts(total=5))
    llm.generate("Hi", tools=[FunctionTool(name="weather"), MCP("wiki", "https://host/mcp")], tool_choice="auto")
    llm.generate("Hi", temprature=0.2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    llm.generate("Hi", temperature="warm")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    llm.generate("Hi", on_loss="explode")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    llm.generate(42)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    llm.generate("Hi", retry=RetryPolicy(retry_after_timeout=False))
    llm.generate("Hi", retry="often")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    llm.stream("Hi", temperature=0.2, stream_options={"include_obfuscation": False}, timeout=Timeouts(stall="none"))
    later.stream("Hi", temperature=0.2, stream_options=StreamOptions(include_obfuscation=False))
    llm.stream("Hi", temprature=0.2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    llm.generate("Hi", stream_options={})  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def input_is_a_text_items_plain_values_or_messages_of_other_formats(
    llm: Client, earlier: Reply, history: list[dict[str, object]], spoken: ChatCompletionMessage
) -> None:
    llm.generate(Message(role="user", content="Hi"))
    llm.generate([*earlier.output, {"role": "user", "content": "And then?"}])
    llm.generate(user("What is this?", fetch_image("https://host/photo.png"), file(b"%PDF-", filename="paper.pdf")))
    llm.generate(history)
    llm.generate([*history, spoken, "And then?"])
    llm.generate(("What is this?", image("photo.png"), Path("paper.pdf")))
    llm.generate(Path("paper.pdf"))
    llm.stream([{"role": "user", "parts": [{"text": "Hi"}]}])
    llm.generate_with_tools([{"role": "user", "parts": [{"text": "Hi"}]}])
    assert_type(to_messages(earlier.output, wire="openai_chat"), list[dict[str, Any]])
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
    llm.with_options(tools=mixed, retry=None)
    llm.run("Hi", functions)
    llm.generate_with_tools("Hi", mixed)
    later.stream("Hi", tools=tools)
    llm.generate("Hi", tools=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


# --- runs -----------------------------------------------------------------------------------------------------------


def a_run_of_a_sync_client(llm: Client) -> None:
    run = llm.run("Hi", [len], max_iterations=3, temperature=0.5, timeout=60, use_previous_response_id=True)
    llm.run("Hi", [len], timeout=Timeouts(read=5, stall=60))
    assert_type(run, Run[Reply])
    assert_type(run.result(), Reply)
    run.submit_output("call_1", {"degrees": 4})
    with run.stream() as pieces:
        for piece in pieces:
            assert_type(piece, AnyLoopEvent | AnyEvent)


async def a_run_of_an_async_client(llm: AsyncClient) -> None:
    run = llm.run("Hi", [len], on_event=[print])
    assert_type(run, AsyncRun[Reply])
    assert_type(await run.result(), Reply)
    assert_type(await llm.generate_with_tools("Hi", [len]), Reply)


def every_event_says_what_it_is_about(event: AnyLoopEvent) -> ToolCall | Response | None:
    match event:
        case IterationStart() | NonblockingError() | RunEnd():
            return None
        case LLMResponse() | NonblockingResponse():
            return event.response
        case CallExecuting() | CallCompleted() | CallFailed() | ResultArrived():
            return event.call
        case NonblockingResult():
            return event.call


# --- typed output ---------------------------------------------------------------------------------------------------


class Person(Struct):
    name: str


class Place(TypedDict):
    city: str


async def a_type_gives_its_value(llm: Client, later: AsyncClient) -> None:
    assert_type(llm.generate_json("Ada", Place, max_repairs=2, strategy="tool"), Place)
    assert_type(llm.generate_json("Ada", {"type": "object"}), Any)
    assert_type(llm.generate("Ada", output=Person).parsed, Any)
    assert_type(await later.generate_json("Ada", Person), Person)
    assert_type((await later.generate("Ada", output=Literal["a"])).parsed, Any)


def the_elements_of_a_streamed_list_are_typed(llm: Client) -> None:
    with llm.stream_json("Count", tuple[int, ...]) as numbers:
        assert_type(list(numbers.elements()), list[int])
    with llm.stream_json("Count", {"type": "array"}) as plain:
        for one in plain.elements():
            assert_type(one, Any)
    llm.stream_json("Ada", Person).elements()  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
