"""Validation of a conversation as a whole: calls and their results, the order of roles, signatures of reasoning.

Each function is a test of rules in `refusals.txt`, by its name in `TESTS`, and yields the errors found.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from ..unknown import as_object
from ..vendors.dialects import gemini_model
from .plain import Found, Place, Plain, rows
from .signatures import START, has_its_thoughts, last_user_text, mac, opened, prefix_mac

# --- signatures -----------------------------------------------------------------------------------------------------

DUMMIES = (
    "skip_thought_signature_validator",
    "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
    "context_engineering_is_the_way_to_go",
)
"""Values that Gemini accepts as the signature of any call."""


def _sealed(place: Place) -> Found:
    """Signatures that are not a seal of the simulator over the fields beside them."""
    if place.value in DUMMIES and "functionCall" in place.holder:
        return
    fields = opened(place.context.dialect.issuer, place.value)
    shown: list[Any] = [place.holder.get(word) for word in place.words if word]
    shown = [{**call, "args": None} if "args" in (call := as_object(one)) else one for one in shown]
    if fields is None or fields[0] != mac("shown", shown):
        yield {"start": str(place.value)[:16]}


def _moved(place: Place) -> bool:
    """Whether a seal was made in another turn."""
    fields = opened(place.context.dialect.issuer, place.value)
    return fields is not None and fields[1] != mac("turn", last_user_text(place.document, place.path))


def _prefix(place: Place) -> bool:
    """Whether a seal is bound to another beginning of the conversation."""
    fields = opened(place.context.dialect.issuer, place.value)
    return fields is not None and fields[2] != prefix_mac(place.document, place.path)


def _followed(place: Place) -> bool:
    """Whether a thought was followed by an item in its answer, and no longer is."""
    fields = opened(place.context.dialect.issuer, place.value) or [""]
    items = place.document["input"]
    later = items[next(i for i, item in enumerate(items) if item is place.holder) + 1 :]
    after = next((item for item in later if item["type"] != "reasoning"), {"role": "user"})
    return fields[-1] == "1" and after.get("role", "assistant") != "assistant"


def _thoughts(place: Place) -> Found:
    """Calls, or items, whose thoughts are missing; in a completed turn they may be."""
    document, items = place.document, place.words == ["always"]
    if isinstance(place.value, str) and (items or last_user_text(document) == last_user_text(document, place.path)):
        index = int(re.findall(r"\d+", place.path)[0])
        text = msgspec.json.encode(document["input"][:index] if items else document["messages"][index]).decode()
        seals = re.findall(START + "[A-Za-z0-9+/]+=*", text)
        runs = [[one] for one in seals] if items else [seals[: i + 1] for i in range(len(seals))]
        if not has_its_thoughts(place.context.dialect.issuer, place.value, runs):
            name = place.value.partition("_")[2].partition("x")[0]
            yield {"thought": f"rs_{name[:16]}{int(name[16:]) - 1}"}


# --- turns: Chat, Messages, Gemini ----------------------------------------------------------------------------------


class Turn(NamedTuple):
    """Consecutive blocks of one role, each with its path."""

    role: str
    blocks: list[tuple[str, Plain]]

    def lacking(self, name: str, *values: str) -> bool:
        """Whether there are blocks other than these."""
        return len(self.having(name, *values)) < len(self.blocks)

    def having(self, name: str, *values: str) -> list[tuple[str, Plain]]:
        """The blocks that have this field, with one of the values if any are given."""
        return [(at, one) for at, one in self.blocks if name in one and (not values or one[name] in values)]


def turns(place: Place) -> list[Turn]:
    """The turns of the conversation: adjacent messages of one role are one turn, on Chat only tool messages are."""
    found: list[Turn] = []
    wire = place.context.wire
    gemini, chat = wire == "gemini_generate_content", wire == "openai_chat"
    messages, parts = ("contents", "parts") if gemini else ("messages", "content")
    for i, message in enumerate(rows(place.document.get(messages), wire)):
        role = str(message.get("role"))
        role = "user" if gemini and role != "model" else role
        if not found or found[-1].role != role or (chat and role != "tool"):
            found.append(Turn(role, []))
        at = f"{messages}[{i}].{parts}[{{}}]" if gemini else f"messages.{i}.content.{{}}"
        blocks = [message] if chat else rows(message.get(parts), wire)
        found[-1].blocks.extend((f"messages.[{i}]" if chat else at.format(j), one) for j, one in enumerate(blocks))
    return found


_UNASKED = {
    "openai_chat": "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
    "anthropic_messages": "{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must "
    "have a corresponding `tool_use` block in the previous message.",
}
_UNANSWERED = {
    "openai_chat": "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: {ids}",
    "anthropic_messages": "messages: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each "
    "`tool_use` block must have a corresponding `tool_result` block in the next message.",
}


def _results(place: Place) -> Found:
    """Calls without a result right after them (on Messages at the start of the message), and results without a call."""
    wire, calls_seen = place.context.wire, list[str]()
    for turn in [*turns(place), Turn("", [])]:
        if wire == "openai_chat":
            results = [(at, str(one.get("tool_call_id"))) for at, one in turn.having("role", "tool")]
            calls = [str(call.get("id")) for _, one in turn.blocks for call in rows(one.get("tool_calls"))]
        else:
            results = [(at, str(one.get("tool_use_id"))) for at, one in turn.having("type", "tool_result")]
            calls = [str(one.get("id")) for _, one in turn.having("type", "tool_use")]
        answered = [id for _, id in results]
        for i, (at, id) in enumerate(results):
            twice = id in answered[:i]
            if id not in calls_seen or (twice and wire == "openai_chat"):
                yield {"problem": _UNASKED[wire].format(at=at, id=id)}
            elif twice:
                yield {"problem": f"{at}: each tool_use must have a single result. Found multiple `tool_result` blocks"}
        left = [id for id in calls_seen if id not in answered]
        late = [at for at, _ in results] != [at for at, _ in turn.blocks[: len(results)]]
        if left or (calls_seen and late):
            yield {"problem": _UNANSWERED[wire].format(ids=", ".join(left or calls_seen))}
        calls_seen = calls


def _placed(place: Place) -> Found:
    """System messages in the conversation that are not after a user's turn and before the assistant's, or last."""
    found = turns(place)
    for before, turn, after in zip(found, found[1:], [*found[2:], None], strict=False):
        ended = str(before.blocks[-1][1].get("type")) if before.blocks else ""
        if turn.role == "system" and before.role != "user" and not ended.endswith("_tool_result"):
            yield {"problem": "follow a `user` message"}
        elif turn.role == "system" and after is not None and after.role != "assistant":
            yield {"problem": "be followed by an `assistant` message or be the last one"}


def _last(place: Place) -> Turn:
    """The last turn; an empty one where there is none."""
    return (turns(place) or [Turn("", [])])[-1]


def _prefilled(place: Place) -> bool:
    last = _last(place)
    return last.role == "assistant" and bool(last.blocks) and not last.having("type", "server_tool_use", "mcp_tool_use")


def _trailing(place: Place) -> bool:
    last = _last(place)
    return last.role == "assistant" and str([{}, *(one for _, one in last.blocks)][-1].get("text") or "")[-1:].isspace()


def _unthought(place: Place) -> Found:
    """An assistant's turn since the user's last message that does not begin with a thought."""
    first: tuple[str, Plain] | None = None
    for turn in turns(place):
        if turn.role == "user" and turn.lacking("type", "tool_result"):
            first = None
        elif turn.role == "assistant" and turn.blocks:
            first = first or turn.blocks[0]
    if first and first[1].get("type") not in ("thinking", "redacted_thinking") and _last(place).role == "user":
        yield {"at": first[0], "kind": first[1].get("type")}


# --- Gemini ---------------------------------------------------------------------------------------------------------


def _functions(place: Place) -> Found:
    """Calls that are not after the user's turn, and calls without exactly one result in the very next turn."""
    calls: list[Plain] = []
    for i, turn in enumerate(turns(place)):
        results = [as_object(one["functionResponse"]) for _, one in turn.having("functionResponse")]
        # The vendor's own client sends no ids where it executes functions itself.
        known = ("name", "id") if any(result.get("id") for result in results) else ("name",)
        pairs = [sorted([str(one.get(key) or "") for key in known] for one in side) for side in (results, calls)]
        if turn.role == "user" and len(results) != len(calls):
            equal = "the number of function response parts is equal to the number of function call parts"
            yield {"problem": f"{equal} of the function call turn"}
        elif results and pairs[0] != pairs[1] and gemini_model(place.model).signs_calls:
            yield {"problem": "each function response has the name and the id of its function call"}
        calls = [as_object(one["functionCall"]) for _, one in turn.having("functionCall")]
        if calls and i == 0:
            equal = "function call turn comes immediately after a user turn or after a function response turn"
            yield {"problem": equal}


