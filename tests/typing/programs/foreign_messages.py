"""Messages of other formats as input: Chat Completions, Anthropic and Gemini, mixed with texts; and back again.

Prints:

    And tomorrow, rain.
    No annotation needed.
    ['message', 'function_call', 'function_call_output']
    user
    assistant
    user
"""

from __future__ import annotations

from typing import Any, assert_type

from openai.types.chat import ChatCompletionMessageParam

from llm_rest import Client, InputItem, Item, from_messages, to_messages


def main() -> None:
    chat: list[ChatCompletionMessageParam] = [
        {"role": "user", "content": "What is the weather in Oslo?"},
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "4 degrees"},
    ]
    blocks = {"role": "assistant", "content": [{"type": "text", "text": "4 degrees in Oslo."}]}
    contents: dict[str, Any] = {"role": "user", "parts": [{"text": "say And tomorrow, rain."}]}
    mixed: list[InputItem] = [*chat, blocks, contents]
    with Client("simulator/demo") as llm:
        print(llm.generate_text(mixed))
        print(llm.generate_text([*chat, blocks, "say No annotation needed."]))
    items = from_messages([dict(message) for message in chat], wire="openai_chat")
    assert_type(items, list[Item])
    print([item.type for item in items])
    for message in to_messages(items, wire="anthropic_messages"):
        print(message["role"])


if __name__ == "__main__":
    main()
