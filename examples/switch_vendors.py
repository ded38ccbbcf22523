"""One conversation, several models: each turn goes to another vendor, and nothing is lost without a report.

Usage:
    python examples/switch_vendors.py                                                   # three wires of the simulator
    python examples/switch_vendors.py openai/gpt-5.2 anthropic/claude-haiku-4-5 google/gemini-3-pro
"""

import sys

from llm_rest import Client, Conversation

SIMULATED = {"openai_responses": "say Hello.", "anthropic_messages": "reason Hm.\nsay Four.", "openai_chat": "say Bye."}
QUESTIONS = ("Hello!", "What is two and two?", "Thanks, bye.")


def main() -> None:
    """Ask each model one question of the same conversation; print what could not be carried to it."""
    talk = Conversation()
    if models := sys.argv[1:]:
        turns = [(Client(model, on_loss="ignore"), text) for model, text in zip(models, QUESTIONS, strict=False)]
    else:
        turns = [(Client("simulator/demo", wire=wire, on_loss="ignore"), text) for wire, text in SIMULATED.items()]
    for llm, text in turns:
        with llm:
            chat = llm.chat(conversation=talk)
            reply = chat.ask(text)
            talk = chat.conversation
            print(f"{llm.vendor}/{llm.model}: {reply.output_text}")
            for loss in reply.losses:
                print(f"  {loss}")


if __name__ == "__main__":
    main()
