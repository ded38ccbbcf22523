"""The turns of a conversation on Anthropic's wire, as its server sees them: neighbouring messages of one role are one."""

from __future__ import annotations

from typing import NamedTuple

from .plain import Plain, rows


class Group(NamedTuple):
    """Neighbouring messages of one role, which count as one."""

    role: str
    blocks: list[tuple[str, Plain]]
    """Each block and where it stands."""


def groups_of(document: Plain) -> list[Group]:
    """The conversation, neighbours of one role put together."""
    groups: list[Group] = []
    for i, message in enumerate(rows(document["messages"])):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else rows(content)
        placed = [(f"messages.{i}.content.{j}", block) for j, block in enumerate(blocks)]
        if groups and groups[-1].role == message["role"]:
            groups[-1].blocks.extend(placed)
        else:
            groups.append(Group(message["role"], placed))
    return groups


def latest(groups: list[Group]) -> int:
    """The first group of the assistant's in the turn that is going on; -1 where it has not begun."""
    start = -1
    for i, group in enumerate(groups):
        results_only = all(block.get("type") == "tool_result" for _, block in group.blocks)
        if group.role == "user" and not results_only:
            start = -1
        elif group.role == "assistant" and start < 0:
            start = i
    return start
