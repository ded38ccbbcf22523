"""The programs in `examples/` run against the simulator, are small, and stand in the documentation as they are."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.examples import PAGES, ROOT

PROGRAMS = sorted((ROOT / "examples").glob("*.py"))

REQUEST = '{"model": "m", "max_tokens": 9, "top_k": 4, "messages": [{"role": "user", "content": "Hi"}]}\n'

SEARCH = """\
call search {"word": "attempts"}
call read {"file": "../outside.md"}
json {"text": "attempts", "sources": ["retries.md"]}"""

RUNS: dict[str, tuple[list[str], str, list[str]]] = {
    "answer_cache": ([], "", ["Hello. 1 request\nHello. from the cache\nBye. 1 request"]),
    "any_client": ([], "", ["200 /v1/responses", "200 /v1/messages", "200 /v1beta/models/any:generateContent"]),
    "convert_requests": ([], REQUEST, ['"max_completion_tokens":9', "line 1: top_k: "]),
    "fake_model": ([], "", ["passed"]),
    "fallback": (
        [],
        "",
        ["Good morning!\n  ollama/qwen3:8b: connect\n  simulator/demo: 200\nAnd again.\n  simulator/demo: 200"],
    ),
    "many_calls": ([], "", ["retry after", "99 answers, 990 tokens", "failed: This one fails. (2 requests)"]),
    "questions_over_files": (["docs", SEARCH, "simulator/demo"], "", ["attempts\nsources:\nretries.md"]),
    "record_replay": ([], "", ["recorded: Good morning.\nreplayed: Good morning.\ncut off:  ConnectError"]),
    "rate_limits": ([], "", ["20 answers", "requests waited for: 4 requests at once", "of 600 left"]),
    "budget": ([], "", ["answer 3: $0.000126", "stopped: the budget of $0.0013", "<Budget: spent $0.00"]),
    "switch_vendors": ([], "", ["simulator/demo: Hello.", "simulator/demo: Bye.\n  items[3]: reasoning"]),
    "terminal_chat": ([], "say Hello.\nfail 401\nsay Bye.\n", ["> Hello.\n> error: ", "> Bye.\n> "]),
    "tracing": ([], "", ["invoke_agent traveller\n  chat demo (8 output", "\n  execute_tool book_flight failed\n"]),
    "typed_records": ([], "", ["Ada Lovelace, 1815, London\nGrace Hopper, 1906, New York"]),
    "weather_agent": (
        ["--wire", "anthropic_messages"],
        "",
        ["tool:completed", "tool:failed", "nonblocking:llm_response", "timeout=1, blocking=1"],
    ),
}
"""The arguments and the stdin of each program, and texts that it prints, on stdout or stderr."""


def printed(name: str, arguments: list[str], stdin: str, capfd: pytest.CaptureFixture[str]) -> tuple[object, str]:
    """The exit code of a program that runs in this process, and what it prints on stdout and stderr."""
    path, code = str(ROOT / "examples" / f"{name}.py"), None
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(ROOT):
        patch.setattr(sys, "argv", [path, *arguments])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as end:
            code = end.code
    return code, "".join(capfd.readouterr())


@pytest.mark.filterwarnings("ignore::llm_rest.LossWarning")
@pytest.mark.parametrize("name", RUNS)
def test_an_example_prints_what_it_is_for(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    arguments, stdin, expected = RUNS[name]
    code, found = printed(name, arguments, stdin, capfd)
    assert (code or 0, [text for text in expected if text not in found]) == (0, [])


def test_reviews_are_classified_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    reviews = tmp_path / "reviews.jsonl"
    reviews.write_text('{"id": "r1", "text": "lovely"}\n{"id": "r2"}\n')
    for expected in ("r1 good", ""):
        code, found = printed("bulk_reviews", [str(reviews), "simulator/demo"], "", capfd)
        assert (code, expected in found, "1 done, 1 failed" in found) == (3, True, True)


def test_the_streaming_endpoint_streams_and_reports_errors() -> None:
    from examples.streaming_endpoint import app

    with TestClient(app) as http:
        answer = http.post("/ask", json={"question": "Good morning!"})
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.text.startswith('event: delta\ndata: "Good"\n\n')
        assert answer.text.endswith("event: done\ndata: {}\n\n")
        assert (
            '"description":"Wrong key."'
            in http.post("/ask", json={"question": "fail 401 invalid_api_key Wrong key."}).text
        )
        assert http.post("/ask", json={"text": "?"}).status_code == 400


@pytest.mark.parametrize(("decision", "output"), [("approve", "/x was deleted"), ("deny", "Not today.")])
def test_an_agent_waits_for_approval_between_two_requests(decision: str, output: str) -> None:
    from examples.approval_over_http import RUNS, app

    http = TestClient(app)
    started = http.post("/runs", content='call delete_file {"path": "/x"}\nsay Done.').json()
    (pending,) = started["pending"]
    assert (pending["tool"], pending["arguments"], started["text"]) == ("delete_file", {"path": "/x"}, "")
    call = pending["id"]
    body = {"approve": [call]} if decision == "approve" else {"deny": {call: "Not today."}}
    assert http.post(f"/runs/{started['id']}", json=body).json() == {
        "id": started["id"],
        "pending": [],
        "text": "Done.",
    }
    assert output in RUNS[started["id"]].decode()


def rpc(method: str, **params: Any) -> dict[str, Any]:
    """The answer of the RPC server to a call."""
    from examples.rpc import app

    body = {"jsonrpc": "2.0", "id": 1, "method": f"ai.llm.{method}"}
    params = {"providerId": "simulator", "model": "demo", **params}
    answer: dict[str, Any] = TestClient(app).post("/", json={**body, "params": params}).json()
    assert (answer.pop("jsonrpc"), answer.pop("id")) == ("2.0", 1)
    return answer


NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_the_rpc_server_has_each_method() -> None:
    assert rpc("generateText", prompt="Hello") == {"result": {"text": "Hello"}}
    assert rpc("generate", prompt="Hello", options={"max_output_tokens": 16})["result"]["status"] == "completed"
    assert rpc("generateJSON", prompt="A number.", schema=NUMBER) == {"result": {"n": 1}}
    tools = rpc("generateWithTools", prompt='call add {"a": 1, "b": 2}\nsay Three.')
    assert tools["result"]["output"][-1]["content"][0]["text"] == "Three."
    assert rpc("validateAccess") == {"result": {"valid": True}}
    assert rpc("capabilities", providerId="openai", model="gpt-5.2")["result"]["tools"] is True
    assert rpc("generateText", prompt="fail 429 rate_limit Slow.")["error"]["data"]["suggestions"]
    assert "there is no method ai.llm.sing" in rpc("sing")["error"]["message"]


def test_there_are_ten_small_examples_and_each_is_run() -> None:
    lines = {path.stem: len(path.read_text().splitlines()) for path in PROGRAMS}
    assert set(lines) == {*RUNS, "approval_over_http", "bulk_reviews", "rpc", "streaming_endpoint"}
    assert len(lines) >= 10
    assert {name: n for name, n in lines.items() if n > 60} == {}


def test_an_example_in_the_documentation_is_the_file() -> None:
    """A block of Python behind `<!-- not run: examples/NAME.py -->` has the text of that file."""
    marked = re.compile(r"<!-- not run: (examples/\w+\.py).*?-->\n+```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    found = [(page.name, *each) for page in PAGES for each in marked.findall(page.read_text())]
    assert [(page, path) for page, path, code in found if code != Path(ROOT, path).read_text()] == []
    assert len(found) >= 4
