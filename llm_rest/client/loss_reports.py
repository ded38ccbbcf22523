"""What happens about losses (`on_loss=`): a warning at the caller's line, an error, or nothing.

Before changing this file, know that a loss that is `refused` always raises, and that a warning is shown once per line and text.
"""

from __future__ import annotations

import re
import sys
import warnings
from typing import TYPE_CHECKING, Any

from ..errors import LossError
from ..losses import LossWarning

if TYPE_CHECKING:
    from ..losses import Loss
    from .options import OnLoss


class CallSite:
    """The place in the caller's program that a warning points to. Holds no frame, so nothing is kept alive by it."""

    __slots__ = ("filename", "line", "names")

    def __init__(self, depth: int = 2) -> None:
        frame = sys._getframe(depth)  # pyright: ignore[reportPrivateUsage] - the only way to a caller's line
        self.filename = frame.f_code.co_filename
        self.line = frame.f_lineno
        self.names: dict[str, Any] = frame.f_globals

    def __repr__(self) -> str:
        return f"<{self.filename}:{self.line}>"

    def warn(self, message: str) -> None:
        """Issue a warning at the caller's line: once per place and message, subject to the warning filters."""
        registry = self.names.setdefault("__warningregistry__", {})
        module = self.names.get("__name__", "<unknown>")
        warnings.warn_explicit(message, LossWarning, self.filename, self.line, module, registry)


def report_losses(losses: list[Loss], policy: OnLoss, site: CallSite, *, who: str, reply: Any = None) -> None:
    """Report losses by the `on_loss` policy. With a `reply` they are losses of the answer, not of the request."""
    refused = [loss for loss in losses if loss.kind == "refused"]
    if refused:
        raise LossError(f"this request cannot be sent to {who}: {_listed(refused)}", losses=tuple(losses), vendor=who)
    reported = [loss for loss in losses if loss.kind != "withheld"]
    if not reported or policy == "ignore":
        return
    message = f"conversion loss in the request to {who}" if reply is None else f"conversion loss in the answer of {who}"
    if policy == "raise":
        hint = 'on_loss="warn" or "ignore" sends it anyway'
        raise LossError(f"{message}: {_listed(reported)}", losses=tuple(losses), vendor=who, hint=hint, partial=reply)
    # Positions differ from turn to turn; without them the same loss at the same line is reported once.
    distinct = dict.fromkeys(re.sub(r"\[\d+\]", "[…]", str(loss)) for loss in reported)
    site.warn(f"{message}: {'; '.join(distinct)}")


def _listed(losses: list[Loss]) -> str:
    return "; ".join(map(str, losses))
