"""Answers that a vendor gives in several hops: continued, streamed where they may be long, and resumed where they broke off.

Over real connections on this machine, by every kind of client.
"""

from __future__ import annotations

import json
import re
import time
from typing import Any, NamedTuple

import pytest

from llm_rest.errors import APITimeoutError, BadRequestError, LLMError, StreamInterruptedError
from llm_rest.responses import OutputTextDelta
from llm_rest.transport import Timeouts
from llm_rest.transport.retry import RetryPolicy
from tests.callers import NewClient
from tests.loopback import END as LAST
from tests.loopback import STREAM, chunks, http, loopback, reset, send, send_and_close, send_and_stall

pytestmark = pytest.mark.anyio

MODEL = "google/gemini-4-argon"


def document(*parts: Any, token: str = "", finish: str = "", usage: Any = None) -> Any:
    """A whole answer, or a chunk of a stream."""
    said = [{"text": part} if isinstance(part, str) else part for part in parts]
    candidate: Any = {"index": 0}
    candidate |= {"content": {"role": "model", "parts": said}} if said else {}
    candidate |= {"continuationToken": token} if token else {}
    candidate |= {"finishReason": finish} if finish else {}
    found = {"candidates": [candidate], "modelVersion": "gemini-4-argon", "responseId": "r"}
    return found | ({"usageMetadata": usage} if usage else {})


def counts(prompt: int, spoken: int, thoughts: int = 0) -> Any:
    found = {"promptTokenCount": prompt, "candidatesTokenCount": spoken, "totalTokenCount": prompt + spoken + thoughts}
    details = [{"modality": "TEXT", "tokenCount": prompt}]
    return found | {"promptTokensDetails": details} | ({"thoughtsTokenCount": thoughts} if thoughts else {})


def whole(*parts: Any, **about: Any) -> Any:
    return send(http(json.dumps(document(*parts, **about)).encode(), "200 OK", "content-type: application/json"))


def frames(*documents: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(one).encode() + b"\r\n\r\n" for one in documents)


def streamed(*documents: Any) -> Any:
    """A stream that comes to its end."""
    return send(STREAM + chunks(frames(*documents)) + LAST)


def broken(*documents: Any) -> Any:
    """A stream whose connection breaks off."""
    return send_and_close(STREAM + (chunks(frames(*documents)) if documents else b""))


def open_after(*documents: Any) -> Any:
    """A stream that nothing ends."""
    return send_and_stall(STREAM + chunks(frames(*documents)))


def refused(status: int, message: str) -> bytes:
    word = "INVALID_ARGUMENT" if status == 400 else "UNAVAILABLE"
    error = {"error": {"code": status, "message": message, "status": word}}
    return http(json.dumps(error).encode(), f"{status} No")


BUSY, EXPIRED = refused(503, "Busy."), refused(400, "Token expired.")


async def text_of(client: Any, **options: Any) -> tuple[str, Any]:
    """The texts of a stream as they came, and its response."""
    said: list[str] = []
    async with client.stream("Write.", **options) as stream:
        async for event in stream:
            if isinstance(event, OutputTextDelta):
                said.append(event.delta)
    return "".join(said), stream.response


def asked(server: Any) -> list[tuple[str, Any]]:
    """The path and the body of every request."""
    paths = [head.split(b" ")[1].decode() for head in server.heads]
    return list(zip(paths, map(json.loads, server.bodies), strict=True))


# --- hops -----------------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """What the server sends, the text of the answer, and the token that each request had."""

    acts: list[Any]
    text: str
    tokens: list[str | None]
    error: tuple[type[LLMError], str] | None = None
    usage: tuple[int, ...] | None = None
    losses: tuple[tuple[str, str], ...] = ()
    status: str = "completed"
    outcomes: list[str] | None = None


ONE_WHOLE = whole("One ", token="T1", finish="CONTINUATION", usage=counts(1, 2))
DONE = document("two.", finish="STOP", usage=counts(70, 9))
LONG: dict[str, Any] = {"max_output_tokens": 65_536, "reasoning": {"effort": "high"}}
"""Gemini 4 refuses more than 32,768 tokens without a stream."""

