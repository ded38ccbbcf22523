"""What a document says beyond Responses returns into our own writing of it, whatever the document is: the law of `wires.kept`.

Documents are made from the types of all wires, so that a new struct is held to the law as it is declared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from itertools import permutations
from random import Random
from typing import Any, Literal, get_args, get_origin

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Raw, Struct

from llm_rest.errors import DecodeError
from llm_rest.losses import Losses
from llm_rest.responses import Message, Request, Usage
from llm_rest.unknown import Model, Opt, base, with_extras
from llm_rest.wires.kept import Rules, diff, own_leftovers, patch, report_misfits, unknown, with_options
from tests.support import WIRES
from tests.support.documents import canonical
from tests.support.made import Maker, arms, decoder, hints

JSON = Any


def kinds() -> Iterator[type[Model]]:
    """Every struct that a wire's documents are made of."""
    for name in WIRES:
        if name != "openai_responses":  # whose documents are those of Responses
            for found in vars(import_module(f"llm_rest.wires.{name}.types")).values():
                if isinstance(found, type) and issubclass(found, Model) and found.__module__.endswith(f"{name}.types"):
                    yield found


KINDS = list(dict.fromkeys(kinds()))


def several(seed: int) -> tuple[type[Model], Model, Model, Model]:
    """A kind, a document of it that came, and what we write of that and of something else, in which nothing is unknown."""
    maker, kind = Maker(seed), KINDS[seed % len(KINDS)]
    made: list[Model] = []
    for more in (True, False, False):
        try:
            made.append(decoder(kind).decode(json.dumps(maker.document(kind, unknown=more))))
        except DecodeError:
            assume(False)
    came, written, other = made
    return kind, came, written, other


def text(model: Any) -> str:
    return canonical(json.loads(msgspec.json.encode(model)))


law = settings(max_examples=400)
SEEDS = st.integers(0, 2**40)


@law
@given(SEEDS)
def test_what_came_returns_into_what_we_write(seed: int) -> None:
    _, came, made, _ = several(seed)
    before = msgspec.json.encode(made)
    left = diff(came, made)
    assert text(patch(made, json.loads(json.dumps(left)))) == text(came)
    assert msgspec.json.encode(made) == before, "what was compared and patched stays as it was"
    if text(came) == text(made):
        assert left == {} or "spelling" in left  # the order of keys may differ


@law
@given(SEEDS)
def test_an_edit_made_since_wins(seed: int) -> None:
    _, came, made, other = several(seed)
    found = patch(other, diff(came, made))
    for name in base(other).__struct_fields__:
        ours = getattr(other, name)
        if isinstance(ours, str | int | float) and repr(ours) != repr(getattr(made, name)):
            assert getattr(found, name) == ours


@law
@given(SEEDS)
def test_forged_leftovers_do_no_harm(seed: int) -> None:
    """Nothing is raised, and what comes out is a document that the wire's own decoder reads."""
    kind, came, made, other = several(seed)
    random, left = Random(seed), diff(came, made)
    real = [*left, *left.get("spelling", ())]
    for _ in range(4):
        forged: Any = forge(random, kind, real, 3)
        if isinstance(forged, dict) and random.random() < 0.5:
            forged = {**left, **forged, "spelling": {**left.get("spelling", {}), **forge(random, kind, real, 1, {})}}
        for one in (made, other):
            decoder(kind).decode(msgspec.json.encode(patch(one, forged)))


def forge(random: Random, kind: type[Struct], names: list[str], depth: int, like: Any = None) -> JSON:
    """Leftovers as somebody may make them up, who knows how ours look."""
    if like is None and (depth == 0 or random.random() < 0.4):
        marks = ("within", "group", "entries", ["null", ""], [None, ""], ["5", ""], [["1"], ""], [[0, {}], [9**9, 5]])
        return random.choice((*marks, Maker(random.randrange(10**9)).json(), "\ud800", float("nan")))
    config = kind.__struct_config__
    usual = [*kind.__struct_encode_fields__, *names, "", "spelling", str(config.tag_field), 'a"b', "new"]
    return {random.choice(usual): forge(random, kind, names, max(depth - 1, 0)) for _ in range(random.randrange(5))}


# --- structs of different kinds -------------------------------------------------------------------------------------


