"""Typed output as a stream: snapshots while it grows, the checked value at the end, and a list element by element.

Prints:

    Ad
    Ada Lovelace
    Ada Lovelace
    1815
    ['$.name: missing, and required']
    Ada
    Grace
    2 stop
"""

from __future__ import annotations

import asyncio
from typing import assert_type

from msgspec import Struct

from llm_rest import AsyncClient, Client, SchemaMismatchError


class Person(Struct):
    name: str
    born: int | None = None


def main() -> None:
    with Client("simulator/demo") as llm:
        with llm.stream_json('pieces 12\nsay {"name": "Ada Lovelace", "born": 1815}', Person) as stream:
            for snapshot in stream:
                print(snapshot.get("name"))
        assert_type(stream.value, Person)
        print(stream.value.born)
        try:
            with llm.stream_json('say {"born": 1815}', Person) as stream:
                print(list(stream)[-1])
        except SchemaMismatchError as error:
            print(error.problems)


async def later() -> None:
    script = 'say {"value": [{"name": "Ada"}, {"name": "Grace"}]}'
    async with AsyncClient("simulator/demo") as llm, llm.stream_json(script, list[Person]) as people:
        async for person in people.elements():
            print(person.name)
        assert_type(people.value, list[Person])
        print(len(people.value), people.response.stop_reason)


if __name__ == "__main__":
    main()
    asyncio.run(later())
