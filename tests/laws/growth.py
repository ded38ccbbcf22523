"""Documents that grow: one shape at any size, in the JSON of every wire.

A history is a list of `Move`s, and each wire has a speller that writes them down; answers are lists of Responses items, and
where only a vendor itself writes such a thing, its own documents. `n` is what grows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Plain = dict[str, Any]


class Move(NamedTuple):
    """One step of a conversation: its kind, and what it says: a number of texts or images, or the ids of calls."""

    kind: str
    says: Any = 1


def calls(*ids: str) -> Move:
    return Move("calls", ids)


def outputs(*ids: str) -> Move:
    return Move("outputs", ids)


def ids(n: int) -> list[str]:
    return [f"call_{i}" for i in range(n)]


USER, SAID, SYSTEM, THOUGHT = Move("user"), Move("said"), Move("system"), Move("thought")

HISTORIES: dict[str, Callable[[int], list[Move]]] = {
    "a long conversation": lambda n: [USER, SAID] * n,
    "calls with one id, each answered": lambda n: [USER, *[calls("call_0"), outputs("call_0")] * n],
    "calls with one id, all answered at the end": lambda n: [USER, *[calls("call_0")] * n, *[outputs("call_0")] * n],
    "calls with one id, texts between them": lambda n: [USER, *[calls("call_0"), SAID] * n, *[outputs("call_0")] * n],
    "parallel calls answered in order": lambda n: [USER, calls(*ids(n)), outputs(*ids(n))],
    "parallel calls answered in reverse": lambda n: [USER, calls(*ids(n)), outputs(*ids(n)[::-1])],
    "parallel calls with one id": lambda n: [USER, calls(*["call_0"] * n), outputs(*["call_0"] * n)],
    "calls answered turns later": lambda n: [USER, *map(calls, ids(n)), SAID, outputs(*ids(n)[::-1])],
    "calls answered after the next message": lambda n: [
        move for id in ids(n) for move in (USER, calls(id), USER, outputs(id))
    ],
    "calls without outputs": lambda n: [move for id in ids(n) for move in (USER, calls(id))],
    "outputs without calls": lambda n: [USER, *map(outputs, ids(n)), calls("c"), outputs("c")],
    "outputs with the id of one call": lambda n: [USER, calls("call_0"), *[outputs("call_0")] * n],
    "many texts in one message": lambda n: [Move("user", n)],
    "many images in one message": lambda n: [Move("images", n)],
    "many users in a row": lambda n: [USER] * n,
    "many answers in a row": lambda n: [USER, *[SAID] * n, USER],
    "many texts in one answer": lambda n: [USER, Move("said", n), USER],
    "many thoughts": lambda n: [USER, *[THOUGHT] * n, SAID, USER],
    "thoughts and calls by turns": lambda n: [
        USER,
        *(move for id in ids(n) for move in (THOUGHT, calls(id), outputs(id))),
    ],
    "many citations": lambda n: [USER, Move("cited", n), USER],
    "system messages in a row": lambda n: [*[SYSTEM] * n, USER, *[SYSTEM] * n],
    "system messages in between": lambda n: [USER, SAID, SYSTEM] * n,
    "system messages between calls": lambda n: [
        USER,
        *(move for id in ids(n) for move in (calls(id), SYSTEM, outputs(id))),
    ],
    "unknown items": lambda n: [USER, *[Move("unknown")] * n, SAID],
    "tools of a vendor": lambda n: [USER, *[Move("hosted")] * n, SAID, USER],
    "tools of a vendor between thoughts": lambda n: [USER, *[Move("hosted"), THOUGHT] * n, SAID, USER],
    "everything by turns": lambda n: [
        move
        for id in ids(n)
        for move in (SYSTEM, USER, THOUGHT, SAID, calls(id, f"{id}b"), outputs(f"{id}b", id), Move("images", 2))
    ],
    "many tools": lambda n: [USER, Move("tools", n)],
}
"""Histories, each by what grows in it."""

PNG = "iVBORw0KGgo="
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def texts(n: int, **part: Any) -> list[Plain]:
    return [{**part, "text": f"text {i}"} for i in range(n)]


def words(n: int) -> str:
    return " ".join(part["text"] for part in texts(n))


def document(moves: list[Move], spell: Callable[[Move], list[Plain]], field: str, **rest: Any) -> Plain:
    """A request with the messages of all moves but the tools, which it offers."""
    said = [message for move in moves if move.kind != "tools" for message in spell(move)]
    return {field: said, **rest}


def names(moves: list[Move]) -> list[str]:
    return [f"tool_{i}" for move in moves if move.kind == "tools" for i in range(move.says)]


def in_responses(moves: list[Move]) -> Plain:
    def spell(move: Move) -> list[Plain]:
        n = move.says
        match move.kind:
            case "user" | "system":
                return [{"type": "message", "role": move.kind, "content": texts(n, type="input_text")}]
            case "images":
                image = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}
                return [{"type": "message", "role": "user", "content": [image] * n}]
            case "said":
                return [message(texts(n, type="output_text", annotations=[]))]
            case "cited":
                return [cited(n)]
            case "thought":
                return [thought()]
            case "calls":
                return [call(id) for id in n]
            case "outputs":
                return [{"type": "function_call_output", "call_id": id, "output": "4"} for id in n]
            case "hosted":
                return [hosted()]
            case _:
                return [{"type": "novel_item", "what": "new"}]

    tools = [{"type": "function", "name": name, "parameters": SCHEMA, "strict": False} for name in names(moves)]
    return document(moves, spell, "input", model="gpt-5.2", tools=tools)


def in_chat(moves: list[Move]) -> Plain:
    def spell(move: Move) -> list[Plain]:
        n = move.says
        match move.kind:
            case "user" | "system":
                return [{"role": move.kind, "content": texts(n, type="text")}]
            case "images":
                image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
                return [{"role": "user", "content": [image] * n}]
            case "said":
                return [{"role": "assistant", "content": texts(n, type="text")}]
            case "cited":
                return [{"role": "assistant", "content": words(n), "annotations": [annotation()] * n}]
            case "thought":
                return [{"role": "assistant", "content": None, "reasoning_content": "Hm."}]
            case "calls":
                made = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in n]
                return [{"role": "assistant", "content": None, "tool_calls": made}]
            case "outputs":
                return [{"role": "tool", "tool_call_id": id, "content": "4"} for id in n]
            case _:
                return [{"role": "novel", "content": "new", move.kind: True}]

    tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in names(moves)]
    return document(moves, spell, "messages", model="gpt-5.2", tools=tools)


def in_anthropic(moves: list[Move]) -> Plain:
    def spell(move: Move) -> list[Plain]:
        n = move.says
        match move.kind:
            case "user" | "system":
                return [{"role": move.kind, "content": texts(n, type="text")}]
            case "images":
                source = {"type": "base64", "media_type": "image/png", "data": PNG}
                return [{"role": "user", "content": [{"type": "image", "source": source}] * n}]
            case "outputs":
                results = [{"type": "tool_result", "tool_use_id": id, "content": "4"} for id in n]
                return [{"role": "user", "content": results}]
            case _:
                return [{"role": "assistant", "content": blocks(move)}]

    tools = [{"name": name, "input_schema": SCHEMA} for name in names(moves)]
    return document(moves, spell, "messages", model="claude-opus-4-8", max_tokens=1000, tools=tools)


def blocks(move: Move) -> list[Plain]:
    """What the model said, in blocks of Anthropic's."""
    n = move.says
    match move.kind:
        case "said":
            return texts(n, type="text")
        case "cited":
            page = {"type": "web_search_result_location", "url": "https://a.b", "title": "t", "cited_text": "c"}
            return [{"type": "text", "text": words(n), "citations": [{**page, "encrypted_index": "e"}] * n}]
        case "thought":
            return [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]
        case "calls":
            return [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in n]
        case "hosted":
            search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
            return [search, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}]
        case _:
            return [{"type": "novel_block", "what": "new"}]


