"""Data URLs: the bytes of an image or a file inside a URL (RFC 2397), as Responses carries them."""

from __future__ import annotations

from typing import NamedTuple


class Media(NamedTuple):
    """A media type such as `image/png`, and the bytes as base64 text."""

    type: str
    data: str


def parse_data_url(url: str) -> Media | None:
    """What a base64 data URL holds; `None` for any other URL."""
    if not url.startswith("data:"):
        return None
    head, comma, data = url[5:].partition(",")
    if not comma or not head.endswith(";base64"):
        return None
    return Media(head[:-7], data)


def data_url(media_type: str, data: str) -> str:
    """A data URL from a media type and base64 text."""
    return f"data:{media_type};base64,{data}"


def standard(data: str) -> str:
    """Base64 text in its standard alphabet; some clients write it in the one for URLs."""
    if "-" not in data and "_" not in data:
        return data
    return data.translate(_STANDARD) + "=" * (-len(data) % 4)


_STANDARD = str.maketrans("-_", "+/")
