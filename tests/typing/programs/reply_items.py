"""Reading a reply: its items by `item.type`, the parts of a message by `part.type`, and kinds that this version does not know.

Prints:

    Two steps.
    See the map.
    https://example.com/map
    route({'to': 'Oslo'})
    refused: No.
"""

from __future__ import annotations

from typing import assert_type

from llm_rest import Client, FunctionCall, Message, Reasoning, Reply, Unknown


def describe(reply: Reply) -> list[str]:
    lines: list[str] = []
    for item in reply.output:
        if item.type == "message":
            assert_type(item, Message)
            if isinstance(item.content, str):
                lines.append(item.content)
                continue
            for part in item.content:
                if part.type == "output_text":
                    lines.append(part.text)
                    lines += [note.url for note in part.annotations or () if note.type == "url_citation"]
                elif part.type == "refusal":
                    lines.append(f"refused: {part.refusal}")
        elif item.type == "reasoning":
            assert_type(item, Reasoning)
            lines += [thought.text for thought in item.summary or ()]
        elif item.type == "function_call":
            assert_type(item, FunctionCall)
            lines.append(f"{item.name}({item.parsed_arguments})")
        elif item.type == "unknown":
            assert_type(item, Unknown)
            lines.append(f"{item.kind}: {sorted(item)}")
    return lines


def main() -> None:
    with Client("simulator/demo") as llm:
        script = 'reason Two steps.\nsay See the map.\ncite https://example.com/map Map\ncall route {"to": "Oslo"}'
        print(*describe(llm.generate(script)), sep="\n")
        print(*describe(llm.generate("refuse No.")), sep="\n")


if __name__ == "__main__":
    main()
