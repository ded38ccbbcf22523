"""Images that a model generated: their data and media type, on every wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..losses import no_such
from ..responses.carriers import NAMES
from ..unknown import given

if TYPE_CHECKING:
    from ..losses import Losses
    from ..responses.items import ImageGenerationCall

FORMATS = {"png": "image/png", "jpeg": "image/jpeg", "webp": "image/webp", "gif": "image/gif", "svg": "image/svg+xml"}
"""Formats of generated images, ours on the left."""
FORMATS_BACK = {theirs: our for our, theirs in FORMATS.items()}

_OTHER_FIELDS = ("action", "background", "quality", "revised_prompt", "size", "error", "svg_usage")


def image_type(item: ImageGenerationCall) -> str:
    """The media type of a generated image; PNG where nothing says otherwise."""
    return FORMATS.get(item.output_format or "png", f"image/{item.output_format}")


def image_data(item: ImageGenerationCall, path: str, wire: str, lost: Losses) -> str | None:
    """The data of an image that a wire can hold; `None` for one without any. Its other fields are reported."""
    for name in _OTHER_FIELDS:
        if given(getattr(item, name)):
            lost.dropped(f"{path}.{name}", no_such("field", NAMES[wire]))
    if not given(item.result):
        lost.dropped(path, "an image without its data")
        return None
    return item.result
