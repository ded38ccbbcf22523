"""What `Run` and `AsyncRun` have in common: the state of a run, and decisions about its calls."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import ConfigError
from ..tools import output_of
from . import inputs
from .calls import answer, answers

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..responses.response import Response
    from . import RunState, Statistics, ToolCall
    from .engine import Engine

R_co = TypeVar("R_co", covariant=True)


class BaseRun(Generic[R_co]):
    """The shared part of `Run` and `AsyncRun`."""

    def __init__(self, engine: Callable[[Any], Engine], conclude: Callable[[RunState, list[Response]], R_co]) -> None:
        self._engine = engine(self)
        self._conclude = conclude

    def __repr__(self) -> str:
        """One line: the model, the status, calls, tokens, and what to do next."""
        if "_engine" not in vars(self):
            return f"<{type(self).__name__} that is being made>"
        state = self._engine.state
        if state.pending_calls:
            advice = "decide with .approve(id), .deny(id) or .submit_output(id, output), then .result()"
        elif state.outcome is None:
            advice = "start it with .result(), or watch it with .events() or .stream()"
        else:
            advice = "see .result() .calls .state"
        return f"<{type(self).__name__} {state.summary()}; {advice}>"

    @property
    def state(self) -> RunState:
        """The state of the run as plain data: encode it, and `client.run(state=...)` resumes it, in another process too."""
        return self._engine.snapshot()

    @property
    def calls(self) -> list[ToolCall]:
        """Every call so far, in the order in which the model made them."""
        return self.state.calls

    @property
    def statistics(self) -> Statistics:
        """How many tool calls the run has, by state and by kind."""
        return self._engine.state.statistics

    @property
    def pending_calls(self) -> list[ToolCall]:
        """The calls that wait for `approve` or `deny`, or for `submit_output` where they have no local implementation."""
        return self._engine.pending_calls()

    def approve(self, id: str) -> None:
        """Approve a call; `id` is its `call_id` or `execution_id`. Then call `result()` again.

        Raises `ConfigError` where no such call is in `pending_calls`.
        """
        self._engine.say(partial(inputs.Approved, execution_id=self._find(id).execution_id))

    def deny(self, id: str, reason: str = "") -> None:
        """Reject a call that waits for approval; the model gets the reason as its output. Raises `ConfigError` as `approve`."""
        self._engine.say(partial(inputs.Denied, execution_id=self._find(id).execution_id, reason=reason))

    def submit_output(self, id: str, output: Any) -> None:
        """Set the output of a waiting call: any value a tool may return, or the output item (`FunctionCallOutput`, ...).

        Raises `ConfigError` for an output item of another call, and where no such call is in `pending_calls`.
        """
        call = self._find(id)
        expected, named = answer(call.item, ""), answers([output])
        if not named:
            output = output_of(output)
        elif type(output) is not type(expected) or named != answers([expected]):
            got, wanted_type = type(output).__name__, type(expected).__name__
            raise ConfigError(f"a {got} of {named} does not answer {id!r}", hint=f"give its text, or its {wanted_type}")
        self._engine.say(partial(inputs.Supplied, execution_id=call.execution_id, output=output))

    def cancel(self) -> None:
        """End the run now, from any thread: running tools are cancelled, and every open call gets an output that says so."""
        self._engine.cancel()

    def _find(self, id: str) -> ToolCall:
        for call in self.pending_calls:
            if id in (call.execution_id, call.call_id):
                return call
        names = ", ".join(call.call_id for call in self.pending_calls) or "none"
        raise ConfigError(f"no call {id!r} is waiting", hint=f"waiting: {names}")

    def _concluded(self) -> R_co:
        engine = self._engine
        answer = None if engine.state.response is None else self._conclude(engine.state, engine.answers)
        error = engine.error(answer)
        if error is not None:
            raise error
        return self._conclude(engine.state, engine.answers) if answer is None else answer