RETRIED = ["stream_interrupted", "200"]
WHOLE: dict[str, tuple[dict[str, Any], Case]] = {
    "continued by the same request with its token": ({"max_output_tokens": 30_000}, Case(
        [
            whole("One ", token="T1", finish="CONTINUATION", usage=counts(10, 100, 5)),
            whole("two ", token="T2", finish="CONTINUATION", usage=counts(110, 50)),
            whole("three.", finish="STOP", usage=counts(160, 7)),
        ],
        "One two three.", [None, "T1", "T2"], usage=(280, 162, 5),
    )),
    "more of MAX_TOKENS needs a higher limit, which is the caller's to give": ({}, Case(
        [whole("One", token="T1", finish="MAX_TOKENS")], "One", [None], status="incomplete",
    )),
    "the same token twice ends the answer": ({}, Case(
        [whole("One", token="T1", finish="CONTINUATION")], "OneOne", [None, "T1"], status="incomplete",
    )),
    "the next hop is refused": ({}, Case(
        [ONE_WHOLE, send(EXPIRED)], "One ", [None, "T1"], (BadRequestError, "Token expired"), usage=(1, 2, 0),
    )),
    "all hops share one deadline": ({"timeout": 0.5}, Case(
        [ONE_WHOLE, send_and_stall(b"")], "One ", [None, "T1"], (APITimeoutError, ""),
    )),
    "streamed where it may be long": (LONG, Case(
        [
            streamed(document("One ", usage=counts(10, 1)), document(token="T1", finish="CONTINUATION", usage=counts(10, 60))),
            streamed(DONE),
        ],
        "One two.", [None, "T1"], usage=(80, 69, 0),
    )),
    **{
        f"a stream that breaks off after {len(came)} chunks is retried, nothing of it was returned": (LONG, Case(
            [broken(*came), streamed(document("One "), DONE)], "One two.", [None, None], outcomes=RETRIED,
        ))
        for came in ([], [document("One ")], [document("One "), document("two ")])
    },
}  # fmt: skip
"""The options of a call, and what it returns."""


@pytest.mark.parametrize(("model", "tokens"), [("gemini-4-argon", 32_768), ("gemini-3.8-flash", 65_536)])
async def test_other_answers_come_whole(new_client: NewClient, model: str, tokens: int) -> None:
    with loopback(whole("One", finish="STOP")) as server:
        async with new_client(f"google/{model}", base_url=server.url) as client:
            reply = await client.generate("Write.", max_output_tokens=tokens)
    assert (reply.output_text, reply.info.metadata["api_calls"]) == ("One", "1")
    ((path, body),) = asked(server)
    assert (path.rpartition(":")[2], body["generationConfig"]["maxOutputTokens"]) == ("generateContent", tokens)


# --- streams ------------------------------------------------------------------------------------------------------------

ONE = broken(document("One ", token="T1"))
CONTINUED = document("One ", token="T1", finish="CONTINUATION")
LAST_OF_TWO = streamed(document("two.", finish="STOP"))
LAST_OF_THREE = streamed(document("three."), document(finish="STOP", usage=counts(18, 2)))
INTERRUPTED = (StreamInterruptedError, "broke off|ended")
STREAMED = {
    "a hop follows the other": Case(
        [
            streamed(
                document("One ", usage=counts(10, 1)),
                document("two ", token="T1", finish="CONTINUATION", usage=counts(10, 8)),
            ),
            LAST_OF_THREE,
        ],
        "One two three.", [None, "T1"], usage=(28, 10, 0),
    ),
    "resumed at the last checkpoint, and what was counted by then was billed": Case(
        [broken(document("One ", token="T1"), document("two ", token="T2", usage=counts(10, 8))), LAST_OF_THREE],
        "One two three.", [None, "T2"], usage=(28, 10, 0),
    ),
    "text after the checkpoint is not repeated": Case(
        [
            broken(document("One ", token="T1"), document("two "), document("thr")),
            streamed(document("two"), document(" three."), document(finish="STOP")),
        ],
        "One two three.", [None, "T1"],
    ),
    "it just ends after a checkpoint": Case([streamed(document("One ", token="T1")), LAST_OF_TWO], "One two.", [None, "T1"]),
    "a hop is not streamed": Case([streamed(CONTINUED), whole("two.", finish="STOP")], "One two.", [None, "T1"]),
    "resumed three times at one checkpoint": Case(
        [ONE, broken(), broken(), broken(), LAST_OF_TWO], "One two.", [None, "T1", "T1", "T1", "T1"]
    ),
    "given up after that": Case([ONE, broken()], "One ", [None, "T1", "T1", "T1", "T1"], INTERRUPTED),
    "no checkpoint came": Case([broken(document("One "))], "One ", [None], INTERRUPTED),
    "a call came after it": Case(
        [broken(document("One ", token="T1"), document({"functionCall": {"name": "f"}}))], "One ", [None], INTERRUPTED
    ),
    "a hop with text has no checkpoint of its own": Case(
        [streamed(CONTINUED), broken(document("two "))], "One two ", [None, "T1"], INTERRUPTED
    ),
    "the next hop is refused": Case(
        [ONE, send(EXPIRED)], "One ", [None, "T1"], (BadRequestError, "Token expired"),
        outcomes=["stream_interrupted", "bad_request"],
    ),
    "a hop is retried like any request": Case(
        [ONE, send(BUSY), reset(), LAST_OF_TWO], "One two.", [None, "T1", "T1", "T1"]
    ),
    "an error in the middle, though a checkpoint came": Case(
        [streamed(document("One ", token="T1"), {"error": {"code": 500, "message": "Oh.", "status": "INTERNAL"}})],
        "One ", [None], (LLMError, "Oh"),
    ),
    "the connection breaks after the end": Case([broken(document("One.", finish="STOP"))], "One.", [None]),
    "more comes after the end": Case(
        [streamed(document("One ", finish="STOP"), document("two.", finish="STOP"))],
        "One two.", [None], losses=(("candidates[0].finishReason", "changed"),),
    ),
}  # fmt: skip


