"""Types that parameters of tools may have, at the top of a module as their users would have them."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Required, TypedDict

import attrs
import msgspec
import pydantic


class Unit(enum.Enum):
    CELSIUS = "C"
    FAHRENHEIT = "F"


class Node(msgspec.Struct):
    """A tree."""

    name: str
    children: list[Node] = []


@dataclass
class Point:
    x: float
    y: float = 0.0
    tags: list[str] = field(default_factory=list)


class Options(TypedDict, total=False):
    depth: Required[int]
    deep: bool


@attrs.define
class Size:
    width: int
    height: int = 1


class Person(pydantic.BaseModel):
    first_name: str = pydantic.Field(min_length=1)
    boss: Person | None = None
