"""Server-side state and the other endpoints: stored responses, the list of models, counting tokens, checking a key.

Prints:

    simulator - 1
    6
    True
    404
    not_found
"""

from __future__ import annotations

from typing import assert_type

from llm_rest import Client, Item, LLMError, ModelInfo, NotFoundError, Reply


def report(llm: Client) -> str:
    started = llm.generate("Write a long report.", background=True, store=True)
    reply = llm.responses.poll(started.id, interval=0.01, timeout=60)
    assert_type(reply, Reply)
    return reply.output_text


def continue_from(llm: Client, response_id: str) -> list[Item]:
    items = llm.responses.input_items(response_id)
    shorter = llm.responses.compact(items)
    reply = llm.generate([*shorter.output, "And then?"], previous_response_id=None)
    llm.responses.delete(response_id)
    return reply.output


def main() -> None:
    with Client("simulator/demo") as llm:
        models: list[ModelInfo] = llm.models.list()
        for model in models:
            print(model.id, model.display_name or "-", (model.max_output_tokens or 0) + 1)
        print(llm.count_tokens("How large is this?") + 1)
        llm.validate_access()
        known = llm.capabilities()
        print(known.reasoning is None)
        try:
            llm.responses.retrieve("resp_1", timeout=5)
        except NotFoundError as error:
            print(error.status)
        try:
            print(report(llm), continue_from(llm, "resp_1"))
        except LLMError as error:  # the simulator stores nothing
            print(error.kind)


if __name__ == "__main__":
    main()
