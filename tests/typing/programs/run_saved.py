"""A run that waits for approval: its pending calls, its state as bytes and as a dict, and resuming it elsewhere.

Prints:

    tool_calls ['delete', 'delete'] waiting
    Done. [('completed', '/tmp/x is gone'), ('cancelled', 'not that one')]
    True
    Yes.
"""

from __future__ import annotations

import json
from typing import Any, assert_type

import msgspec

from llm_rest import Client, RunState, ToolCall, tool


@tool(needs_approval=True, on_resume="restart")
def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is gone"


def allowed(call: ToolCall) -> bool:
    path: str = call.parsed_arguments["path"]
    return path.startswith("/tmp/")


def resume(llm: Client, saved: bytes | dict[str, Any] | RunState) -> str:
    run = llm.run(state=saved, tools=[delete])
    assert_type(run.pending_calls, list[ToolCall])
    for call in run.pending_calls:
        if allowed(call):
            run.approve(call.call_id)
        else:
            run.deny(call.call_id, "not that one")
    return f"{run.result().output_text} {[(call.state, call.output) for call in run.calls]}"


def main() -> None:
    with Client("simulator/demo") as llm:
        run = llm.run('call delete {"path": "/tmp/x"}\ncall delete {"path": "/etc"}\nsay Done.', [delete])
        print(run.result().stop_reason, [call.name for call in run.pending_calls], run.state.outcome)
        saved = msgspec.json.encode(run.state)
        print(resume(llm, saved))
        column: dict[str, Any] = json.loads(saved)
        print(resume(llm, column) == resume(llm, run.state))
        print(
            llm.generate_with_tools('call delete {"path": "/tmp/y"}\nsay Yes.', [delete], approve=allowed).output_text
        )


if __name__ == "__main__":
    main()
