"""The benchmarks compare like with like: each floor does what we do, for its document. Nothing is timed here."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from benchmarks import conversions, documents, floors, streams
from benchmarks.__main__ import main
from benchmarks.calls import cases
from benchmarks.measure import Case, compare
from llm_rest.wires import NAMES, load


def core(answer: Any) -> Any:
    """What both sides must agree on: status, model, usage, and the texts and calls in order; not every wire has ids."""
    plain = msgspec.to_builtins(answer)
    kept = list[Any]()
    for item in plain["output"]:
        if item["type"] == "message":
            kept.append([part["text"] for part in item["content"]])
        else:
            kept.append((item["name"], msgspec.json.decode(item["arguments"])))
    usage = {name: plain["usage"][name] for name in ("input_tokens", "output_tokens", "total_tokens")}
    return plain["status"], plain["model"], usage, kept


@pytest.mark.parametrize("wire", NAMES)
@pytest.mark.parametrize("calls", [False, True])
def test_a_floor_gives_the_answer_that_the_wire_gives(wire: str, calls: bool) -> None:
    loaded, data = load(wire), documents.answer(wire, calls=calls)
    response, lost = loaded.decode_response(loaded.RESPONSE.decode(data))
    assert core(floors.ANSWERS[wire](data)) == core(response)
    assert lost == []


@pytest.mark.parametrize("wire", NAMES)
def test_the_floor_of_a_request_sends_what_the_wire_sends(wire: str) -> None:
    request = documents.conversation(items=9)
    ours, lost = load(wire).encode_request(request)
    assert {loss.kind for loss in lost} <= {"emulated"}
    sent = msgspec.json.decode(msgspec.json.encode(ours))
    assert {**sent, **msgspec.json.decode(floors.REQUESTS[wire](request))} == sent


@pytest.mark.parametrize("case", list(conversions.cases()), ids=lambda case: case.name)
def test_both_sides_of_a_conversion_run(case: Case) -> None:
    assert case.floor()
    assert case.ours()


def test_the_long_request_has_half_a_megabyte() -> None:
    assert 480_000 < len(msgspec.json.encode(documents.conversation(text=documents.LONG))) < 520_000


def test_both_sides_of_a_call_get_the_same_answer() -> None:
    with cases() as measured:
        for case in measured:
            floor: Any = case.floor()
            # The floor of a call with telemetry or an event hook is one without.
            assert case.ours() == (floor if isinstance(floor, str) else floor.choices[0].message.content)


def test_both_sides_of_a_stream_see_every_delta() -> None:
    for case in streams.pure():
        assert case.floor() == case.ours() == case.per == documents.WORDS
    with streams.cases() as measured:
        for case in measured:
            assert case.floor() == case.ours() == case.per


def test_both_sides_of_an_unknown_field_decode_every_delta_and_only_one_has_the_field() -> None:
    for case in streams.unknown_fields():
        assert case.floor() == case.ours() == case.per >= documents.WORDS - 2
    for name in NAMES:
        for place in streams.PLACES[name].values():
            data = streams.deltas(name)[0]
            assert b"brand_new" not in data
            assert b"brand_new" in streams.with_field(data, place)


def test_each_side_runs_equally_often() -> None:
    runs = {"floor": 0, "ours": 0}

    def side(name: str) -> object:
        runs[name] += 1
        return sum(range(100_000))

    compare(Case("counting", lambda: side("floor"), lambda: side("ours")), rounds=2)
    assert runs["ours"] > 0
    assert runs["ours"] % 3 == 0, "a warm-up and two rounds"


def test_an_unknown_group_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "conversion"])
    with pytest.raises(SystemExit):
        main()
    assert "there are imports, conversions, calls, streams" in capsys.readouterr().err