def _signed(place: Place) -> Found:
    """Calls of the current turn that were sent back without their signature."""
    found = turns(place)
    user_turns = [0, *(i for i, turn in enumerate(found) if turn.role == "user" and turn.lacking("functionResponse"))]
    for i, turn in enumerate(found[user_turns[-1] :]):
        for at, part in turn.having("functionCall")[:1]:
            if not part.get("thoughtSignature"):
                yield {"name": as_object(part["functionCall"]).get("name"), "number": i + 1, "path": at}


def _outputs(place: Place) -> Found:
    """Outputs of the Responses API without a call before them, and calls without an output."""
    if place.document.get("previous_response_id") or place.document.get("conversation"):
        return
    for call, words in (("function_call", "function call"), ("custom_tool_call", "custom tool call")):
        made, waiting = set[str](), dict[str, None]()
        for item in rows(place.document.get("input")):
            id, kind = str(item.get("call_id")), str(item["type"])
            if kind == f"{call}_output":
                if id not in made:
                    yield {"problem": f"No tool call found for {words} output with call_id {id}."}
                waiting.pop(id, None)
            elif "call_id" in item and not kind.endswith("_output"):
                made.add(id)  # the output of a hosted call, such as a tool search, may be a function's output
                waiting |= {id: None} if kind == call else {}
        for id in waiting:
            yield {"problem": f"No tool output found for {words} {id}."}


TESTS: dict[str, Callable[[Place], Found | bool]] = {
    "sealed": _sealed,
    "moved": _moved,
    "prefix": _prefix,
    "followed": _followed,
    "thoughts": _thoughts,
    "results": _results,
    "placed": _placed,
    "prefilled": _prefilled,
    "trailing": _trailing,
    "unthought": _unthought,
    "functions": _functions,
    "signed": _signed,
    "outputs": _outputs,
    "last": lambda p: [turn.role for turn in turns(p)][-1:] == p.words,
}
"""The tests by their names in rules."""
