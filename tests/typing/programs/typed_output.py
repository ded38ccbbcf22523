"""Typed output for the types that people have: structs, dataclasses, TypedDicts, attrs classes, pydantic models, lists.

Prints:

    Ada
    Ada
    Ada
    Ada
    Ada
    [1]
    no Ada
    the model refused: No.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict, assert_type

import attrs
from msgspec import Struct
from pydantic import BaseModel

from llm_rest import Client, RefusalError, TruncatedError


class Person(Struct):
    name: str


@dataclass
class City:
    name: str


class Place(TypedDict):
    name: str


@attrs.define
class River:
    name: str


class Mountain(BaseModel):
    name: str


def main() -> None:
    script = 'json {"name": "Ada"}'
    with Client("simulator/demo") as llm:
        print(assert_type(llm.generate_json(script, Person), Person).name)
        print(assert_type(llm.generate_json(script, City), City).name)
        print(assert_type(llm.generate_json(script, Place), Place)["name"])
        print(assert_type(llm.generate_json(script, River), River).name)
        print(assert_type(llm.generate_json(script, Mountain), Mountain).name)
        print(assert_type(llm.generate_json("Numbers", list[int], max_repairs=2), list[int]))
        kind: Literal["yes", "no"] = llm.generate_json("Really?", Literal["yes", "no"])
        reply = llm.generate(script, output=Person)
        print(kind, isinstance(reply.parsed, Person) and reply.parsed.name)
        try:
            llm.generate_json("refuse No.", Person)
        except (RefusalError, TruncatedError) as error:
            print(error.message)


if __name__ == "__main__":
    main()