def least(kind: type[Struct]) -> JSON:
    """The smallest document of a kind."""
    config = kind.__struct_config__
    made: dict[str, JSON] = {config.tag_field: config.tag} if config.tag_field else {}
    for field in msgspec.structs.fields(kind):
        if field.required:
            arm = arms(hints(kind)[field.name])[0]
            origin = get_origin(arm) or arm
            made[field.encode_name] = (
                least(arm)
                if isinstance(arm, type) and issubclass(arm, Struct)
                else get_args(arm)[0]
                if origin is Literal
                else {str: "a", int: 1, float: 1.5, bool: True, list: [], dict: {}, Raw: {}}.get(origin, [])
            )
    return made


def places() -> Iterator[tuple[type[Model], str, bool, type[Struct], type[Struct]]]:
    """Every field that may hold objects of several kinds, alone or in a list, with each pair of these."""
    for kind in KINDS:
        for field in msgspec.structs.fields(kind):
            for many in (False, True):
                inner = [
                    each
                    for arm in arms(hints(kind)[field.name])
                    for each in (get_args(arm)[:1] if get_origin(arm) is list else ())
                ]
                found = [arm for form in (inner if many else [hints(kind)[field.name]]) for arm in arms(form)]
                structs = [arm for arm in found if isinstance(arm, type) and issubclass(arm, Struct)]
                for one, other in permutations(structs, 2):
                    yield kind, field.encode_name, many, one, other


def test_objects_of_different_kinds_are_never_mixed() -> None:
    """One came where we write another, everywhere where that is possible: the one that came returns whole."""
    tried: set[Any] = set()
    for kind, name, many, one, other in places():
        if (one, other, many) in tried:
            continue
        tried.add((one, other, many))
        document = least(kind)
        came, made = (
            decoder(kind).decode(json.dumps({**document, name: [least(each)] if many else least(each)}))
            for each in (one, other)
        )
        left = diff(came, made)
        assert left.keys() == {"spelling"}, (kind, name, one, other)
        assert text(patch(made, left)) == text(came), (kind, name, one, other)
    assert len(tried) > 500
    assert diff(decoder(KINDS[0]).decode(json.dumps(least(KINDS[0]))), Group()) == {}


# --- the rules, one by one ------------------------------------------------------------------------------------------


class Mark(Model):
    kind: str = "short"
    ttl: Opt[str] = UNSET


class Group(Model):
    limit: Opt[int] = UNSET
    heat: Opt[float | int] = UNSET


class Entry(Model):
    name: Opt[str] = UNSET
    mark: Opt[Mark] = UNSET
    note: Opt[str] = UNSET


class Document(Model):
    model: str
    heat: Opt[float | int] = UNSET
    stream: Opt[bool] = UNSET
    done: Opt[bool] = UNSET
    reason: Opt[str] = UNSET
    group: Opt[Group] = UNSET
    mark: Opt[Mark] = UNSET
    entries: Opt[list[Entry]] = UNSET
    meta: Opt[dict[str, Any]] = UNSET
    hidden: Opt[int] = msgspec.field(name="_hidden", default=UNSET)


def doc(**fields: Any) -> Document:
    return Document(model="m", **fields)


def test_a_field_we_leave_out_stands_under_its_own_name_and_one_written_otherwise_does_not() -> None:
    came = with_extras(doc(hidden=5, stream=True), {"new": 1})
    left = diff(came, doc(stream=False))
    assert {name: left[name] for name in ("_hidden", "new")} == {"_hidden": 5, "new": 1}
    assert "stream" not in left
    assert patch(doc(stream=False), left) == came
    assert patch(doc(stream=None), left).stream is None, "something else is written now"
    assert patch(doc(stream=False, hidden=6), left).hidden == 6
    assert diff(came, came) == {}


def test_floats_are_told_apart_by_their_bytes() -> None:
    for came, made in ((40.0, 40), (40, 40.0), (0.0, -0.0)):
        left = diff(doc(heat=came, meta={"a": [came]}), doc(heat=made, meta={"a": [made]}))
        assert msgspec.json.encode(patch(doc(heat=made, meta={"a": [made]}), left)) == msgspec.json.encode(
            doc(heat=came, meta={"a": [came]})
        )


def test_what_stood_inside_an_object_goes_with_it() -> None:
    left = diff(doc(mark=Mark(ttl="1h")), doc(mark=Mark()))
    assert patch(doc(mark=Mark()), left).mark == Mark(ttl="1h")
    assert patch(doc(), left) == doc()


