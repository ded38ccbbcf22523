"""A chat that keeps its history in a list: dicts for what the user says, and the items of each reply as they came.

Prints:

    Good morning.
    It is raining. 7
    One dict needs no annotation.
    Nor do several.
"""

from __future__ import annotations

from llm_rest import Client, InputItem, Reply


class Chat:
    def __init__(self, llm: Client, instructions: str) -> None:
        self.llm = llm
        self.history: list[InputItem] = [{"role": "system", "content": instructions}]

    def ask(self, question: str) -> Reply:
        self.history.append({"role": "user", "content": question})
        reply = self.llm.generate(self.history, max_output_tokens=200)
        self.history.extend(reply.output)
        return reply


def main() -> None:
    with Client("simulator/demo") as llm:
        chat = Chat(llm, "Be brief.")
        print(chat.ask("say Good morning.").output_text)
        chat.history += ["A remark in between.", {"role": "assistant", "content": "Noted."}]
        print(chat.ask("say It is raining.").output_text, len(chat.history))
        messages = [{"role": "user", "content": "say One dict needs no annotation."}]
        print(llm.generate_text(messages))
        turns: list[dict[str, str]] = [*messages, {"role": "user", "content": "say Nor do several."}]
        print(llm.generate_text(turns))


if __name__ == "__main__":
    main()
