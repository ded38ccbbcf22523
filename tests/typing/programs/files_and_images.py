"""Images and files in the input: a tuple of texts and parts, a `Path`, `user(...)`, and where they are in a message.

Prints:

    What is this?
    [image]
    When is the meeting?
    [file notes.txt]
    [file notes.txt]
    Sum it up.
    Compare these.
    [image]
    [file notes.txt]
    [image]
    low data:image/png
    notes.txt
    None https://exampl
"""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path

from llm_rest import Client, InputItem, file, image, user

PIXEL = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==")


def main() -> None:
    notes = Path("notes.txt")
    notes.write_text("The meeting is at nine.")
    parts: list[InputItem] = ["When is the meeting?", notes]
    with Client("simulator/demo") as llm:
        print(llm.generate_text(("What is this?", image(PIXEL))))
        print(llm.generate_text(parts))
        print(llm.generate_text([notes, "Sum it up."]))
        message = user("Compare these.", image(PIXEL, detail="low"), file(notes), image("https://example.com/a.png"))
        print(llm.generate_text(message))
    for part in message.content:
        if isinstance(part, str):
            continue
        if part.type == "input_image":
            print(part.detail, (part.image_url or "")[:14])
        elif part.type == "input_file":
            print(part.filename)


if __name__ == "__main__":
    main()
