"""`History`: the validated and encoded items of a conversation, so that its next request only processes new items.

A chat or a run owns its items: each is checked and copied once, and encoded once for a target. Before changing this file, know
that items are compared by identity first, so an item that is mutated afterwards is sent as it was validated; and that only one
call at a time may use a history.
"""

from __future__ import annotations

from itertools import filterfalse, takewhile
from typing import TYPE_CHECKING, Any

from ..wires.prefix import EncodedPrefix

if TYPE_CHECKING:
    from ..losses import Loss
    from ..responses.items import AnyItem


class History:
    """The items of the last request of a conversation: original, validated, and encoded."""

    __slots__ = ("_allowed", "_capabilities", "_given", "_reported", "answered", "checked", "encoded")

    def __init__(self) -> None:
        self._given: list[Any] = []
        self.checked: list[AnyItem] = []
        """The checked copies of the given items."""
        self.encoded = EncodedPrefix()
        """The encoded items, in the format of a wire."""
        self.answered: list[Any] = []
        """The items of the last turn that completed: all their calls have outputs."""
        self._reported: tuple[Any, set[Loss]] = None, set()
        self._capabilities: Any = None
        self._allowed = 0

    def known(self, items: list[Any]) -> int:
        """How many of these items, from the first on, were validated before; at least one is not."""
        count = len(self._given)
        if self._given != items[:count]:
            pairs = zip(self._given, items, strict=False)
            count = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
        return min(count, max(0, len(items) - 1))

    def known_answered(self, items: list[Any]) -> int:
        """How many of these items, from the first on, are known to hold no call without an output."""
        count = len(self.answered)
        return count if count and self.answered == items[:count] else self.known(items)

    def unreported(self, losses: list[Loss], policy: Any) -> list[Loss]:
        """The losses that were not reported before under this policy."""
        if self._reported[0] != policy:
            self._reported = policy, set()
        return [*filterfalse(self._reported[1].__contains__, losses)]

    def reported(self, losses: list[Loss]) -> None:
        """Record that these losses were reported under the policy of `unreported`."""
        self._reported[1].update(losses)

    def keep(self, given: list[Any], checked: list[AnyItem], known: int) -> None:
        """Store the items of this request with their validated form; the first ones were `known`."""
        self._given, self.checked = given, checked
        self._allowed = min(self._allowed, known)

    def allowed(self, capabilities: Any) -> int:
        """How many items were checked against these capabilities."""
        return self._allowed if capabilities is self._capabilities else 0

    def allow(self, capabilities: Any) -> None:
        """Record that all items match these capabilities."""
        self._capabilities, self._allowed = capabilities, len(self.checked)
