"""What to do about each error: the one table behind `LLMError.hint`, `LLMError.suggestions` and `Failure.suggestions`.

A row belongs to the `kind` of a class, or to `kind.case` for one phase of a timeout or one reason of a failed connection. A
class without a row has that of the class above it. Before changing this file, know that a line names facts in braces, which
are attributes of the error or what the client knows of the vendor (`LLMError.facts`): a line with an unknown fact is left
out, and of several alternatives in a tuple the first without one is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Line = str | tuple[str, ...]

HINTED = frozenset(
    "authentication capability context_length not_found permission_denied quota reasoning_state request_too_large".split()
)
"""Kinds whose first suggestion is the `hint`, which the text of the error ends with, where no other hint was given."""

_AGAIN = "make the call again later: it may succeed then"
_MORE_ATTEMPTS = "more attempts with longer delays: retry=RetryPolicy(attempts=..., max_delay=...)"
_BASE_URL: Line = ("check the host and the port: {base_url_env} or base_url=", "check the host and the port: base_url=")
_NETWORK: Line = ("check the network between this machine and {endpoint}", "check the network")
_OTHER_MODEL = "use another model or vendor in the meantime: model="
_MESSAGE = "correct what the message names"

TABLE: dict[str, tuple[Line, ...]] = {
    "llm": ("read the message, and the attributes status, body and attempts where they are set",),
    # --- before a byte is sent ---
    "config": ("correct the argument, header or environment variable that the message names",),
    "capability": (
        'invalid_options="drop" omits such options, "send" lets the vendor decide',
        "omit the option, or choose a model that supports it",
    ),
    "client_closed": ("make the call before the client is closed, inside its `with` block",),
    "loss": (
        "change what the attribute losses lists, or choose a vendor that supports it",
        'pass on_loss="warn" or on_loss="ignore" to send the request without these parts',
    ),
    "budget": (
        "raise the budget, or start a new one: Budget(usd=..., tokens=..., seconds=...)",
        "reduce the request: a lower max_output_tokens or a shorter input",
    ),
    "decode": ("correct the document at the place that the message begins with",),
    "store": ("check the path, the permissions and the free space of the file that the message names",),
    "store.not_found": ("check the id: store.list() has those of the latest conversations",),
    "store.exists": ("append to the conversation, or fork() it, which gives it another id",),
    "store.conflict": ("load the conversation again with store.get(id), and repeat the turn",),
    "store.completed": ("fork() the conversation to continue it, or start a new one",),
    "store.locked": ("try again when the other program has finished writing, or allow more time: timeout=",),
    "store.full": ("free space on the disk, or move the store",),
    "store.read_only": ("check the permissions of the file and of its directory, which SQLite writes to as well",),
    "store.damaged": ("restore the file from a backup; the sqlite3 command .recover may recover a part",),
    "store.newer": ("update llm_rest to the version that wrote the file",),
    # --- no answer came ---
    "api_connection": (_NETWORK, _BASE_URL, _AGAIN),
    "connect": (_NETWORK, _BASE_URL, _AGAIN),
    "connect.refused": (
        ("start the server: {start}", "start the server at {local}", "check that {endpoint} is up", "start the server"),
        _BASE_URL,
    ),
    "connect.name": (
        ("check the spelling of the host: {base_url_env} or base_url=", "check the spelling of the host: base_url="),
        "check the DNS and the network connection of this machine",
    ),
    "tls": (
        "pass the file of the certificate authority as tls=, or name it in SSL_CERT_FILE",
        "check the clock of this machine, and that the certificate is for the host in base_url=",
    ),
    "proxy": (
        "check the address, the user and the password in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY",
        "name the host in NO_PROXY to connect without the proxy",
    ),
    "api_timeout.connect": (_NETWORK, _BASE_URL, "allow more time: timeout=Timeouts(connect=...)"),
    "api_timeout.pool": (
        "make fewer calls at once, or allow more connections: Client(max_connections=...)",
        "close streams that are not read to their end: use them in a `with`",
    ),
    "api_timeout.first_byte": (
        "allow more time: timeout=Timeouts(first_byte=...); a model may be loading or thinking",
        _MORE_ATTEMPTS,
    ),
    "api_timeout.read": (
        "allow more time: timeout=Timeouts(read=...)",
        _NETWORK,
        _MORE_ATTEMPTS,
    ),
    "api_timeout.stall": ("allow more time: timeout=Timeouts(stall=...)", _AGAIN),
    "api_timeout": (
        "allow more time: timeout=Timeouts(total=...)",
        "reduce the request: a lower max_output_tokens, less reasoning, or a shorter input",
        "use stream(), which has no limit for the whole answer unless it is given",
    ),
    "protocol": (_BASE_URL, "check what answers there: a proxy or another program may listen at that address"),
    "stream_interrupted": (
        "make the call again; the attribute partial has the partial answer",
        _NETWORK,
    ),
    "malformed_response": (
        _BASE_URL,
        "look at the attribute body: a proxy or a login page may have answered instead of the API",
    ),
    "response_too_large": ("reduce the request: a lower max_output_tokens, or fewer results",),
    # --- the vendor answered with an error ---
    "api_status": ("read the message, and the attributes status, vendor_code and body", _BASE_URL),
    "bad_request": (_MESSAGE, "the attributes vendor_code and body have the vendor's error"),
    "context_length": (
        "shorten the input, or lower max_output_tokens",
        (
            "the vendor counted {requested} tokens, and its limit is {limit}",
            "the limit of the vendor is {limit} tokens",
        ),
        "the context window of {model} is {context_window} tokens, input and output together",
        "{model} writes at most {max_output} tokens per answer: max_output_tokens need not be higher",
        "omit the oldest turns, or choose a model with a larger context window",
    ),
    "reasoning_state": (
        "send the conversation without its reasoning items",
        "send items back unchanged, and to the vendor that issued them",
    ),
    "authentication": (
        (
            "check the token that {provider} returns",
            "check the API key: {key_env} in the environment, or api_key=",
            "check the API key and its source",
        ),
        "create a new key at {vendor} if it was revoked or has expired",
        ("check that the key is for {endpoint}: base_url=", "check that the key is for this vendor"),
    ),
    "permission_denied": (
        "check what the key, its project and its region may use",
        ("check that the account may use the model {model}", "choose another model"),
    ),
    "not_found": (
        "check the name of the model, and the base URL",
        ("llm.models.list() has the names of the models at {vendor}", "llm.models.list() has the names of models"),
    ),
    "conflict": (_AGAIN,),
    "request_too_large": (
        "send less, or smaller images and files",
        "pass images and files by URL, or by the id of an upload, where the vendor supports these",
    ),
    "unprocessable_entity": (_MESSAGE, "the attributes vendor_code and body have the vendor's error"),
    "rate_limit": (
        (
            "wait {retry_after:g} seconds (retry_after) before the next call",
            "wait before the next call (no retry_after)",
        ),
        "let the client wait and try again: retry=RetryPolicy(attempts=..., max_retry_after=...)",
        ("send fewer requests at once, or have {vendor} raise the limit", "send fewer requests at once"),
    ),
    "quota": (
        "add credit, or raise the limit with the vendor",
        ("check the key and its project: {key_env} or api_key=", "check that the key belongs to the project that pays"),
    ),
    "internal_server": (_AGAIN, _MORE_ATTEMPTS, _OTHER_MODEL),
    "server_timeout": (
        "reduce the request: a lower max_output_tokens or a shorter input",
        "use stream(), which keeps the connection busy",
        _AGAIN,
    ),
    "content_filter": ("change the prompt; the attribute categories lists what the filter found, where it is known",),
    # --- what came back is not what was asked for ---
    "output": ("generate(..., output=...) returns the whole reply, with the model's calls",),
    "schema_mismatch": (
        "make the type or the prompt simpler; the attribute problems lists the mismatches",
        "allow more corrections: max_repairs=",
    ),
    "refusal": ("change the prompt: the model refused it; the attribute raw has its text",),
    "truncated": ("raise max_output_tokens; the attribute raw has the partial text",),
    "tool": ("read the message, and the attribute run, which has the state of the run",),
    "tool_not_found": ("offer the tool, or list the existing tools in the instructions",),
    "tool_arguments": ("describe the parameters better: type hints, and the docstring of the tool",),
    "tool_failed": ("correct the tool: the model gets its message",),
    "tool_timeout": ("allow more time: tool_timeout=",),
    "max_iterations": ("allow more: max_iterations=", "resume the run: run(state=error.run)"),
    "call_cancelled": ("nothing to correct: client.cancel() ended the call; make it again if it is still needed",),
}


def row_of(kinds: list[str]) -> str:
    """The first of the kinds of a class, its own and those of the classes above it, that has a row."""
    return next(kind for kind in kinds if kind in TABLE)


def suggestions_for(kinds: list[str], case: str | None, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """The suggestions for an error of these kinds, with the facts filled in; `None` is not known."""
    row = row_of(kinds)
    found = (_filled(line, facts) for line in TABLE.get(f"{row}.{case}") or TABLE[row])
    return tuple(line for line in found if line is not None)


def _filled(line: Line, facts: Mapping[str, Any]) -> str | None:
    from string import Formatter  # needed after an error only

    for text in (line,) if isinstance(line, str) else line:
        names = [name for _, name, _, _ in Formatter().parse(text) if name]
        if all(facts.get(name) is not None for name in names):
            return text.format_map(facts)
    return None