def test_what_stood_in_a_group_stays_without_what_we_wrote_there() -> None:
    rules = Rules(groups=frozenset({"group"}))
    came = doc(group=Group(limit=5, heat=1))
    for made in (doc(group=Group(heat=1)), doc()):
        left = diff(came, made, rules)
        assert patch(made, left) == came
        assert patch(doc(group=Group(heat=2)), left).group.limit == 5  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
    assert patch(doc(), diff(came, doc(group=Group(heat=1)), rules)) == doc(group=Group(limit=5))
    assert patch(doc(), diff(doc(group=Group()), doc(), rules)) == doc(group=Group())


def test_entries_of_a_list_are_known_by_their_names_wherever_they_stand() -> None:
    came = doc(entries=[Entry(name="a", mark=Mark()), Entry(name="b"), Entry(mark=Mark(ttl="x"))])
    made = doc(entries=[Entry(name="a"), Entry(name="b"), Entry()])
    left = diff(came, made)
    assert patch(made, left) == came
    edited = doc(entries=[Entry(name="c"), Entry(name="a", note="edited")])
    assert patch(edited, left).entries == [Entry(name="c"), Entry(name="a", note="edited", mark=Mark())]


def test_entries_of_one_name_keep_what_is_theirs() -> None:
    came = doc(entries=[Entry(name="a", note="1"), Entry(name="a", note="2"), Entry(name="a 2", note="3")])
    made = doc(entries=[Entry(name="a"), Entry(name="a"), Entry(name="a 2")])
    assert patch(made, diff(came, made)) == came


def test_entries_we_have_nothing_for_keep_their_place() -> None:
    came = doc(entries=[Entry(note="x"), Entry(name="a"), Entry(note="y")])
    compared = doc(entries=[Entry(name="a")])
    compared.entries = [None, *compared.entries, None]  # type: ignore[list-item, misc]  # pyright: ignore[reportAttributeAccessIssue, reportGeneralTypeIssues, reportOptionalIterable]
    left = diff(came, compared)
    assert patch(doc(entries=[Entry(name="a")]), left) == came
    assert patch(doc(), left) == doc()
    compared.entries = [None, None, None]  # type: ignore[list-item]  # pyright: ignore[reportAttributeAccessIssue]
    assert patch(doc(entries=[]), diff(came, compared)) == came
    far = {**left, "entries": {"": [[10**9, {"note": "far"}], ["?", {}], [0, {"note": "x"}], [-5, {"note": "z"}], 7]}}
    notes = [each.note for each in patch(doc(entries=[Entry(name="a")]), far).entries or ()]
    assert notes == ["z", "x", UNSET, "far"]


def test_fields_that_say_one_thing_return_together() -> None:
    rules = Rules(together=(("done", "reason"),))
    came, made = doc(reason="load"), doc(done=True, reason="stop")
    left = diff(came, made, rules)
    assert patch(made, left) == came
    edited = doc(done=True, reason="length")
    assert patch(edited, left) == edited
    assert diff(came, doc(), rules) == {"reason": "load"}, "what we leave out is reported"


def test_a_default_that_was_written_out_is_no_loss_elsewhere() -> None:
    left = diff(doc(stream=False), doc(), Rules(defaults={"stream": False}))
    assert left.keys() == {"spelling"}
    assert patch(doc(), left) == doc(stream=False)


def test_several_values_or_any_may_say_the_same_as_leaving_the_field_out() -> None:
    rules = Rules(defaults={"reason": ("stop", "end"), "heat": ...})
    for came, told in ((doc(reason="end", heat=5), set[str]()), (doc(reason="length"), {"reason"})):
        left = diff(came, doc(), rules)
        assert left.keys() - {"spelling"} == told
        assert patch(doc(), left) == came


def test_an_object_that_differs_in_what_is_compared_elsewhere_leaves_nothing() -> None:
    assert diff(doc(mark=Mark(ttl="1h")), doc(mark=Mark()), Rules(apart=frozenset({"ttl"}))) == {}


def test_many_entries_that_are_the_same_are_told_apart_in_linear_time() -> None:
    count = 20_000  # every pair of which would take minutes
    came = doc(entries=[Entry(name="a", note="1") for _ in range(count)])
    made = doc(entries=[Entry(name="a") for _ in range(count)])
    assert patch(made, diff(came, made)) == came


