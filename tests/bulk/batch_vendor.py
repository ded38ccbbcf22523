"""A batch vendor on loopback, in the format of each dialect, that loses, delays, reorders, expires and repeats."""

from __future__ import annotations

import json
import random
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

DAY = 86_400


@dataclass
class Faults:
    """What goes wrong. Numbers count down."""

    upload_lost: int = 0  # uploads whose answer never comes
    create_lost: int = 0  # creations whose answer never comes
    create_broken: int = 0  # creations answered with 503 after they happened
    create_failed: int = 0  # creations answered with 503 that did not happen
    create_limited: int = 0  # creations refused with 429
    create_refused: int = 0  # creations refused with 400
    lists_behind: int = 0  # lists that do not show the newest batch
    polls: int = 1  # polls that find a batch running
    results_cut: int = 0  # downloads that break off in the middle
    chatter: bool = False  # duplicates, unknown ids and lines that are none, among the results
    fate: Callable[[str, int], str] = lambda text, run: (
        "succeeded"
    )  # of each request, by its text and how often it came
    ended_as: Callable[[int], str] = lambda number: "completed"  # of each batch, by its number from 1
    line_errors: tuple[int, ...] = ()  # lines that a failed batch names


@dataclass
class Made:
    """A batch that was created."""

    id: str
    requests: list[tuple[str, Any]]
    created: float
    body: dict[str, Any]
    ended_as: str
    polled: int = 0
    cancelled: bool = False
    lines: list[bytes] = field(default_factory=list[bytes])


