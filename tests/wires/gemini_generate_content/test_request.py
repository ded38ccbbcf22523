"""What is said in a request: contents, media, calls and their outputs, on their way to the vendor."""

from __future__ import annotations

from typing import Any

import pytest

from llm_rest.responses import (
    AdditionalTools,
    AudioData,
    ByProgram,
    CacheBreakpoint,
    Compaction,
    CompactionTrigger,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionTool,
    ImageGenerationCall,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    InputVideo,
    ItemReference,
    LocalShellCall,
    Logprob,
    Message,
    OutputText,
    Reasoning,
    RefusalPart,
    Request,
    Search,
    SummaryText,
    UrlCitation,
    WebSearchCall,
)
from llm_rest.unknown import Unknown, with_extras
from llm_rest.vendors.dialects import VERTEX
from llm_rest.wires import gemini_generate_content as wire
from tests.wires.gemini_generate_content import (
    BUDGETED,
    NEWEST,
    OLD,
    THREE,
    call,
    called,
    contents,
    gave,
    model,
    output,
    said,
    sent,
    shown,
    theirs,
    user,
)

PNG = "data:image/png;base64,AAAA"
FILE = "https://generativelanguage.googleapis.com/v1beta/files/a"

# --- where it goes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "there", "on_vertex"),
    [
        ("gemini-3-flash", "/v1beta/models/gemini-3-flash", "/publishers/google/models/gemini-3-flash"),
        ("models/gemini-3-flash", "/v1beta/models/gemini-3-flash", "/publishers/google/models/gemini-3-flash"),
        ("tunedModels/mine", "/v1beta/tunedModels/mine", "/tunedModels/mine"),
        ("publishers/meta/models/x", "/v1beta/publishers/meta/models/x", "/publishers/meta/models/x"),
        ("../a b?", "/v1beta/%2E%2E/a%20b%3F", "/%2E%2E/a%20b%3F"),
    ],
)
def test_the_model_stands_in_the_url(name: str, there: str, on_vertex: str) -> None:
    """gemini.request.1"""
    request = Request(model=name, input="Hi")
    assert wire.route(request).path == f"{there}:generateContent"
    assert wire.route(request, dialect=VERTEX).path == f"{on_vertex}:generateContent"
    assert "model" not in sent(request)[0]


def test_streaming_is_asked_for_in_the_url() -> None:
    """gemini.request.2"""
    there = wire.route(Request(model="m", input="Hi", stream=True), stream=True)
    assert (there.path, there.query) == ("/v1beta/models/m:streamGenerateContent", {"alt": "sse"})
    assert sent(Request(model="m", input="Hi", stream=True)) == sent(Request(model="m", input="Hi"))


# --- who speaks -----------------------------------------------------------------------------------------------------


def test_what_is_said_before_anybody_speaks_is_the_system_instruction() -> None:
    """gemini.request.3"""
    first = [Message(role="system", content="b"), Message(role="developer", content=[InputText(text="c")]), user("Hi")]
    assert sent(Request(model=THREE, instructions="a", input=[*first])) == (
        {"contents": [theirs("Hi")], "systemInstruction": {"parts": [{"text": "a"}, {"text": "b"}, {"text": "c"}]}},
        [],
    )
    pictured = Message(role="system", content=[InputText(text="b"), InputImage(image_url=PNG)])
    body, lost = sent(Request(model=THREE, input=[pictured, user("Hi")]))
    assert (body["systemInstruction"], lost) == ({"parts": [{"text": "b"}]}, ["input[0] (dropped)"])


def test_a_string_is_one_content_of_the_user() -> None:
    """gemini.request.4"""
    assert sent(Request(model=THREE, input="Hi")) == ({"contents": [theirs("Hi")]}, [])


@pytest.mark.parametrize("role", ["system", "developer"])
def test_what_the_system_says_later_is_said_by_the_user_in_tags(role: str) -> None:
    """gemini.request.5, gemini.hard.13. BUGS 42"""
    assert contents(user("Hi"), said("Yo"), Message(role=role, content="Be brief."), user("So?")) == (
        [theirs("Hi"), model({"text": "Yo"}), theirs("<system>\nBe brief.\n</system>"), theirs("So?")],
        ["input[2] (changed)"],
    )


