"""The key is in no error, no log record and no variable of a frame."""

from __future__ import annotations

import pytest

from llm_rest.errors import (
    ConnectError,
)
from tests.transport.support import KEY, NewTransport, exchange, nobody

pytestmark = pytest.mark.anyio


async def test_no_frame_of_an_error_shows_the_key(new_transport: NewTransport) -> None:
    """BUGS 84."""
    with pytest.raises(ConnectError) as caught:
        await exchange(new_transport, nobody())
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    frame = caught.value.__traceback__
    assert frame is not None
    while frame is not None:
        assert KEY not in repr(frame.tb_frame.f_locals)
        assert "httpcore" not in frame.tb_frame.f_code.co_filename
        frame = frame.tb_next