def in_gemini(moves: list[Move]) -> Plain:
    def spell(move: Move) -> list[Plain]:
        n = move.says
        match move.kind:
            case "user" | "system":
                return [{"role": "user", "parts": texts(n)}]
            case "images":
                return [{"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}] * n}]
            case "outputs":
                responses = [{"functionResponse": {"id": id, "name": "f", "response": {"a": 1}}} for id in n]
                return [{"role": "user", "parts": responses}]
            case _:
                return [{"role": "model", "parts": parts(move)}]

    declared = [{"name": name, "parametersJsonSchema": SCHEMA} for name in names(moves)]
    return document(moves, spell, "contents", tools=[{"functionDeclarations": declared}])


def parts(move: Move) -> list[Plain]:
    """What the model said, in parts of Gemini's."""
    match move.kind:
        case "said" | "cited":
            return texts(move.says)
        case "thought":
            return [{"text": "Hm.", "thought": True, "thoughtSignature": "c2ln"}]
        case "calls":
            return [{"functionCall": {"id": id, "name": "f", "args": {}}} for id in move.says]
        case "hosted":
            call = {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}, "thoughtSignature": "c2ln"}
            return [call, {"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {}}}]
        case _:
            return [{"novelPart": {"what": "new"}}]


def in_ollama(moves: list[Move]) -> Plain:
    def spell(move: Move) -> list[Plain]:
        n = move.says
        match move.kind:
            case "user" | "system":
                return [{"role": move.kind, "content": words(n)}]
            case "images":
                return [{"role": "user", "content": "", "images": [PNG] * n}]
            case "outputs":
                return [{"role": "tool", "content": "4", "tool_name": "f", "tool_call_id": id} for id in n]
            case "said" | "cited":
                return [{"role": "assistant", "content": words(n)}]
            case "thought":
                return [{"role": "assistant", "content": "", "thinking": "Hm."}]
            case "calls":
                made = [{"id": id, "function": {"name": "f", "arguments": {}}} for id in n]
                return [{"role": "assistant", "content": "", "tool_calls": made}]
            case _:
                return [{"role": "novel", "content": "new", move.kind: True}]

    tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in names(moves)]
    return document(moves, spell, "messages", model="qwen3:8b", tools=tools)


SPELLERS: dict[str, Callable[[list[Move]], Plain]] = {
    "openai_responses": in_responses,
    "openai_chat": in_chat,
    "anthropic_messages": in_anthropic,
    "gemini_generate_content": in_gemini,
    "ollama_chat": in_ollama,
}
"""How each wire writes a history."""


def without_ids(n: int, answered: Callable[[int], str]) -> Plain:
    """Calls of Gemini's without ids, and their outputs in reverse under the names that `answered` gives."""
    made = [{"functionCall": {"name": f"f{i}", "args": {}}} for i in range(n)]
    gave = [{"functionResponse": {"name": answered(i), "response": {"a": 1}}} for i in reversed(range(n))]
    return {"contents": [{"role": "model", "parts": made}, {"role": "user", "parts": gave}]}


OWN_HISTORIES: dict[str, Callable[[int], Plain]] = {
    "calls without ids": lambda n: without_ids(n, lambda i: f"f{i}"),
    "outputs of calls that nobody made": lambda n: without_ids(n, lambda i: "g"),
}
"""Histories as only clients of Gemini write them."""


# --- answers --------------------------------------------------------------------------------------------------------


def message(content: list[Plain]) -> Plain:
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


def annotation() -> Plain:
    return {"type": "url_citation", "url": "https://a.b", "title": "t", "start_index": 0, "end_index": 4}


def cited(n: int) -> Plain:
    return message([{"type": "output_text", "text": words(n), "annotations": [annotation()] * n}])


def thought() -> Plain:
    content = [{"type": "reasoning_text", "text": "Hm."}]
    return {"type": "reasoning", "id": "rs_1", "summary": [], "content": content, "encrypted_content": "gAAA"}


def call(id: str) -> Plain:
    return {
        "type": "function_call",
        "id": f"fc_{id}",
        "call_id": id,
        "name": "f",
        "arguments": '{"a":1}',
        "status": "completed",
    }


def hosted() -> Plain:
    return {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}


def said() -> Plain:
    return message(texts(1, type="output_text", annotations=[]))


def scored(n: int) -> Plain:
    logprobs = [{"token": "a", "bytes": [97], "logprob": -1.0, "top_logprobs": []} for _ in range(n)]
    return message([{"type": "output_text", "text": "a" * n, "annotations": [], "logprobs": logprobs}])


ANSWERS: dict[str, Callable[[int], list[Plain]]] = {
    "messages": lambda n: [said() for _ in range(n)],
    "texts in one message": lambda n: [message(texts(n, type="output_text", annotations=[]))],
    "calls": lambda n: [call(id) for id in ids(n)],
    "calls with one id": lambda n: [call("call_0") for _ in range(n)],
    "thoughts": lambda n: [*[thought() for _ in range(n)], said()],
    "thoughts, texts and calls by turns": lambda n: [item for id in ids(n) for item in (thought(), said(), call(id))],
    "one thought in parts": lambda n: [{**thought(), "content": texts(n, type="reasoning_text")}, said()],
    "one thought in a summary of parts": lambda n: [
        {"type": "reasoning", "id": "rs_1", "summary": texts(n, type="summary_text")},
        said(),
    ],
    "citations": lambda n: [cited(n)],
    "cited messages": lambda n: [cited(1) for _ in range(n)],
    "log probabilities": lambda n: [scored(n)],
    "refusals": lambda n: [message([{"type": "refusal", "refusal": "No."}]) for _ in range(n)],
    "tools of a vendor": lambda n: [*[hosted() for _ in range(n)], said()],
    "tools of a vendor between thoughts": lambda n: [item for _ in range(n) for item in (hosted(), thought())],
    "unknown items": lambda n: [*[{"type": "novel_item", "what": "new"} for _ in range(n)], said()],
}
"""Answers in Responses, each by what grows in it."""


def by_anthropic(content: list[Plain]) -> Plain:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-8",
        "content": content,
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def by_gemini(content: list[Plain]) -> Plain:
    candidate = {"content": {"role": "model", "parts": content}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "modelVersion": "m", "responseId": "r1"}


def cited_by_gemini(i: int) -> Plain:
    document = by_gemini([{"text": "a"}])
    document["candidates"][0]["citationMetadata"] = {"citationSources": [{"uri": f"https://a.test/{i}"}]}
    return document


def by_chat(**said: Any) -> Plain:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **said}}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


