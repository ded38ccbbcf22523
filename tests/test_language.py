"""Documentation is in plain technical English: phrases that readers do not search for, and personification, are not used.

Each phrase has the term to write instead. Prose alone is read: no code blocks, no inline code, no generated pages.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from tests.examples import PAGES, ROOT

INSTEAD = {
    r"as it comes|while it comes|as they come": "streaming, streamed",
    r"asked for again|asks? again|asked once more|ask again": "retried (requests), re-prompted (typed output)",
    r"\bnobody\b|\bsomebody\b|\banybody\b|\beverybody\b|\bwhoever\b": "the caller, the program, any client",
    r"\b(?:is|are|was|were|be) (?:told|heard)\b|\btold (?:to|it|in|as|with)\b": "notified, sent, reported",
    r"\bhears? the same\b|\bhears?\b": "callbacks are notified",
    r"taken up|takes? (?:it|the run) up|goes? on from|go on (?:from|elsewhere)": "resumed, continues",
    r"habits": "deviations, quirks",
    r"in the manner of": "compatible with",
    r"under way": "in flight, in progress",
    r"\bstands? (?:before|behind|after|beside|in|at|there|below|above|side)\b": "is before, is in",
    r"makes? no sense|make sense of": "invalid",
    r"\bof (?:yours|ours|theirs)\b": "your own, built-in",
    r"\bspell(?:s|ed|ing|ings)?\b": "written, serialized, format",
    r"\bknows nothing of\b|\bnothing is known of\b": "unknown",
    r"words of (?:a|the|its) (?:wire|format)|own words": "format, message",
    r"\binsists?\b": "requires",
    r"\bwants?\b": "requires, needs",
    r"\blies? in wait\b|\bvouch\b|\bobey(?:s|ed)?\b": "is followed",
    r"\bforgotten\b|\bforgets\b": "deleted, discarded",
    r"\b(?:un)?told\b|\bheard by\b|\bhushed\b|\bhappenings?\b": "notified, reported, sent; without, redacted, inputs",
    r"\btakes? part in\b|\bcarries on\b|\bcomes? to its end\b|\bwithout a word\b": "is part of, continues, ends, silently",
    r"\bwhat is kept\b|\bkeeps nothing\b|\bknows? nothing\b": "stored responses, stores nothing, unknown",
}
"""What is not written, as a pattern, and what to write."""

IN_CODE = re.compile(r"\b(?:told|untold|heard by|asked for again|nobody|taken up|hushed|happenings?)\b", re.IGNORECASE)
"""What neither names, comments, docstrings nor errors of the library have."""

WITHOUT_NOUN = frozenset("asked said told came heard begun spoken meant spelled wanted gone met mine hushed".split())
"""Names that say nothing of what they hold: a participle or a pronoun needs its noun, as in `sent_request`."""

GENERATED = {"docs/clients.md", *(f"docs/wires/{path.name}" for path in (ROOT / "docs/wires").glob("*.md"))}
"""Pages written by a program from data, which have the words of `IN_CODE` in none of their sentences."""

CHECKED = [
    *(page for page in PAGES if str(page.relative_to(ROOT)) not in GENERATED),
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "CHANGELOG.md",
]


def prose(text: str) -> str:
    """A page without its code, its quotations in inline code and its link targets; lines stay where they are."""
    text = re.sub(r"^```.*?^```$", lambda block: "\n" * block[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"``.+?``|`[^`\n]+`|\]\([^)\s]+\)", "", text)


def found(text: str) -> list[str]:
    """The phrases on a page that have a better term, each with its line and that term."""
    lines = prose(text).splitlines()
    return [
        f"{number}: {match[0]!r}: {instead}"
        for number, line in enumerate(lines, 1)
        for pattern, instead in INSTEAD.items()
        for match in re.finditer(pattern, line, re.IGNORECASE)
    ]


def test_pages_use_the_terms_that_readers_search_for() -> None:
    assert [f"{page.relative_to(ROOT)}:{line}" for page in CHECKED for line in found(page.read_text())] == []


def test_the_library_and_generated_pages_use_those_terms_too() -> None:
    files = [*(ROOT / "llm_rest").rglob("*.py"), *(ROOT / page for page in GENERATED)]
    assert [f"{path}: {word}" for path in files for word in IN_CODE.findall(path.read_text())] == []


def names_in(tree: ast.AST) -> Iterator[str]:
    """The names that a module gives to its functions, classes, parameters, attributes and variables."""
    for node in ast.walk(tree):
        for field in ("id", "arg", "attr", "name"):
            if isinstance(name := getattr(node, field, None), str):
                yield name


def test_a_name_in_the_library_has_a_noun() -> None:
    found = {
        f"{path}: {name}"
        for path in (ROOT / "llm_rest").rglob("*.py")
        for name in names_in(ast.parse(path.read_text()))
        if name.strip("_").lower() in WITHOUT_NOUN
    }
    assert sorted(found) == []


TERMS = {
    "retry": "docs/retries.md",
    "backoff": "docs/retries.md",
    "idempotency": "docs/retries.md",
    "streaming": "docs/client.md",
    "callback": "docs/client.md",
    "timeout": "docs/client.md",
    "cancellation": "docs/client.md",
    "prompt caching": "docs/client.md",
    "pagination": "docs/client.md",
    "mTLS": "docs/client.md",
    "schema validation": "docs/typed-output.md",
    "structured output": "docs/typed-output.md",
    "tool calling": "docs/tools.md",
    "agent loop": "docs/loop.md",
    "human in the loop": "docs/loop.md",
    "rate limit": "docs/how-to/limits-and-costs.md",
    "failover": "docs/how-to/fallback.md",
    "proxy": "docs/how-to/company-proxy.md",
}
"""The usual terms, and the page that explains each."""


def introductions(page: str) -> str:
    """The headings of a page, and the first paragraph below each."""
    paragraphs = [text for part in prose((ROOT / page).read_text()).split("\n\n") if (text := part.strip())]
    first = [text for before, text in pairwise(["#", *paragraphs]) if before.startswith("#") or text.startswith("#")]
    return "\n".join(first)


def test_a_reader_finds_a_page_by_its_usual_name() -> None:
    assert {term: page for term, page in TERMS.items() if term.lower() not in introductions(page).lower()} == {}


def test_a_phrase_in_prose_is_found_and_one_in_code_is_not() -> None:
    assert found("Nothing.\nThe run is taken up by nobody.\n") == [
        "2: 'nobody': the caller, the program, any client",
        "2: 'taken up': resumed, continues",
    ]
    assert found("```python\n# nobody\n```\nSee `nobody` and [this](nobody.md).\n") == []
