"""A batch vendor on loopback, in each format, that loses, delays, reorders, expires and repeats; the simulator answers."""

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
from urllib.parse import parse_qs, unquote, urlsplit

from llm_rest import simulator

Plain = dict[str, Any]


@dataclass
class Faults:
    """What goes wrong. Numbers count down."""

    upload_lost: int = 0  # uploads whose answer is lost
    upload_elsewhere: int = 0  # uploads that are to be sent to another host
    create_lost: int = 0  # creations whose answer is lost
    create_broken: int = 0  # creations answered with 503 after they happened
    create_failed: int = 0  # creations answered with 503 that did not happen
    create_limited: int = 0  # creations refused with 429
    create_refused: int = 0  # creations refused with 400
    lists_behind: int = 0  # lists without the newest batch
    polls: int = 1  # polls that find a batch running
    results_cut: int = 0  # downloads that break off in the middle
    chatter: bool = False  # whether there are duplicates, unknown ids and invalid lines among the results
    fate: Callable[[str, int], str] = lambda text, run: "succeeded"
    ended_as: Callable[[int], str] = lambda number: "completed"
    line_errors: tuple[int, ...] = ()  # lines that a failed batch names


@dataclass
class Made:
    """A batch that was created."""

    id: str
    requests: list[tuple[str, Any]]
    created: float
    body: Plain
    ended_as: str
    polled: int = 0
    cancelled: bool = False
    lines: list[bytes] = field(default_factory=list[bytes])


def paths(
    batches: str, create: str = "", cancel: str = "/cancel", files: str = "/v1/files", **more: str
) -> dict[str, str]:
    """The methods of `Vendor` by method and path; `*` is an id, which is quoted."""
    return {
        f"POST {more.get('upload', files)}": "upload",
        f"GET {files}": "files",
        f"DELETE {files}/*": "delete",
        f"GET {more.get('content', files + '/*/content')}": "content",
        f"POST {create or batches}": "create",
        f"GET {batches}": "list",
        f"GET {batches}/*": "poll",
        f"POST {batches}/*{cancel}": "cancel",
        f"GET {batches}/*/results": "results",
    }


GOOGLE = {"upload": "/upload/v1beta/files", "content": "/download/v1beta/files/*:download"}
PATHS = {
    "openai": paths("/v1/batches"),
    "openrouter": paths("/v1/batches"),
    "xai": paths("/v1/batches", cancel=":cancel"),
    "mistral": paths("/v1/batch/jobs"),
    "anthropic": paths("/v1/messages/batches"),
    "google": paths(
        "/v1beta/batches", "/v1beta/models/gemini-x:batchGenerateContent", ":cancel", "/v1beta/files", **GOOGLE
    ),
}
FILES = ("openai", "mistral", "google")
"""The formats whose results are a file."""
LISTED = {"google": ("operations", "name"), "xai": ("batches", "batch_id")}
"""The fields of a list and of an id."""
STATES: dict[str, dict[str, str]] = {
    "openai": {"running": "in_progress"},
    "openrouter": {"running": "in_progress"},
    "anthropic": {"running": "in_progress", **dict.fromkeys(("completed", "expired", "cancelled"), "ended")},
    "mistral": {"completed": "SUCCESS", "expired": "TIMEOUT_EXCEEDED"},
    "google": {"completed": "BATCH_STATE_SUCCEEDED", "running": "BATCH_STATE_RUNNING"},
}
Answer = tuple[int, bytes, dict[str, str]]


class Lost(Exception):
    """The answer is cut after so many bytes."""