def test_each_message_of_a_user_is_a_content_of_its_own() -> None:
    """gemini.request.6: later messages leave the bytes of earlier ones alone. BUGS 81"""
    assert contents(user("a", "b"), user("c")) == ([theirs("a", "b"), theirs("c")], [])
    assert contents(Message(role="critic", content="a")) == ([theirs("a")], ["input[0].role (changed)"])


def test_what_the_model_does_in_one_go_is_one_content() -> None:
    """gemini.request.7"""
    assert contents(user("Hi"), said("a"), said("b"), call("c1"), output("c1")) == (
        [
            theirs("Hi"),
            model({"text": "a"}, {"text": "b"}, called("c1")),
            theirs(gave("c1", {"output": "4"})),
        ],
        [],
    )


def test_what_earlier_answers_had_beside_their_texts_stays_behind() -> None:
    """gemini.request.8"""
    source = UrlCitation(url="https://a", title="A", start_index=0, end_index=1)
    part = OutputText(text="Yo", annotations=[source], logprobs=[Logprob(token="Yo", logprob=-1, bytes=None)])
    refusal = Message(role="assistant", content=[RefusalPart(refusal="No.")], phase="commentary")
    assert contents(user("Hi"), Message(role="assistant", content=[part]), refusal, user("So?")) == (
        [theirs("Hi"), model({"text": "Yo"}, {"text": "No."}), theirs("So?")],
        [
            "input[1].content[0].annotations (dropped)",
            "input[1].content[0].logprobs (dropped)",
            "input[2].phase (dropped)",
            "input[2].content[0] (changed)",
        ],
    )


@pytest.mark.parametrize("empty", [user(""), said(""), Message(role="user", content=[])])
def test_what_says_nothing_is_not_sent(empty: Message) -> None:
    """gemini.request.9: the vendor refuses empty texts and contents without parts. BUGS 47"""
    assert contents(user("", "Hi"), empty, user("So?")) == ([theirs("Hi"), theirs("So?")], [])
    assert sent(Request(model=THREE, input=[empty])) == ({"contents": []}, ["input (refused)"])


def test_an_answer_is_continued_by_the_models_that_can() -> None:
    """gemini.request.10"""
    begun = [user("Count."), said("1, 2,")]
    assert contents(*begun, model=THREE) == ([theirs("Count."), model({"text": "1, 2,"})], [])
    assert contents(*begun, model=NEWEST)[1] == ["input (refused)"]


# --- parts ----------------------------------------------------------------------------------------------------------


def test_a_text_is_a_text() -> None:
    """gemini.request.11"""
    assert shown("a", "b") == ([{"text": "a"}, {"text": "b"}], [])


def test_an_image_as_data_is_sent_inline() -> None:
    """gemini.request.12"""
    assert shown(InputImage(image_url=PNG)) == ([{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}], [])


@pytest.mark.parametrize(
    ("url", "kind", "lost"),
    [
        ("https://x.test/a.webp?size=1", "image/webp", []),
        ("https://x.test/a", "image/jpeg", ["input[0].content[0] (changed)"]),
    ],
)
def test_an_image_by_url_names_its_media_type(url: str, kind: str, lost: list[str]) -> None:
    """gemini.request.13"""
    assert shown(InputImage(image_url=url)) == ([{"fileData": {"fileUri": url, "mimeType": kind}}], lost)


def test_an_image_by_url_is_refused_where_nobody_fetches_it() -> None:
    """gemini.request.14, gemini.hard.10. BUGS 77"""
    image = InputImage(image_url="https://x.test/a.png")
    assert shown(image, model=OLD)[1] == ["input[0].content[0] (refused)"]
    assert shown(image, model=OLD, dialect=VERTEX)[1] == []
    assert shown(InputImage(image_url="ftp://x.test/a.png")) == ([], ["input[0].content[0] (refused)"])
    assert shown(InputImage(image_url="data:image/svg+xml,<svg/>"))[1] == ["input[0].content[0] (refused)"]