class Vendor:
    """`format` is a name of `FORMATS`."""

    def __init__(self, format: str, faults: Faults | None = None, seed: int = 1) -> None:
        self.format = format
        self.faults = faults or Faults()
        self.files: dict[str, bytes] = {}
        self.deleted: list[str] = []
        self.names: dict[str, str] = {}  # of all files that were uploaded
        self.batches: list[Made] = []
        self.came: Counter[str] = Counter()  # how often each text was in a batch that ran
        self.answered: Counter[str] = Counter()  # how often each text was answered, which is what costs
        self.log: list[str] = []
        self.unauthorized = False
        self.background: list[Any] = []
        self.completes = True  # background responses, the second time they are retrieved
        self.delay = 0.0
        self.closing: list[Callable[[], object]] = []  # what uses it
        self.headers: list[dict[str, str]] = []
        self._random = random.Random(seed)
        self._lock = threading.RLock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None: ...

            def _do(self) -> None:
                data = self.rfile.read(int(self.headers.get("content-length") or 0))
                vendor.serve(self, data)

            do_GET = do_POST = do_DELETE = _do

        vendor = self
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for close in self.closing:
            close()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        prefix = {"anthropic": "", "google": ""}.get(self.format, "/v1")
        return f"http://127.0.0.1:{self._server.server_address[1]}{prefix}"

    # --- one request

    def serve(self, handler: BaseHTTPRequestHandler, data: bytes) -> None:
        place = urlsplit(handler.path)
        time.sleep(self.delay)
        query = {name: values[0] for name, values in parse_qs(place.query).items()}
        with self._lock:
            self.log.append(f"{handler.command} {place.path}")
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})
            found = self._answer(handler, place.path, query, data)
        if found is None:  # the answer is lost
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        status, body, headers, cut = found
        handler.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers, "Content-Length": str(len(body))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            handler.wfile.flush()
            handler.connection.shutdown(socket.SHUT_RDWR)

    def _answer(
        self, handler: BaseHTTPRequestHandler, path: str, query: dict[str, str], data: bytes
    ) -> tuple[int, bytes, dict[str, str], bool] | None:
        method = handler.command
        if self.unauthorized:
            return self._json({"error": {"message": "wrong key"}}, 401)
        path = path.removeprefix("/v1beta").removeprefix("/v1")
        if self.format == "google" and path.startswith("/upload/"):
            if handler.headers["X-Goog-Upload-Command"] == "start":
                self.named = json.loads(data)["file"]["displayName"]
                return 200, b"", {"X-Goog-Upload-URL": f"{self.url}/upload/v1beta/files?upload_id=1"}, False
            name = self._keep("files/", data, self.named)
            return None if self._next("upload_lost") else self._json({"file": {"name": name}})
        if path == "/responses":  # a response in the background
            self.background.append(json.loads(data))
            assert self.background[-1]["background"] is True
            return self._json(self._background(len(self.background), "queued"))
        if path.startswith("/responses/"):
            number = int(path.rpartition("_")[2])
            self.came[path] += 1
            done = self.completes and self.came[path] > 1
            return self._json(self._background(number, "completed" if done else "in_progress"))
        if method == "POST" and path == "/files":
            id = self._keep("file-", *self._part(handler, data))
            return None if self._next("upload_lost") else self._json({"id": id, "object": "file"})
        if path == "/files":
            field = "displayName" if self.format == "google" else "filename"
            key, listed = ("name", "files") if self.format == "google" else ("id", "data")
            return self._json({listed: [{key: id, field: name} for id, name in reversed(self.names.items())]})
        if method == "DELETE":
            name = path.removeprefix("/").removeprefix("files/") if self.format != "google" else path[1:]
            self.deleted.append(name)
            if self.files.pop(name, None) is None:
                return self._json({"error": {"message": "no such file"}}, 404)
            return self._json({"id": name, "deleted": True})
        if path.startswith("/download/") or path.endswith("/content"):
            name = re.sub(r"^/download/v1beta/(.*):download$", r"\1", path)
            name = name.removeprefix("/files/").removesuffix("/content")
            return 200, self.files[name], {}, self._next("results_cut")
        if method == "POST" and (
            path in ("/batches", "/batch/jobs", "/messages/batches") or path.endswith(":batchGenerateContent")
        ):
            return self._create(json.loads(data))
        rest = re.sub("^/(batches|batch/jobs|messages/batches)/?", "", path)
        if not rest:
            return self._json(self._list(query))
        id, action = re.fullmatch(r"([\w-]+)(?:[/:](cancel|results))?", rest).groups()  # type: ignore[union-attr]
        batch = next((one for one in self.batches if one.id in (id, f"batches/{id}")), None)
        if batch is None:
            return self._json({"error": {"message": "no such batch"}}, 404)
        if action == "cancel":
            batch.cancelled = True
            return self._json(self._document(batch))
        if action == "results":
            if self.format == "xai":
                return self._json(self._page(batch, query))
            return 200, b"\n".join(self._results(batch)), {}, self._next("results_cut")
        batch.polled += 1
        return self._json(self._document(batch))

    def _background(self, number: int, status: str) -> dict[str, Any]:
        answer = answer_to(self.background[number - 1]) | {"id": f"resp_{number}", "status": status}
        return answer if status == "completed" else answer | {"output": []}

    def _json(self, document: Any, status: int = 200) -> tuple[int, bytes, dict[str, str], bool]:
        return status, json.dumps(document).encode(), {}, False

    def _next(self, fault: str) -> bool:
        left: int = getattr(self.faults, fault)
        setattr(self.faults, fault, max(left - 1, 0))
        return left > 0

    def _keep(self, prefix: str, data: bytes, called: str) -> str:
        name = f"{prefix}{len(self.names) + 1}"
        self.names[name] = called
        self.files[name] = data
        return name

    def _part(self, handler: BaseHTTPRequestHandler, data: bytes) -> tuple[bytes, str]:
        edge = b"--" + handler.headers["content-type"].partition("boundary=")[2].encode()
        first, *parts, last = data.split(edge)
        assert (first, last, b'name="purpose"' in parts[0]) == (b"", b"--\r\n", self.format != "xai")
        head, _, content = parts[-1].partition(b"\r\n\r\n")
        return content.removesuffix(b"\r\n"), re.findall('filename="(.*?)"', head.decode())[0]

    # --- batches

    def _create(self, body: dict[str, Any]) -> tuple[int, bytes, dict[str, str], bool] | None:
        for fault, status in (("create_limited", 429), ("create_refused", 400), ("create_failed", 503)):
            if self._next(fault):
                return self._json({"error": {"message": f"{fault}", "type": "x"}}, status)
        file = body.get("input_file_id") or (body.get("input_files") or [None])[0]
        file = file or body.get("batch", {}).get("inputConfig", {}).get("fileName")
        entries = body.get("requests") or [json.loads(line) for line in self.files[file].splitlines()]
        requests = [
            (each.get("custom_id") or each["key"], each.get("body") or each.get("params") or each["request"])
            for each in entries
        ]
        assert len({id for id, _ in requests}) == len(requests)
        assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", id) for id, _ in requests)
        number = len(self.batches) + 1
        id = f"batches/b{number}" if self.format == "google" else f"batch_{number}"
        batch = Made(id, requests, time.time(), body, self.faults.ended_as(number))
        self.batches.append(batch)
        if self._next("create_lost"):
            return None
        if self._next("create_broken"):
            return self._json({"error": {"message": "overloaded"}}, 503)
        return self._json(self._document(batch), 202 if self.format == "openrouter" else 200)

    def _list(self, query: dict[str, str]) -> dict[str, Any]:
        shown = self.batches[:-1] if self._next("lists_behind") else self.batches
        listed = [self._document(batch) for batch in reversed(shown)]
        name = {"google": "operations", "xai": "batches"}.get(self.format, "data")
        # One batch a page, so that pages are read.
        cursor = next((query[c] for c in ("after", "after_id", "pageToken", "pagination_token") if c in query), None)
        if self.format == "mistral":
            return {"data": listed, "total": len(listed)}
        field = {"google": "name", "xai": "batch_id"}.get(self.format, "id")
        start = next((i + 1 for i, each in enumerate(listed) if each[field] == cursor), 0)
        page, more = listed[start : start + 1], start + 1 < len(listed)
        last = page[-1][field] if page else None
        token = {"nextPageToken": last, "pagination_token": last} if more else {}
        return {name: page, "has_more": more, "last_id": last, **token}

    def _ended(self, batch: Made) -> bool:
        return batch.polled > self.faults.polls or batch.cancelled

    def _document(self, batch: Made) -> dict[str, Any]:
        body, count, ended = batch.body, len(batch.requests), self._ended(batch)
        as_ = "cancelled" if batch.cancelled else batch.ended_as
        outputs: dict[str, Any] = {}
        if ended and as_ != "failed" and self.format not in ("anthropic", "openrouter", "xai"):
            name = ("files/out-" if self.format == "google" else "out-") + batch.id.replace("/", "-")
            self.files.setdefault(name, b"\n".join(self._results(batch)))
            outputs = {"output_file_id": name, "output_file": name, "responsesFile": name}
        errors = (
            [{"line": n, "code": "bad", "message": "bad line"} for n in self.faults.line_errors]
            if as_ == "failed"
            else []
        )
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(batch.created))
        match self.format:
            case "anthropic":
                counts = dict.fromkeys(("succeeded", "errored", "canceled", "expired"), 0) | {"processing": count}
                state = "ended" if ended else "in_progress"
                return {
                    "id": batch.id,
                    "type": "message_batch",
                    "processing_status": state,
                    "request_counts": counts,
                    "created_at": created,
                }
            case "google":
                state = (
                    f"BATCH_STATE_{'SUCCEEDED' if as_ == 'completed' else as_.upper()}"
                    if ended
                    else "BATCH_STATE_RUNNING"
                )
                about = {"displayName": body["batch"]["displayName"], "state": state, "createTime": created}
                return {"name": batch.id, "metadata": about, **({"done": True, "response": outputs} if ended else {})}
            case "xai":
                counts = {"num_requests": count, "num_pending": 0 if ended else count}
                more = {"cancel_time": created} if as_ == "cancelled" and ended else {}
                return {
                    "batch_id": batch.id,
                    "name": body["name"],
                    "state": counts,
                    "input_file_id": body["input_file_id"],
                    **more,
                }
            case "mistral":
                words = {
                    "completed": "SUCCESS",
                    "expired": "TIMEOUT_EXCEEDED",
                    "failed": "FAILED",
                    "cancelled": "CANCELLED",
                }
                shown = {"input_files": body["input_files"], "metadata": body["metadata"]}
                return {
                    "id": batch.id,
                    "status": words[as_] if ended else "RUNNING",
                    "errors": errors,
                    **shown,
                    **outputs,
                }
            case _:
                shown = {name: body.get(name) for name in ("input_file_id", "metadata", "endpoint")}
                inline = ended and self.format == "openrouter"
                return {
                    "id": batch.id,
                    "object": "batch",
                    "status": as_ if ended else "in_progress",
                    "created_at": int(batch.created),
                    "request_counts": {"total": count, "completed": 0, "failed": 7},  # which do not add up
                    "errors": {"object": "list", "data": errors},
                    **shown,
                    **outputs,
                    **({"results": [json.loads(line) for line in self._results(batch)]} if inline else {}),
                }

    # --- results

    def _results(self, batch: Made) -> list[bytes]:
        if batch.lines or batch.ended_as == "failed":
            return batch.lines
        lines: list[bytes] = []
        for id, body in batch.requests:
            text = text_of(body)
            self.came[text] += 1
            fate = self.faults.fate(text, self.came[text])
            if (batch.cancelled or batch.ended_as in ("expired", "cancelled")) and fate == "succeeded":
                fate = "missing" if self._random.random() < 0.5 else fate
            self.answered.update([text] if fate == "succeeded" else [])
            if (line := self._result(id, body, fate)) is not None:
                lines.append(json.dumps(line, ensure_ascii=False).encode())
        self._random.shuffle(lines)
        if self.faults.chatter and lines:
            stranger = json.dumps(self._result("stranger", batch.requests[0][1], "succeeded")).encode()
            lines += [lines[0], stranger, *([b"{not json", b""] if self.format not in ("openrouter", "xai") else [])]
        batch.lines = lines
        return lines

    def _result(self, id: str, body: Any, fate: str) -> Any:
        """The line of a request; `None` where it has none. A fate that is a number is an HTTP status."""
        answer = answer_to(body)
        status = int(fate) if fate.isdigit() else 200
        error = {"message": f"status {status}", "type": "invalid_request_error" if status == 400 else "api_error"}
        match self.format:
            case _ if fate == "missing":
                return None
            case "anthropic":
                kind = {429: "rate_limit_error", 529: "overloaded_error"}.get(status, error["type"])
                told = {"type": "errored", "error": {"type": "error", "error": {**error, "type": kind}}}
                ended = {"succeeded": {"type": "succeeded", "message": answer}, "cancelled": {"type": "canceled"}}
                return {"custom_id": id, "result": ended.get(fate, {"type": "expired"} if fate == "expired" else told)}
            case "google" | "xai":
                code = {429: 8, 400: 3, 500: 13}.get(status, 4 if fate == "expired" else 1)
                failed = {"error": {"code": code, "message": error["message"]}}
                if self.format == "google":
                    return {"key": id, **({"response": answer} if fate == "succeeded" else failed)}
                good = {"response": {"responses" if "output" in answer else "chat_get_completion": answer}}
                return {"batch_request_id": id, "batch_result": good if fate == "succeeded" else failed}
            case _:
                line: dict[str, Any] = {"id": f"req-{id}", "custom_id": id, "response": None, "error": None}
                if fate in ("expired", "cancelled"):
                    return line | {"error": {"code": f"batch_{fate}", "message": fate}}
                return line | {
                    "response": {"status_code": status, "body": answer if status == 200 else {"error": error}}
                }

    def _page(self, batch: Made, query: dict[str, str]) -> dict[str, Any]:
        lines, start = self._results(batch), int(query.get("pagination_token", 0))
        token = {"pagination_token": str(start + 7)} if start + 7 < len(lines) else {}
        return {"results": [json.loads(line) for line in lines[start : start + 7]], **token}


def text_of(body: Any) -> str:
    """What a body of any wire asks."""
    if "contents" in body:
        return str(body["contents"][0]["parts"][0]["text"])
    messages = body.get("messages") or body["input"]
    content = messages if isinstance(messages, str) else messages[-1]["content"]
    return content if isinstance(content, str) else str(content[0]["text"])


def answer_to(body: Any) -> dict[str, Any]:
    """A whole answer in the wire of the body, which says its text again."""
    text = f"écho {text_of(body)} 😀"
    if "contents" in body:
        usage = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}
        content = {"role": "model", "parts": [{"text": text}]}
        return {"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": usage, "responseId": "x"}
    if "input" in body:
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
        usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
        return {
            "id": "resp_1",
            "object": "response",
            "status": "completed",
            "model": body["model"],
            "output": [item],
            "usage": usage,
        }
    if "max_tokens" in body and "id" not in body and body["model"].startswith("claude"):
        usage = {"input_tokens": 3, "output_tokens": 2}
        content = [{"type": "text", "text": text}]
        head = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "stop_reason": "end_turn",
        }
        return {**head, "content": content, "usage": usage}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [choice],
        "usage": usage,
    }