def test_a_word_that_only_its_wire_knows_is_reported() -> None:
    rules, lost = Rules(words=frozenset({"reason"})), Losses()
    for word, told in (("odd", ["reason"]), ("Stop", [])):
        left = diff(doc(reason=word), doc(reason="stop"), rules)
        assert patch(doc(reason="stop"), left) == doc(reason=word)
        lost.clear()
        own_leftovers(Request(leftovers={"a_wire": left}), "ollama_chat", "", lost)
        assert [loss.path for loss in lost] == told


def test_plain_json_is_compared_key_by_key() -> None:
    left = diff(doc(meta={"a": 1, "b": {"c": 2}}), doc(meta={"a": 1}))
    assert left["meta"] == {"b": {"c": 2}}
    assert patch(doc(meta={"a": 1}), left) == doc(meta={"a": 1, "b": {"c": 2}})
    assert patch(doc(meta={"a": 2}), left) == doc(meta={"a": 2, "b": {"c": 2}})


def test_what_is_required_is_never_unset_and_sizes_are_bounded() -> None:
    left = diff(doc(stream=True), doc(stream=False))
    digest = left["spelling"]["stream"][1]
    assert patch(doc(stream=False), {"spelling": {"stream": [None, digest]}}) == doc()
    model = diff(Document(model="n"), doc())["spelling"]["model"][1]
    assert patch(doc(), {"spelling": {"model": [None, model]}}) == doc()
    assert patch(doc(), {"spelling": {"model": ["5", model]}}) == doc(), "nor is it of another type"
    large = json.dumps("x" * 9_000_000)
    assert patch(doc(), {"spelling": {"model": [large, model]}, "reason": json.loads(large)}) == doc()
    assert patch(doc(), {f"f{i}": i for i in range(300)}) == doc()


def test_only_what_is_unknown_is_content() -> None:
    came = doc(hidden=1, mark=with_extras(Mark(ttl="x"), {"signature": "s"}), stream=True)
    assert patch(doc(mark=Mark()), unknown(came)).mark == with_extras(Mark(), {"signature": "s"})
    assert unknown(doc(hidden=1)) == {}
    assert unknown(doc(hidden=1, stream=True), "_hidden") == {"_hidden": 1}


def test_what_another_wire_left_is_reported_by_field_and_not_how_it_was_written() -> None:
    rules = Rules(groups=frozenset({"group"}))
    came = doc(
        group=Group(limit=5),
        stream=True,
        hidden=0,
        entries=[Entry(name="f", note="n", mark=with_extras(Mark(), {"new": 1}))],
        meta={},
    )
    made = doc(stream=False, entries=[Entry(name="f", mark=Mark())])
    lost = Losses()
    request = Request(leftovers={"a_wire": diff(came, made, rules)})
    assert own_leftovers(request, "ollama_chat", "", lost, request) == {}
    assert {loss.path for loss in lost} == {"_hidden", "meta", "group.limit", "entries[f].note", "entries[f].mark.new"}
    lost.clear()
    item = with_extras(Message(role="user", content="", leftovers={"a_wire": {"message": {"images": [1]}}}), {"z": 1})
    own_leftovers(item, "ollama_chat", "input[0]", lost)
    assert {loss.path for loss in lost} == {"input[0].images", "input[0].z"}
    kept = {"ollama_chat": {"a": 1}}
    assert own_leftovers(Usage(input_tokens=1, output_tokens=1, leftovers=kept), "ollama_chat", "usage", lost) == {
        "a": 1
    }


def test_a_note_that_does_not_fit_is_reported_unless_an_option_was_edited() -> None:
    came = doc(reason="load", group=Group(limit=5), entries=[Entry(name="f", note="x")])
    made = doc(reason="stop", group=Group(limit=6), entries=[Entry(name="f", note="y")])
    request = Request(model="alias", temperature=0.5)
    left = with_options(diff(came, made), request)
    misfits: list[str] = []
    assert patch(made, left, misfits) == came
    assert patch(came, left, misfits) == came
    assert misfits == [], "what is written already as it came is no misfit"
    other = doc(reason="length", group=Group(limit=7), entries=[Entry(name="f", note="z")])
    assert patch(other, left, misfits) == other
    assert set(misfits) == {"reason", "group.limit", "entries[0].note"}
    for edit, told in (({"model": "another"}, set(misfits)), ({"temperature": 1.0}, set[str]())):
        lost = Losses()
        report_misfits(msgspec.structs.replace(request, **edit), left, misfits, lost)
        assert {loss.path for loss in lost} == told
        assert {loss.kind for loss in lost} <= {"changed"}