OWN_ANSWERS: dict[str, dict[str, Callable[[int], Plain]]] = {
    "openai_responses": {},
    "openai_chat": {
        "thoughts in entries": lambda n: by_chat(
            content="a",
            reasoning_details=[{"type": "reasoning.text", "text": "Hm.", "signature": "c2ln", "index": 0}] * n,
        ),
        "thoughts in entries of ours": lambda n: by_chat(
            content="a",
            reasoning_details=[
                {"type": "reasoning.text", "text": "t", "format": "llm_rest", "id": f"{i // 2}"} for i in range(n)
            ],
        ),
    },
    "anthropic_messages": {
        kind: (lambda n, kind=kind: by_anthropic([block for _ in range(n) for block in blocks(Move(kind))]))
        for kind in ("said", "cited", "thought", "hosted", "unknown")
    }
    | {
        "tools of the vendor between texts": lambda n: by_anthropic(
            [block for _ in range(n) for block in (*blocks(Move("hosted")), *blocks(Move("cited")))]
        ),
        "hidden thoughts": lambda n: by_anthropic([{"type": "redacted_thinking", "data": "c2ln"}] * n),
    },
    "gemini_generate_content": {
        kind: (lambda n, kind=kind: by_gemini([part for _ in range(n) for part in parts(Move(kind))]))
        for kind in ("said", "thought", "hosted", "unknown")
    }
    | {
        "signed calls": lambda n: by_gemini([{**parts(calls(id))[0], "thoughtSignature": "c2ln"} for id in ids(n)]),
        "texts with signatures behind them": lambda n: by_gemini(
            [part for i in range(n) for part in ({"text": f"{i}"}, {"text": "", "thoughtSignature": "c2ln"})]
        ),
    },
    "ollama_chat": {},
}
"""Answers as only their vendors write them."""


