"""`llm_rest/__init__.py` is the table of contents: what it lists is promised, resolves, and loads on first use."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest

import llm_rest
from llm_rest import server

ROOT = Path(__file__).parents[1]

# Written out a second time on purpose: a name that leaves this list breaks programs.
PROMISED = set(
    """
    APIConnectionError APIError APIStatusError APITimeoutError AuthenticationError BadRequestError BudgetError CallCancelledError
    CapabilityError ClientClosedError ConfigError ConflictError ConnectError ContentFilterError ContextLengthError
    DecodeError InternalServerError LLMError LossError MalformedResponseError MaxIterationsError NotFoundError
    OutputError OverloadedError PermissionDeniedError ProtocolError ProxyError QuotaError RateLimitError
    ReasoningStateError RefusalError RequestTooLargeError ResponseTooLargeError SchemaMismatchError ServerTimeoutError
    StreamInterruptedError TLSError ToolArgumentsError ToolError ToolFailedError ToolNotFoundError ToolTimeoutError
    TruncatedError UnprocessableEntityError
    Tool ToolContext ToolExecutor ToolRegistry tool
    CachePrefix cache_prefix
    Loss LossWarning
    Access AsyncClient AsyncStream CallInfo Client Failure ModelInfo Reply Stream Timeouts TLS Capabilities
    ClientCallEnd ClientCallStart RequestCancelled RequestEnd RequestRetry RequestStart CallOptions RateLimitWait
    RetryPolicy RateLimit LimitStatus Budget Prices
    AsyncContentGenerator AsyncJSONStream PromptContext ContentGenerator JSONStream
    AsyncChat AsyncChatStream Chat ChatStream Conversation ConversationState HistoryLimits PendingContext
    AsyncBulk Bulk BulkEstimate BulkRow BulkStatus
    AgentMessage end_conversation_tool get_conversation_tool send_message_tool
    ConversationStore MemoryConversationStore SQLiteConversationStore StoredConversation StoreError
    afetch_image fetch_image file image user from_messages to_messages MCP
    AnswerCache Fallback FallbackModel
    APIKey Bearer Header NoAuth Vendor ChatDialect MessagesDialect ResponsesDialect
    AsyncRun Run RunState ToolCall CallCompleted CallExecuting CallFailed IterationStart LLMResponse NonblockingError
    NonblockingResponse NonblockingResult ResultArrived RunEnd
    Citation FunctionCall FunctionCallOutput FunctionTool Image Message Reasoning Request Response Unknown Usage
    """.split()
)

# Unions of types, for annotations.
ALIASES = {"AnyLoopEvent", "Input", "InputItem", "Item", "ClientEvent"}


SERVED = set(
    """
    AccessControl Config Context Gateway Handler JSONLines Keep Limits MemoryStore Pause Refused Seal SQLiteStore Simulator
    StoredHistory Upstream access_control create_app load serve serve_in_thread
    """.split()
)


def test_all_lists_what_is_promised() -> None:
    assert set(llm_rest.__all__) == PROMISED | ALIASES | {"__version__"}
    assert set(server._HOME) == SERVED


@pytest.mark.parametrize("package", [llm_rest, server], ids=lambda package: package.__name__)
def test_type_checkers_see_the_same_names_from_the_same_modules(package: Any) -> None:
    tree = ast.parse(Path(package.__file__).read_text())
    (block,) = [n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    seen = {a.name: "." * n.level + str(n.module) for n in block.body if isinstance(n, ast.ImportFrom) for a in n.names}
    assert seen == package._HOME


def test_a_promised_name_resolves_to_an_object_of_that_name() -> None:
    assert {name for name in SERVED if getattr(server, name).__name__ != name} == set()
    values = {name: getattr(llm_rest, name) for name in PROMISED}
    assert {name for name, value in values.items() if getattr(value, "__name__", name) != name} == set()
    assert {name for name, value in values.items() if llm_rest.__dict__.get(name) is not value} == set(), (
        "the second access does not go through __getattr__"
    )


def test_an_alias_is_the_union_of_its_module() -> None:
    for name in ALIASES:
        home = import_module(llm_rest._HOME[name], llm_rest.__name__)
        assert get_args(getattr(llm_rest, name)), f"{name}: a union has members"
        assert getattr(llm_rest, name) is vars(home)[name], name


def test_dir_shows_names_that_were_never_used_and_the_server_loads_what_serving_needs_when_it_serves() -> None:
    code = f"""import sys, llm_rest, llm_rest.server, llm_rest.simulator
print(set({sorted(PROMISED)}) - set(dir(llm_rest)), {{'starlette', 'uvicorn'}} & set(sys.modules))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "set() set()"


def test_an_unknown_name_is_an_ordinary_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'llm_rest' has no attribute 'Cleint'"):
        llm_rest.Cleint  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]
    assert not hasattr(llm_rest, "__path_hook__")


def test_every_error_class_of_a_call_is_public() -> None:
    """The classes of the tool loop are public with the loop; every other one is already."""
    from llm_rest import errors

    loop = {kind.__name__ for kind in (errors.ToolError, *errors.ToolError.__subclasses__())}
    classes = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert classes - loop - PROMISED == set()
