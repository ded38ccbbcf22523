"""`History`: the validated and encoded items of a conversation, so that its next request only processes new items.

A chat or a run owns its items: each is checked and copied once, and encoded once for a target. Before changing this file, know
that items are compared by identity first, so an item that is mutated afterwards is sent as it was validated; and that only one
call at a time may use a history.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ..wires.prefix import EncodedPrefix

if TYPE_CHECKING:
    from ..responses.items import AnyItem


class History:
    """The items of the last request of a conversation: original, validated, and encoded."""

    __slots__ = ("_allowed", "_capabilities", "_given", "checked", "encoded")

    def __init__(self) -> None:
        self._given: list[Any] = []
        self.checked: list[AnyItem] = []
        """The checked copies of the given items."""
        self.encoded = EncodedPrefix()
        """What a wire made of them."""
        self._capabilities: Any = None
        self._allowed = 0

    def known(self, items: list[Any]) -> int:
        """How many of these items, from the first on, were validated before; at least one is not."""
        count = len(self._given)
        if self._given != items[:count]:
            pairs = zip(self._given, items, strict=False)
            count = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
        return min(count, max(0, len(items) - 1))

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
