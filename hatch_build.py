"""Builds the completion files of the command line into the wheel, for bash and zsh."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = {
    "bash": "share/bash-completion/completions/llm-rest",
    "zsh": "share/zsh/site-functions/_llm-rest",
}
"""Where each shell looks for completions, below the prefix of the environment."""


class CompletionFiles(BuildHookInterface[Any]):
    """Adds a completion file for each shell to `shared_data`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before a wheel is built; an editable one gets none."""
        if version == "editable":
            return
        import shtab

        sys.path.insert(0, self.root)
        from llm_rest.cli.parser import parser

        folder = Path(self.directory) / "completion"
        folder.mkdir(parents=True, exist_ok=True)
        for shell, target in FILES.items():
            made = folder / shell
            made.write_text(shtab.complete(parser(), shell=shell))
            build_data["shared_data"][str(made)] = target

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called after the wheel was built: the files made for it are removed."""
        from shutil import rmtree

        rmtree(Path(self.directory) / "completion", ignore_errors=True)
