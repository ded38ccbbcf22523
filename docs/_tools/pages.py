"""Writes the folder that the site is built from, and checks that the built site works offline.

    python docs/_tools/pages.py build/docs     # the pages of docs/, and the generated ones
    python docs/_tools/pages.py --check site   # nothing in it is loaded from another host

Generated are the API reference (each public name, by the folder that defines it), the options of the command line and the
table of models. Nothing generated is in the repository.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib import import_module
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
sys.path.insert(0, str(DOCS.parent))  # the checkout, installed or not

import llm_rest  # noqa: E402
import llm_rest.responses  # noqa: E402
import llm_rest.server  # noqa: E402
import llm_rest.testing  # noqa: E402
from llm_rest.cli import models  # noqa: E402
from llm_rest.cli.parser import parser  # noqa: E402

GROUPS = {
    "client": ("The client", ("client.client", "client.options")),
    "replies": (
        "Replies and streams",
        (
            "client.reply",
            "client.stream",
            "client.typed",
            "client.endpoints",
            "responses.response",
            "responses.citations",
            "losses",
        ),
    ),
    "input": (
        "Messages, images and files",
        ("client.content", "responses.items", "responses.request", "wires.foreign", "unknown"),
    ),
    "tools": ("Tools and the tool loop", ("tools", "responses.tools", "loop")),
    "conversations": ("Conversations", ("conversation", "client.generator")),
    "bulk": ("Bulk runs", ("bulk",)),
    "settings": (
        "Timeouts, retries, proxies, vendors, event hooks, policies",
        ("transport", "vendors", "client.hooks", "policy"),
    ),
    "errors": ("Errors", ("errors",)),
}
"""Each page of the API reference: its title, and the modules whose public names it shows."""

RESPONSES = {
    "items": "Items",
    "parts": "Content parts",
    "tools": "Tool definitions",
    "events": "Streaming events",
    "request": "Request",
    "response": "Response",
    "domain": "Values of fields",
}
"""The modules of `llm_rest.responses`, in the order of the page."""


def write(folder: Path) -> None:
    """Write all pages to a folder, and remove what an earlier build left there."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("_tools", "__pycache__"))
    for path, text in generated():
        page = folder / path
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text)


def from_elsewhere(site: Path) -> list[str]:
    """The pages and style sheets of a site that load a script, a style sheet, a font or an image from another host."""
    loads = re.compile(r"""<(?:script|img|iframe)[^>]+src=["']?(?:https?:)?//|<link[^>]+rel=["']?stylesheet[^>]+//""")
    found = [str(page) for page in site.rglob("*.html") if loads.search(page.read_text())]
    styles = re.compile(r"url\([\"']?https?://|@import[^;]+//")
    return sorted([*found, *(str(sheet) for sheet in site.rglob("*.css") if styles.search(sheet.read_text()))])


def generated() -> Iterator[tuple[str, str]]:
    """The path and the text of each generated page."""
    # `Client` before `AsyncClient`
    names = dict(
        sorted(
            homes().items(),
            key=lambda entry: (entry[0].removeprefix("Async").lower(), entry[0] != entry[0].removeprefix("Async")),
        )
    )
    for page, (title, _) in GROUPS.items():
        here = sorted(
            (name for name, home in names.items() if group_of(home) == page), key=lambda name: rank(names[name])
        )
        if page == "errors":
            here = [name for name in tree(llm_rest.LLMError) if name in names] + ["Failure"]
        yield f"reference/api/{page}.md", page_of(title, [f"llm_rest.{name}" for name in here])
    yield "reference/api/responses.md", responses_page()
    yield (
        "reference/api/converters.md",
        page_of("Converters", ["llm_rest.wires.load", "llm_rest.wires.Wire"], link="converters"),
    )
    served = [f"llm_rest.server.{name}" for name in sorted(llm_rest.server._HOME)]
    yield "reference/api/server.md", page_of("Gateway and server", served)
    kit = [f"llm_rest.testing.{name}" for name in sorted(llm_rest.testing._HOME)]
    yield "reference/api/testing.md", page_of("Testing", kit, link="testing")
    yield "reference/command-line-options.md", command_line()
    yield "reference/models.md", models_page()