@pytest.mark.parametrize("uri", [f"{FILE}.png", "gs://bucket/a.png"])
def test_a_file_of_the_vendor_is_named_by_its_uri(uri: str) -> None:
    """gemini.request.15"""
    assert shown(InputImage(file_id=uri), model=OLD) == (
        [{"fileData": {"fileUri": uri, "mimeType": "image/png"}}],
        [],
    )


def test_a_file_of_another_vendor_is_refused() -> None:
    """gemini.request.15"""
    assert shown(InputImage(file_id="file_1"), InputFile(file_id="file_2")) == (
        [],
        ["input[0].content[0] (refused)", "input[0].content[1] (refused)"],
    )


def test_how_closely_an_image_is_looked_at() -> None:
    """gemini.request.16"""
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    for detail, level in (("low", "LOW"), ("high", "HIGH"), ("original", "ULTRA_HIGH")):
        closely = image | {"mediaResolution": {"level": f"MEDIA_RESOLUTION_{level}"}}
        assert shown(InputImage(image_url=PNG, detail=detail)) == ([closely], [])
    assert shown(InputImage(image_url=PNG, detail="auto")) == ([image], [])
    assert shown(InputImage(image_url=PNG, detail="low"), model=BUDGETED) == (
        [image],
        ["input[0].content[0].detail (dropped)"],
    )


@pytest.mark.parametrize(
    ("file", "part", "lost"),
    [
        (
            InputFile(file_data="data:application/pdf;base64,AAAA"),
            {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}},
            [],
        ),
        (
            InputFile(file_data="AAAA", filename="a.csv"),
            {"inlineData": {"mimeType": "text/csv", "data": "AAAA"}},
            ["file_data (changed)", "filename (dropped)"],
        ),
        (
            InputFile(file_data="AAAA"),
            {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}},
            ["file_data (changed)"],
        ),
        (
            InputFile(file_url="https://x.test/a.pdf"),
            {"fileData": {"fileUri": "https://x.test/a.pdf", "mimeType": "application/pdf"}},
            [],
        ),
        (
            InputFile(file_url="https://youtu.be/x"),
            {"fileData": {"fileUri": "https://youtu.be/x", "mimeType": "video/mp4"}},
            [],
        ),
        (InputFile(file_data="data:text/plain,Hi"), None, [" (refused)"]),
        (InputFile(), None, [" (dropped)"]),
    ],
)
def test_a_file_is_sent_as_data_or_by_its_uri(file: InputFile, part: Any, lost: list[str]) -> None:
    """gemini.request.17, gemini.hard.9"""
    found = [f"input[0].content[0]{'' if name[0] == ' ' else '.'}{name}" for name in lost]
    assert shown(file) == ([part] if part else [], found)


def test_the_name_of_a_file_is_told_where_the_host_takes_one() -> None:
    """gemini.request.18"""
    file = InputFile(file_data="data:application/pdf;base64,AAAA", filename="a.pdf")
    assert shown(file)[1] == ["input[0].content[0].filename (dropped)"]
    assert shown(file, dialect=VERTEX) == (
        [{"inlineData": {"mimeType": "application/pdf", "data": "AAAA", "displayName": "a.pdf"}}],
        [],
    )


def test_sound_and_video_are_media_like_any_other() -> None:
    """gemini.request.19"""
    heard = [InputAudio(input_audio=AudioData(data="AAAA", format=format)) for format in ("wav", "mp3")]
    assert shown(*heard, InputVideo(video_url="https://x.test/a.webm")) == (
        [
            {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}},
            {"inlineData": {"mimeType": "audio/mpeg", "data": "AAAA"}},
            {"fileData": {"fileUri": "https://x.test/a.webm", "mimeType": "video/webm"}},
        ],
        [],
    )


def test_what_nobody_knows_and_marks_of_caches_stay_behind() -> None:
    """gemini.request.20"""
    marked = InputText(text="a", prompt_cache_breakpoint=CacheBreakpoint())
    strange = with_extras(InputText(text="b"), {"mood": "glad"})
    assert shown(marked, Unknown({"type": "hologram"}), strange) == (
        [{"text": "a"}, {"text": "b"}],
        [
            "input[0].content[0].prompt_cache_breakpoint (dropped)",
            "input[0].content[1] (dropped)",
            "input[0].content[2].mood (dropped)",
        ],
    )
    assert contents(user("Hi"), Unknown({"type": "dream"})) == ([theirs("Hi")], ["input[1] (dropped)"])


