"""A loss says where, what and how; nobody below the client decides what to do about one."""

from __future__ import annotations

import pickle
from typing import get_args

import msgspec
import pytest

from llm_rest.losses import Kind, Loss, Losses


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_has_a_method_of_its_name(kind: Kind) -> None:
    losses = Losses()
    getattr(losses, kind)("input[2].content[0]", "an image given by file id")
    assert losses == [Loss("input[2].content[0]", "an image given by file id", kind)]


def test_losses_stand_in_the_order_they_happened() -> None:
    losses = Losses()
    losses.dropped("stop", "stop sequences")
    losses.changed("model", "another name")
    losses.extend([Loss("seed", "the seed", "dropped")])
    assert [loss.path for loss in losses] == ["stop", "model", "seed"]


def test_a_loss_reads_as_a_sentence() -> None:
    assert str(Loss("tools[1].strict", "strict decoding", "dropped")) == "tools[1].strict: strict decoding (dropped)"


def test_a_loss_is_a_value() -> None:
    loss = Loss("a", "b", "withheld")
    assert {loss, Loss("a", "b", "withheld")} == {loss}
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert msgspec.json.decode(msgspec.json.encode(loss), type=Loss) == loss
    with pytest.raises(AttributeError):
        loss.path = "c"  # type: ignore[misc]