CASES = [
    *(pytest.param(options, case, id=f"whole: {name}") for name, (options, case) in WHOLE.items()),
    *(pytest.param(None, case, id=f"streamed: {name}") for name, case in STREAMED.items()),
]


@pytest.mark.parametrize(("options", "case"), CASES)
async def test_an_answer_of_several_hops_is_one_answer(
    new_client: NewClient, options: dict[str, Any] | None, case: Case
) -> None:
    """gemini.long.1, gemini.long.2, gemini.long.3, gemini.long.4, gemini.long.5, gemini.long.6, gemini.long.7 and
    gemini.stream.23
    """
    retry, said = RetryPolicy(attempts=3, base_delay=0), case.text
    known: Any
    with loopback(*case.acts) as server:
        async with new_client(MODEL, base_url=server.url, on_loss="ignore", retry=retry) as client:
            try:
                if options is None:
                    said, response = await text_of(client)
                else:
                    response = await client.generate("Write.", **options)
                known = response.info
            except LLMError as error:
                known, response = error, error.partial
    if case.error is None:
        assert (response.status, len(response.output)) == (case.status, 1)
        assert response.stop_reason == ("stop" if case.status == "completed" else "max_output_tokens")
        assert tuple((loss.path, loss.kind) for loss in known.losses) == case.losses
        assert options is None or known.metadata["api_calls"] == str(len(case.tokens) - (case.outcomes == RETRIED))
    else:
        assert isinstance(known, case.error[0])
        assert re.search(case.error[1], str(known))
    assert (response.output_text, said) == (case.text, case.text)
    bodies = [body for _, body in asked(server)]
    assert [body.pop("continuationToken", None) for body in bodies] == case.tokens
    assert all(body == bodies[0] for body in bodies), "the token stands beside the request, and no partial answer"
    verb = "streamGenerateContent?alt=sse" if options in (None, LONG) else "generateContent"
    assert all(path.endswith(f":{verb}") for path, _ in asked(server))
    outcomes = [attempt.outcome for attempt in known.attempts]
    assert outcomes == case.outcomes or (len(outcomes) == len(case.tokens) and case.outcomes is None)
    if case.usage is not None:
        used = response.usage
        details = used.output_tokens_details
        assert (used.input_tokens, used.output_tokens, details.reasoning_tokens if details else 0) == case.usage


async def test_the_deadline_of_a_stream_is_for_all_its_hops(new_client: NewClient) -> None:
    acts = [streamed(document("One ", token="T1", finish="CONTINUATION")), open_after(document("two "))]
    with loopback(*acts) as server:
        async with new_client(MODEL, base_url=server.url) as client:
            with pytest.raises(APITimeoutError) as raised:
                await text_of(client, timeout=Timeouts(total=0.6))
    assert (raised.value.phase, raised.value.partial.output_text) == ("total", "One two ")


# --- the end of a stream ------------------------------------------------------------------------------------------------


async def test_a_complete_answer_does_not_wait_for_the_end_of_the_body(
    new_client: NewClient,
) -> None:
    """gemini.long.8"""
    with loopback(open_after(document("One."), document(finish="STOP", usage=counts(1, 2)))) as server:
        async with new_client(MODEL, base_url=server.url) as client:
            began = time.monotonic()
            said, response = await text_of(client)
    assert (said, response.status, response.usage.output_tokens) == ("One.", "completed", 2)
    assert time.monotonic() - began < 6


async def test_a_host_that_writes_an_end_into_every_chunk_is_waited_for(new_client: NewClient) -> None:
    def slow(connection: Any, server: Any) -> bool:
        connection.sendall(STREAM + chunks(frames(document("One ", finish="STOP"), document("two ", finish="STOP"))))
        time.sleep(2.2)
        connection.sendall(chunks(frames(document("three.", finish="STOP"))) + LAST)
        return True

    with loopback(slow) as server:
        async with new_client(MODEL, base_url=server.url, on_loss="ignore") as client:
            assert (await text_of(client))[0] == "One two three."