# --- calls ----------------------------------------------------------------------------------------------------------


def asked_for(arguments: str) -> tuple[Any, list[str]]:
    found, lost = contents(user("Hi"), call("c1", "f", arguments), output("c1"))
    return found[1]["parts"][0]["functionCall"], lost


def test_a_call_is_a_call_with_its_id() -> None:
    """gemini.request.21"""
    assert asked_for('{"a":1.0,"b":[]}') == ({"id": "c1", "name": "f", "args": {"a": 1.0, "b": []}}, [])


def test_arguments_keep_the_spelling_of_the_model() -> None:
    """gemini.request.21, gemini.hard.4"""
    arguments = '{"b": 1.0, "a": 12345678901234567890, "c": 1e2}'
    body, _ = wire.encode_request(Request(model=OLD, input=[user("Hi"), call("c1", "f", arguments), output("c1")]))
    found: Any = body.contents[1].parts
    assert bytes(found[0].function_call.args).decode() == arguments


@pytest.mark.parametrize(
    ("arguments", "args", "lost"),
    [
        ("", {}, []),
        ("[1]", {"INVALID_JSON": "[1]"}, ["input[1].arguments (changed)"]),
        ("{oops", {"INVALID_JSON": "{oops"}, ["input[1].arguments (changed)"]),
    ],
)
def test_arguments_that_are_no_object_are_sent_in_one(arguments: str, args: Any, lost: list[str]) -> None:
    """gemini.request.22"""
    assert asked_for(arguments) == ({"id": "c1", "name": "f", "args": args}, lost)


def test_an_output_is_an_object_with_the_name_of_its_call() -> None:
    """gemini.request.23"""
    asked = [user("Hi"), call("c1", "lookup"), call("c2"), call("c3")]
    given = [output("c1", "[1, 2]"), output("c2", "no such city", is_error=True), output("c3", "")]
    found, lost = contents(*asked, *given)
    assert found[2] == theirs(
        gave("c1", {"output": "[1, 2]"}, "lookup"),
        gave("c2", {"error": "no such city"}),
        gave("c3", {"output": ""}),
    )
    assert lost == []


def test_outputs_stand_together_behind_their_calls_and_in_their_order() -> None:
    """gemini.request.24, BUGS 31"""
    found, lost = contents(user("Hi"), call("c1"), call("c2"), output("c2", "2"), user("Hurry."), output("c1", "1"))
    assert found == [
        theirs("Hi"),
        model(called("c1"), called("c2")),
        theirs(gave("c1", {"output": "1"}), gave("c2", {"output": "2"})),
        theirs("Hurry."),
    ]
    assert lost == ["input[5] (emulated)"]


def test_calls_without_outputs_and_outputs_without_calls_are_refused() -> None:
    """gemini.request.25, gemini.hard.2: the vendor counts them."""
    assert contents(user("Hi"), call("c1"))[1] == ["input[1] (refused)"]
    assert contents(user("Hi"), output("c1")) == (
        [theirs("Hi"), theirs(gave("c1", {"output": "4"}, "c1"))],
        ["input[1] (refused)"],
    )
    assert contents(call("c1"), output("c1"))[1] == ["input (refused)"]


def test_media_of_an_output_stand_inside_it_or_beside_it() -> None:
    """gemini.request.26"""
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    sound = {"inlineData": {"mimeType": "audio/wav", "data": "BBBB"}}
    shot = [
        InputText(text="a"),
        InputText(text="b"),
        InputImage(image_url=PNG),
        InputAudio(input_audio=AudioData(data="BBBB", format="wav")),
    ]
    items = [user("Hi"), call("c1"), output("c1", shot)]
    found, lost = contents(*items, model=BUDGETED)
    assert found[2] == theirs(gave("c1", {"output": "a\nb"}), image, sound)
    assert lost == ["input[2].output (changed)"] * 3
    found, lost = contents(*items, model=THREE)
    inside = gave("c1", {"output": "a\nb"})
    inside["functionResponse"]["parts"] = [image]
    assert found[2] == theirs(inside, sound)
    assert lost == ["input[1] (emulated)"] + ["input[2].output (changed)"] * 2