# --- streams --------------------------------------------------------------------------------------------------------


def stream_of_anthropic(*events: Plain) -> list[Plain]:
    start = {"type": "message_start", "message": {**by_anthropic([]), "stop_reason": None}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}
    return [start, *events, end, {"type": "message_stop"}]


def block(index: int, begun: Plain, *deltas: Plain) -> list[Plain]:
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def side_by_side(n: int) -> list[Plain]:
    """Blocks that all begin before any goes on, and go on in reverse."""
    made = [block(i, {"type": "text", "text": ""}, {"type": "text_delta", "text": "a"}) for i in range(n)]
    return [*(events[0] for events in made), *(event for events in made[::-1] for event in events[1:])]


def chat_chunks(*deltas: Plain) -> list[Plain]:
    def chunk(delta: Plain, reason: str | None = None) -> Plain:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}

    return [*map(chunk, deltas), chunk({}, "stop")]


def chat_call(index: int, text: str, **more: Any) -> Plain:
    return {"tool_calls": [{"index": index, "function": {"arguments": text, **more.pop("function", {})}, **more}]}


def chat_calls_side_by_side(n: int) -> list[Plain]:
    begun = [chat_call(i, "", id=f"call_{i}", type="function", function={"name": "f"}) for i in range(n)]
    return chat_chunks(*begun, *(chat_call(i, text) for text in ("{", "}") for i in reversed(range(n))))