def homes() -> dict[str, str]:
    """The module of each public name."""
    return {name: home.removeprefix(".") for name, home in llm_rest._HOME.items()}


def group_of(home: str) -> str:
    """The page for the names of a module. Raises `LookupError` for a module that no page has."""
    for page, (_, modules) in GROUPS.items():
        if any(home == module or home.startswith(f"{module}.") for module in modules):
            return page
    raise LookupError(f"{home} is in no group of docs/_tools/pages.py")


def rank(home: str) -> int:
    """The place of a module on its page."""
    return next(
        i for i, module in enumerate(GROUPS[group_of(home)][1]) if home == module or home.startswith(f"{module}.")
    )


def tree(kind: type) -> Iterator[str]:
    """The names of an error class and of all below it, each after the class above it."""
    yield kind.__name__
    for below in kind.__subclasses__():
        yield from tree(below)


def page_of(title: str, paths: list[str], *, link: str = "") -> str:
    """A page that shows each of these names with its docstring."""
    more = f"\nMore: [{link}](../../{link}.md).\n" if link else ""
    return f"# API: {title}\n{more}\n" + "".join(f"::: {path}\n\n" for path in paths)


def responses_page() -> str:
    """The structs of the Responses format, by module."""
    text = (
        "# API: the Responses format\n\nThe structs of `llm_rest.responses`: what requests, answers and events hold.\n"
    )
    for module, title in RESPONSES.items():
        home = import_module(f"llm_rest.responses.{module}")
        here = [
            name
            for name in vars(home)
            if name not in llm_rest._HOME
            and hasattr(llm_rest.responses, name)
            and getattr(vars(home)[name], "__module__", "") == home.__name__
        ]
        text += f"\n## {title}\n\n" + "".join(f"::: llm_rest.responses.{name}\n\n" for name in here)
    return text


def command_line() -> str:
    """The help texts of all commands."""
    os.environ["COLUMNS"] = "100"
    whole = parser()
    text = "# Options of the command line\n\n`llm-rest COMMAND --help` prints these ([guide](../cli.md)).\n\n"
    text += f"```text\n{whole.format_help()}```\n"
    (commands,) = (
        action for action in whole._actions if hasattr(action, "choices") and isinstance(action.choices, dict)
    )
    for name, command in commands.choices.items():
        text += f"\n## llm-rest {name}\n\n```text\n{command.format_help()}```\n"
    return text


def models_page() -> str:
    """The table of models, as `llm-rest models` prints it."""
    out = TextIOWrapper(BytesIO(), encoding="utf-8")
    with redirect_stdout(out):
        models.run(Namespace(prefix="", json=True))
    out.seek(0)
    rows = json.load(out)
    text = (
        "# Models\n\nWhat is known of models, by the longest prefix of their names: `llm-rest models` prints it,\n"
        "`client.capabilities()` returns it. Empty means not known: such an option is sent. Each row names its sources.\n\n"
        "| model | at | tools | images | JSON schema | reasoning | efforts | context | output | source |\n"
        "|---|---|---|---|---|---|---|--:|--:|---|\n"
    )
    words = {True: "yes", False: "no", None: ""}

    def said(value: Any) -> str:
        return words[value] if value is None or isinstance(value, bool) else str(value).replace("|", "\\|")

    for row in rows:
        cells = [
            f"`{row['prefix']}*`",
            "any" if row["at"] is None else " ".join(filter(None, row["at"])) or "the maker",
        ]
        cells += [said(row.get(name)) for name in ("tools", "vision", "json_schema", "reasoning")]
        cells += [" ".join(row.get("efforts") or ())]
        cells += [said(row.get(name)) for name in ("context_window", "max_output", "source")]
        text += f"| {' | '.join(cells)} |\n"
    return text


def main() -> None:
    """Write the pages, or check a site."""
    options = argparse.ArgumentParser(description="The pages of the documentation.")
    options.add_argument("folder", type=Path)
    options.add_argument("--check", action="store_true", help="check a built site instead")
    given = options.parse_args()
    if not given.check:
        write(given.folder)
    elif not (given.folder / "index.html").exists():
        sys.exit(f"{given.folder} holds no site")
    elif found := from_elsewhere(given.folder):
        sys.exit(f"pages that need the network: {', '.join(found)}")


if __name__ == "__main__":
    main()