def test_an_image_of_an_output_tells_neither_its_detail_nor_a_failure() -> None:
    """gemini.request.26"""
    shot = [InputImage(image_url=PNG, detail="high")]
    found, lost = contents(user("Hi"), call("c1"), output("c1", shot, is_error=True), model=THREE)
    assert found[2]["parts"][0]["functionResponse"]["response"] == {"error": ""}
    assert lost == ["input[1] (emulated)", "input[2].output (dropped)", "input[2].output (changed)"]


def test_custom_calls_are_calls_with_one_text() -> None:
    """gemini.request.27"""
    found, lost = contents(
        user("Hi"),
        CustomToolCall(call_id="c1", name="sh", input="ls"),
        CustomToolCallOutput(call_id="c1", output="a.txt"),
    )
    assert found[1:] == [
        model(called("c1", "sh", {"input": "ls"})),
        theirs(gave("c1", {"output": "a.txt"}, "sh")),
    ]
    assert lost == ["input[1] (emulated)", "input[2] (emulated)"]


def test_who_made_a_call_and_that_it_runs_apart_is_not_told() -> None:
    """gemini.request.28"""
    item = call("c1")
    item.caller, item.async_ = ByProgram(caller_id="p"), True
    assert contents(user("Hi"), item, output("c1"))[1] == ["input[1].caller (dropped)", "input[1].async (dropped)"]


# --- everything else ------------------------------------------------------------------------------------------------


def test_reasoning_of_others_stays_behind() -> None:
    """gemini.request.29, BUGS 3, BUGS 4"""
    assert contents(
        user("Hi"),
        Reasoning(summary=[SummaryText(text="Hm.")]),
        Reasoning(summary=[], encrypted_content="gAAAA"),
        said("Yo"),
        user("So?"),
    ) == ([theirs("Hi"), model({"text": "Yo"}), theirs("So?")], ["input[1] (dropped)", "input[2] (withheld)"])


def test_tools_another_vendor_ran_are_not_rebuilt() -> None:
    """gemini.request.30"""
    search = WebSearchCall(id="ws_1", status="completed", action=Search(queries=["q"]))
    shell = LocalShellCall(id="sh_1", call_id="c", status="completed", action={"type": "exec"})
    assert contents(user("Hi"), search, shell, said("Yo"), user("So?")) == (
        [theirs("Hi"), model({"text": "Yo"}), theirs("So?")],
        ["input[1] (dropped)", "input[2] (dropped)"],
    )


def test_an_image_that_was_drawn_is_shown_to_the_model_again() -> None:
    """gemini.request.31"""
    drawn = ImageGenerationCall(id="ig_1", status="completed", result="AAAA", output_format="webp", size="1x1")
    found, lost = contents(user("Draw."), drawn, user("Bluer."), model="gemini-2.5-flash-image")
    assert found[1] == model({"inlineData": {"mimeType": "image/webp", "data": "AAAA"}})
    assert lost == ["input[1].size (dropped)"]


def test_what_only_a_server_with_a_memory_knows_is_refused() -> None:
    """gemini.request.32"""
    assert contents(user("Hi"), ItemReference(id="msg_1"), CompactionTrigger(), Compaction(encrypted_content="x")) == (
        [theirs("Hi")],
        ["input[1] (refused)", "input[2] (refused)", "input[3] (withheld)"],
    )


def test_tools_added_later_are_offered_from_the_beginning() -> None:
    """gemini.request.33"""
    later = AdditionalTools(role="developer", tools=[FunctionTool(name="f")])
    body, lost = sent(Request(model=THREE, input=[user("Hi"), later]))
    assert (body["tools"], lost) == ([{"functionDeclarations": [{"name": "f"}]}], ["input[1] (emulated)"])