class Vendor:
    """`format` is a name of `PATHS`."""

    def __init__(self, format: str, faults: Faults | None = None) -> None:
        self.format = format
        self.faults = faults or Faults()
        self.files: dict[str, bytes] = {}
        self.deleted: list[str] = []
        self.names: dict[str, str] = {}  # of all files that were uploaded
        self.batches: list[Made] = []
        self.came: Counter[str] = Counter()  # how often each text was in a batch that ran
        self.answered: Counter[str] = Counter()  # how often each text was answered, which is what costs
        self.log: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.unauthorized = False
        self.background: list[Any] = []
        self.completes = True  # background responses, the second time they are retrieved
        self.delay = 0.0
        self._random = random.Random(1)
        self._lock = threading.RLock()
        self._routes = [
            (re.compile(re.escape(path).replace(r"\*", "([^/:]+)")), getattr(self, f"_{name}"))
            for path, name in {
                "POST /v1/responses": "respond",
                "GET /v1/responses/*": "retrieve",
                **PATHS[format],
            }.items()
        ]

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None: ...

            def _do(self) -> None:
                vendor.serve(self, self.rfile.read(int(self.headers.get("content-length") or 0)))

            do_GET = do_POST = do_DELETE = _do

        vendor = self
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        prefix = {"anthropic": "", "google": ""}.get(self.format, "/v1")
        return f"http://127.0.0.1:{self._server.server_address[1]}{prefix}"

    def serve(self, handler: BaseHTTPRequestHandler, data: bytes) -> None:
        place = urlsplit(handler.path)
        called = f"{handler.command} {place.path}"
        headers = {name.lower(): value for name, value in handler.headers.items()}
        headers |= {name: values[0] for name, values in parse_qs(place.query).items()}
        time.sleep(self.delay)
        cut = None
        with self._lock:
            self.log.append(called)
            self.headers.append(headers)
            try:
                status, body, more = self._answer(called, headers, data)
            except Lost as lost:
                (body,) = lost.args
                status, more, cut = 200, dict[str, str](), len(body) // 2
        if cut != 0:
            handler.send_response(status)
            for name, value in {"Content-Type": "application/json", **more, "Content-Length": str(len(body))}.items():
                handler.send_header(name, value)
            handler.end_headers()
            handler.wfile.write(body[:cut])
        if cut is not None:
            handler.wfile.flush()
            handler.connection.shutdown(socket.SHUT_RDWR)

    def _answer(self, called: str, headers: dict[str, str], data: bytes) -> Answer:
        if self.unauthorized:
            return self._error("wrong key", 401)
        for path, method in self._routes:
            if found := path.fullmatch(called):
                return method(*map(unquote, found.groups()), headers=headers, data=data)
        return self._error(f"there is no {called}", 404)

    def _json(self, document: Any, status: int = 200) -> Answer:
        return status, json.dumps(document).encode(), {}

    def _error(self, message: str, status: int) -> Answer:
        return self._json({"error": {"message": message, "type": "x"}}, status)

    def _next(self, fault: str) -> bool:
        left: int = getattr(self.faults, fault)
        setattr(self.faults, fault, max(left - 1, 0))
        return left > 0

    def _file(self, data: bytes) -> Answer:
        if self._next("results_cut"):
            raise Lost(data)
        return 200, data, {}

    # --- responses in the background

    def _respond(self, headers: dict[str, str], data: bytes) -> Answer:
        self.background.append(json.loads(data))
        assert self.background[-1]["background"] is True
        return self._state(len(self.background), "queued")

    def _retrieve(self, id: str, headers: dict[str, str], data: bytes) -> Answer:
        self.came[id] += 1
        done = self.completes and self.came[id] > 1
        return self._state(int(id.rpartition("_")[2]), "completed" if done else "in_progress")

    def _state(self, number: int, status: str) -> Answer:
        answer = answer_to(self.background[number - 1]) | {"id": f"resp_{number}", "status": status}
        return self._json(answer if status == "completed" else answer | {"output": []})

    # --- files

    def _upload(self, headers: dict[str, str], data: bytes) -> Answer:
        if headers.get("x-goog-upload-command") == "start":
            self.named = json.loads(data)["file"]["displayName"]
            host = "https://elsewhere.example" if self._next("upload_elsewhere") else self.url
            return 200, b"", {"X-Goog-Upload-URL": f"{host}/upload/v1beta/files?upload_id=1"}
        if self.format == "google":
            name, called = f"files/{len(self.names) + 1}", self.named
        else:
            edge = b"--" + headers["content-type"].partition("boundary=")[2].encode()
            first, *parts, last = data.split(edge)
            assert (first, last, b'name="purpose"' in parts[0]) == (b"", b"--\r\n", self.format != "xai")
            head, _, content = parts[-1].partition(b"\r\n\r\n")
            name, data = f"file/{len(self.names) + 1}", content.removesuffix(b"\r\n")
            called = re.findall('filename="(.*?)"', head.decode())[0]
        self.names[name], self.files[name] = called, data
        if self._next("upload_lost"):
            raise Lost(b"")
        return self._json({"file": {"name": name}} if self.format == "google" else {"id": name, "object": "file"})

    def _files(self, headers: dict[str, str], data: bytes) -> Answer:
        named = reversed(self.names.items())
        if self.format == "google":
            return self._json({"files": [{"name": id, "displayName": name} for id, name in named]})
        return self._json({"data": [{"id": id, "filename": name} for id, name in named]})

    def _delete(self, id: str, headers: dict[str, str], data: bytes) -> Answer:
        id = f"files/{id}" if self.format == "google" else id
        self.deleted.append(id)
        if self.files.pop(id, None) is None:
            return self._error("no such file", 404)
        return self._json({"id": id, "deleted": True})

    def _content(self, id: str, headers: dict[str, str], data: bytes) -> Answer:
        return self._file(self.files[f"files/{id}" if self.format == "google" else id])

    # --- batches

    def _create(self, headers: dict[str, str], data: bytes) -> Answer:
        for fault, status in (("create_limited", 429), ("create_refused", 400), ("create_failed", 503)):
            if self._next(fault):
                return self._error(fault, status)
        body = json.loads(data)
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
        id = f"batches/b{number}" if self.format == "google" else f"batch/{number}"
        self.batches.append(Made(id, requests, time.time(), body, self.faults.ended_as(number)))
        if self._next("create_lost"):
            raise Lost(b"")
        if self._next("create_broken"):
            return self._error("overloaded", 503)
        return self._json(self._document(self.batches[-1]), 202 if self.format == "openrouter" else 200)

    def _list(self, headers: dict[str, str], data: bytes) -> Answer:
        """One batch a page, but for Mistral."""
        shown = self.batches[:-1] if self._next("lists_behind") else self.batches
        listed = [self._document(batch) for batch in reversed(shown)]
        name, id = LISTED.get(self.format, ("data", "id"))
        if self.format == "mistral":
            return self._json({"data": listed, "total": len(listed)})
        cursors = ("after", "after_id", "pageToken", "pagination_token")
        cursor = next((headers[name] for name in cursors if name in headers), None)
        start = next((i + 1 for i, each in enumerate(listed) if each[id] == cursor), 0)
        page, more = listed[start : start + 1], start + 1 < len(listed)
        last = page[-1][id] if page else None
        token = {"nextPageToken": last, "pagination_token": last} if more else {}
        return self._json({name: page, "has_more": more, "last_id": last, **token})

    def _poll(self, id: str, headers: dict[str, str], data: bytes) -> Answer:
        self._batch(id).polled += 1
        return self._json(self._document(self._batch(id)))

    def _cancel(self, id: str, headers: dict[str, str], data: bytes) -> Answer:
        self._batch(id).cancelled = True
        return self._json(self._document(self._batch(id)))

    def _batch(self, id: str) -> Made:
        return next(one for one in self.batches if one.id in (id, f"batches/{id}"))

    def _document(self, batch: Made) -> Plain:
        body, count = batch.body, len(batch.requests)
        ended = batch.polled > self.faults.polls or batch.cancelled
        as_ = ("cancelled" if batch.cancelled else batch.ended_as) if ended else "running"
        state = STATES.get(self.format, {}).get(as_, as_)
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(batch.created))
        lines = self.faults.line_errors if as_ == "failed" else ()
        errors = [{"line": n, "code": "bad", "message": "bad line"} for n in lines]
        output = ""
        if ended and as_ != "failed" and self.format in FILES:
            output = "files/out" if self.format == "google" else "out"
            output += batch.id.replace("/", "-")
            self.files.setdefault(output, b"\n".join(self._lines(batch)))
        match self.format:
            case "anthropic":
                counts = dict.fromkeys(("succeeded", "errored", "canceled", "expired"), 0) | {"processing": count}
                about = {"processing_status": state, "request_counts": counts, "created_at": created}
                return {"id": batch.id, "type": "message_batch", **about}
            case "google":
                about = {"displayName": body["batch"]["displayName"], "state": state, "createTime": created}
                done = {"done": True, "response": {"responsesFile": output}} if ended else {}
                return {"name": batch.id, "metadata": about, **done}
            case "xai":
                about = {"name": body["name"], "input_file_id": body["input_file_id"]}
                about |= {"cancel_time": created} if as_ == "cancelled" else {}
                counts = {"num_requests": count, "num_pending": 0 if ended else count}
                return {"batch_id": batch.id, "state": counts, **about}
            case "mistral":
                about = {name: body[name] for name in ("input_files", "metadata")}
                return {"id": batch.id, "status": state.upper(), "errors": errors, "output_file": output, **about}
            case _:
                about: Plain = {name: body.get(name) for name in ("input_file_id", "metadata", "endpoint")}
                about |= {"output_file_id": output} if output else {}
                if ended and self.format == "openrouter":
                    about["results"] = [json.loads(line) for line in self._lines(batch)]
                counts = {"total": count, "completed": 0, "failed": 7}  # which do not add up
                about |= {"request_counts": counts, "errors": {"object": "list", "data": errors}}
                return {"id": batch.id, "status": state, "created_at": int(batch.created), **about}

    # --- results

    def _results(self, id: str, headers: dict[str, str], data: bytes) -> Answer:
        lines = self._lines(self._batch(id))
        if self.format != "xai":
            return self._file(b"\n".join(lines))
        start = int(headers.get("pagination_token", 0))
        token = {"pagination_token": str(start + 7)} if start + 7 < len(lines) else {}
        return self._json({"results": [json.loads(line) for line in lines[start : start + 7]], **token})

    def _lines(self, batch: Made) -> list[bytes]:
        if batch.lines or batch.ended_as == "failed":
            return batch.lines
        lines: list[bytes] = []
        for id, body in batch.requests:
            text = text_of(body)
            self.came[text] += 1
            fate = self.faults.fate(text, self.came[text])
            if (batch.cancelled or batch.ended_as in ("expired", "cancelled")) and fate == "succeeded":
                left = (
                    "cancelled" if self.format == "anthropic" else "missing"
                )  # whose batches do not say how they ended
                fate = left if self._random.random() < 0.5 else fate
            self.answered.update([text] if fate == "succeeded" else [])
            if fate != "missing":
                lines.append(json.dumps(self._line(id, body, fate), ensure_ascii=False).encode())
        self._random.shuffle(lines)
        if self.faults.chatter and lines:
            stranger = json.dumps(self._line("stranger", batch.requests[0][1], "succeeded")).encode()
            lines += [lines[0], stranger, *([b"{not json", b""] if self.format not in ("openrouter", "xai") else [])]
        batch.lines = lines
        return lines

    def _line(self, id: str, body: Any, fate: str) -> Plain:
        """The result of a request. A fate that is a number is an HTTP status."""
        answer, good = answer_to(body), fate == "succeeded"
        status = int(fate) if fate.isdigit() else 200
        error = {"message": f"status {status}", "type": "invalid_request_error" if status == 400 else "api_error"}
        match self.format:
            case "anthropic":
                kind = {429: "rate_limit_error", 529: "overloaded_error"}.get(status, error["type"])
                told = {"type": "errored", "error": {"type": "error", "error": {**error, "type": kind}}}
                ended = {"succeeded": {"type": "succeeded", "message": answer}, "expired": {"type": "expired"}}
                ended["cancelled"] = {"type": "canceled"}
                return {"custom_id": id, "result": ended.get(fate, told)}
            case "google" | "xai":
                code = {429: 8, 400: 3, 500: 13}.get(status, 4 if fate == "expired" else 1)
                failed = {"error": {"code": code, "message": error["message"]}}
                if self.format == "google":
                    return {"key": id, **({"response": answer} if good else failed)}
                kind = "responses" if "output" in answer else "chat_get_completion"
                return {"batch_request_id": id, "batch_result": {"response": {kind: answer}} if good else failed}
            case _ if fate == "expired":
                return {"id": f"req-{id}", "custom_id": id, "response": None, "error": {"code": "batch_expired"}}
            case _:
                response = {"status_code": status, "body": answer if good else {"error": error}}
                return {"id": f"req-{id}", "custom_id": id, "response": response, "error": None}


def text_of(body: Any) -> str:
    """The prompt in a body of any wire."""
    if "contents" in body:
        return str(body["contents"][0]["parts"][0]["text"])
    messages = body.get("messages") or body["input"]
    content = messages if isinstance(messages, str) else messages[-1]["content"]
    return content if isinstance(content, str) else str(content[0]["text"])


def answer_to(body: Any) -> Plain:
    """The simulator's answer on the wire of the body, which is its prompt."""
    claude = str(body.get("model")).startswith("claude")
    path = "/v1/responses" if "input" in body else "/v1/messages" if claude else "/v1/chat/completions"
    path = "/v1beta/models/x:generateContent" if "contents" in body else path
    body = {name: value for name, value in body.items() if not name.startswith("background")}
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    return json.loads(simulator.handle("POST", path, headers, json.dumps(body).encode())[2])
