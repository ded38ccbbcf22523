"""Docstring parsing for tools: the description of a function and of its parameters.

Google, NumPy and reST styles are distinguished by their headings and fields; other text is description.
Sections on results, errors and examples are for programmers and are omitted.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from textwrap import dedent, indent

_PARAMETERS = frozenset(
    {"args", "arguments", "parameters", "params", "other parameters", "keyword args", "keyword arguments"}
)
_OTHERS = frozenset(
    "returns return yields yield raises raise warns attributes references example examples note notes todo".split()
) | {"see also", "receives", "methods"}
_FIELD = re.compile(
    r"^:(param|parameter|arg|argument|key|keyword|type|r?type|returns?|raises?|except|exception|yields?|i?var)\b"
    r" *([^:\n]*):[ \t]*(.*(?:\n[ \t]+\S.*)*)\n?",
    re.MULTILINE,
)
_GOOGLE_ENTRY = re.compile(r"(?:[-*] )?[`*]*(\w+)`?\s*(?:\(.*?\))?\s*:\s*(.*)")
_NUMPY_ENTRY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?()")


def read(docstring: str | None) -> tuple[str, dict[str, str]]:
    """The description of the function, and of each parameter by its name."""
    described: dict[str, list[str]] = {}
    description: list[str] = []
    written = inspect.cleandoc(docstring or "")
    first, _, below = written.partition("\n")
    if first.endswith(":") and first[:-1].lower() in _PARAMETERS and below[:1].strip(" "):
        written = (
            f"{first}\n{indent(below, '    ')}"  # nothing but a section, whose indentation was taken for the text's
        )
    for title, underlined, lines in _sections(written.splitlines()):
        if not title:
            description += lines
        elif title in _PARAMETERS:
            _entries(lines, _NUMPY_ENTRY if underlined else _GOOGLE_ENTRY, described)
    text = "\n".join(description)
    for kind, names, words in _FIELD.findall(text):
        if kind in ("param", "parameter", "arg", "argument", "key", "keyword") and names.strip():
            described[names.split()[-1].lstrip("*\\")] = [words]
    text = re.sub(r"\n{3,}", "\n\n", _FIELD.sub("", text)).strip()
    return text, {name: " ".join(" ".join(words).split()) for name, words in described.items()}


def _sections(lines: list[str]) -> Iterator[tuple[str, bool, list[str]]]:
    """The sections by title, whether the title was underlined, and their lines; text without a title is description."""
    title, underlined, start = "", False, 0
    for i, line in enumerate(lines):
        plain = line[:1].strip() != ""
        below = lines[i + 1] if i + 1 < len(lines) else ""
        words = line.strip().removesuffix(":").lower()
        numpy = plain and words in _PARAMETERS | _OTHERS and re.fullmatch(r"-{3,}\s*", below) is not None
        google = plain and words in _PARAMETERS | _OTHERS and line.rstrip().endswith(":")
        if numpy or google:
            yield title, underlined, lines[start:i]
            title, underlined, start = words, numpy, i + 2 if numpy else i + 1
        elif plain and title and not underlined and i >= start:
            # A Google section is what is indented below its title.
            yield title, underlined, lines[start:i]
            title, start = "", i
    yield title, underlined, lines[start:]


def _entries(lines: list[str], entry: re.Pattern[str], described: dict[str, list[str]]) -> None:
    names: list[str] = []
    for line in dedent("\n".join(lines)).splitlines():
        head = entry.fullmatch(line) if line[:1].strip() else None
        if head:
            names = [name.strip().lstrip("*") for name in head[1].split(",")]
        for name in names:
            described.setdefault(name, []).append(head[2] if head else line)
