"""`chat`: a conversation in a terminal, turn by turn, which is stored and can be continued."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from ..client.reply import COUNTS
from ..conversation.limits import HistoryLimits
from ..conversation.store import SQLiteConversationStore
from ..errors import ConfigError, LLMError
from . import complain, complain_of, note, write
from .ask import client_of, print_text, report
from .logs import transcript
from .question import model_of
from .settings import store_file

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Generator

    from ..client.client import Client
    from ..client.reply import Reply
    from ..conversation.chat import Chat

_HELP = """\
/model [VENDOR/MODEL]  show the model, or talk to another one from now on
/history               show the conversation so far
/save FILE             write the conversation to a file, as JSON
/losses                what the last turn lost in conversion
/tokens                the tokens of the last turn
/exit                  leave, as do exit and the end of the input (Ctrl-D); Ctrl-C cancels an answer
"""


def run(arguments: Namespace) -> int:
    """Read turns and commands line by line, and print streamed answers."""
    model = model_of(arguments)
    limits = None if arguments.max_items is None else HistoryLimits(max_items=arguments.max_items)
    with client_of(arguments, model) as llm, open_chat(llm, arguments, limits=limits, keep_partial=True) as chat:
        return _Session(llm, chat, model).run()


@contextmanager
def open_chat(llm: Client, arguments: Namespace, **options: Any) -> Generator[Chat]:
    """A stored chat: a new one, or with `-c` the last one that is open. Raises `ConfigError` where there is none to continue."""
    with SQLiteConversationStore(store_file(arguments.store)) as store:
        last = store.list(limit=1, completed=False) if arguments.continues else ()
        if arguments.continues and not last:
            raise ConfigError(f"{store.path} has no conversation to continue", hint="leave out -c to begin one")
        yield llm.chat(system=arguments.system, conversation=last[0].id if last else None, store=store, **options)


class _Session:
    def __init__(self, llm: Client, chat: Chat, model: str) -> None:
        self.llm, self.chat, self.model = llm, chat, model
        self.reply: Reply | None = None

    def run(self) -> int:
        if sys.stdin.isatty():
            with suppress(ImportError):
                import_module("readline")  # line editing and history
            note(f"talking to {self.model}; /help lists the commands")
        if self.chat.conversation.items:
            note(f"continuing {self.chat.conversation.id} with {len(self.chat.conversation.items)} items")
        while (line := self._line()) not in (None, "exit", "quit", "/exit", "/quit"):
            if line.startswith("/"):
                self._command(*line.partition(" ")[::2])
            else:
                self._turn(line)
        return 0

    def _line(self) -> str | None:
        """The next non-empty line; `None` at the end of the input."""
        prompt = "> " if sys.stdin.isatty() else ""
        try:
            while not (line := input(prompt).strip()):
                pass
        except EOFError:
            return None
        return line

    def _turn(self, text: str) -> None:
        try:
            stream = print_text(self.model, self.chat.stream(text, model=self.model))
            self.reply = stream.reply
            report(stream.reply)
        except KeyboardInterrupt:
            note("the answer was cancelled")
        except LLMError as problem:
            complain_of(problem)

    def _command(self, name: str, value: str) -> None:
        value = value.strip()
        match name:
            case "/help":
                write(_HELP)
            case "/model":
                self._model(value)
            case "/history":
                write("".join(f"{line}\n" for line in transcript(self.chat.conversation)))
            case "/save":
                self._save(value)
            case "/losses":
                losses = [] if self.reply is None else self.reply.losses
                write("".join(f"{loss}\n" for loss in losses) or "no losses\n")
            case "/tokens":
                counts: dict[str, Any] = {} if self.reply is None else self.reply.info.metadata
                write("".join(f"{name} {counts.get(name, 0)}\n" for name in COUNTS))
            case _:
                complain(f"no command {name}; /help lists them")

    def _model(self, value: str) -> None:
        if value:
            try:
                self.llm.capabilities(value)
            except ConfigError as problem:
                complain(str(problem))
                return
            self.model = value
        write(f"{self.model}\n")

    def _save(self, value: str) -> None:
        if not value:
            complain("/save needs a file name")
            return
        path = Path(value).expanduser()
        try:
            # Written beside the file and then renamed, so that a failed save does not change an earlier one.
            with NamedTemporaryFile(dir=path.parent, delete=False) as made:
                made.write(self.chat.conversation.save())
            Path(made.name).replace(path)
        except OSError as problem:
            complain(f"{path} cannot be written: {problem.strerror}")
            return
        note(f"saved to {path}")