def ollama_lines(*messages: Plain) -> list[Plain]:
    line = {"model": "m", "created_at": "2026-09-21T14:13:20Z", "done": False}
    said = [{**line, "message": {"role": "assistant", **message}} for message in messages]
    return [*said, {**line, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}]


def ollama_call(id: str) -> Plain:
    return {"content": "", "tool_calls": [{"id": id, "function": {"name": "f", "arguments": {}}}]}


OWN_STREAMS: dict[str, dict[str, Callable[[int], list[Plain]]]] = {
    "openai_responses": {},
    "openai_chat": {
        "pieces of one text": lambda n: chat_chunks(*[{"content": "a"}] * n),
        "pieces of one thought": lambda n: chat_chunks(*[{"reasoning_content": "a"}] * n),
        "thoughts and texts by turns": lambda n: chat_chunks(*[{"reasoning_content": "a"}, {"content": "a"}] * n),
        "pieces of one call": lambda n: chat_chunks(
            chat_call(0, "", id="call_0", type="function", function={"name": "f"}),
            *[chat_call(0, " ")] * n,
            chat_call(0, "{}"),
        ),
        "calls side by side": chat_calls_side_by_side,
    },
    "anthropic_messages": {
        "pieces of one text": lambda n: stream_of_anthropic(
            *block(0, {"type": "text", "text": ""}, *[{"type": "text_delta", "text": "a"}] * n)
        ),
        "citations": lambda n: stream_of_anthropic(
            *block(
                0,
                {"type": "text", "text": "", "citations": []},
                *[{"type": "citations_delta", "citation": blocks(Move("cited"))[0]["citations"][0]}] * n,
                {"type": "text_delta", "text": "a"},
            )
        ),
        "pieces of one call": lambda n: stream_of_anthropic(
            *block(
                0,
                {"type": "tool_use", "id": "c", "name": "f", "input": {}},
                *[{"type": "input_json_delta", "partial_json": " "}] * n,
                {"type": "input_json_delta", "partial_json": "{}"},
            )
        ),
        "tools of the vendor": lambda n: stream_of_anthropic(
            *(event for i in range(n) for each in blocks(Move("hosted")) for event in block(2 * i, each))
        ),
        "unknown blocks": lambda n: stream_of_anthropic(
            *(event for i in range(n) for event in block(i, {"type": "novel_block", "what": "new"}))
        ),
        "unknown events": lambda n: stream_of_anthropic(*[{"type": "novel_event", "what": "new"}] * n),
        "blocks side by side": lambda n: stream_of_anthropic(*side_by_side(n)),
        "new counts": lambda n: stream_of_anthropic(
            *[{"type": "message_delta", "delta": {}, "usage": {"output_tokens": 1}}] * n
        ),
    },
    "gemini_generate_content": {
        "pieces of one text": lambda n: [by_gemini([{"text": "a"}])] * n,
        "pieces of one thought": lambda n: [by_gemini([{"text": "a", "thought": True}])] * n,
        "thoughts and texts by turns": lambda n: [by_gemini([*parts(THOUGHT), {"text": "a"}])] * n,
        "calls": lambda n: [by_gemini(parts(calls(id))) for id in ids(n)],
        "tools of the vendor": lambda n: [by_gemini(parts(Move("hosted")))] * n,
        "cited texts": lambda n: [cited_by_gemini(i) for i in range(n)],
    },
    "ollama_chat": {
        "pieces of one text": lambda n: ollama_lines(*[{"content": "a"}] * n),
        "spaces": lambda n: ollama_lines(*[{"content": " "}] * n, {"content": "a"}),
        "thoughts and texts by turns": lambda n: ollama_lines(*[{"thinking": "a"}, {"content": "a"}] * n),
        "calls": lambda n: ollama_lines(*map(ollama_call, ids(n))),
        "calls with one id": lambda n: ollama_lines(*[ollama_call("call_0")] * n),
    },
}
"""Streams as only their vendors tell them."""
