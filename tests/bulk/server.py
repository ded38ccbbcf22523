"""A vendor on this machine for bulk runs, as a process of its own: Chat answers that depend on the prompt alone, with faults.

`python -m tests.bulk.server [--latency S] [--rpm N] [--tpm N] [--errors P] [--hangs P] [--resets P]` prints its port. It knows
how often each prompt was asked (`GET /log`), and how many requests it took and refused (`GET /stats`). Limits are hidden
buckets of one minute, told in OpenAI's headers; others have used them up but for what one second gives.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections import Counter
from typing import Any

TOKENS = 20
"""The tokens of every request and its answer."""


class Bucket:
    def __init__(self, per_minute: float) -> None:
        self.rate, self.capacity = per_minute / 60, per_minute
        self.level, self.at = max(self.rate, 1.0), time.monotonic()

    def take(self, amount: float) -> float:
        """Seconds until there is that much; 0 where it was taken."""
        now = time.monotonic()
        self.level, self.at = min(self.capacity, self.level + (now - self.at) * self.rate), now
        if self.level < amount:
            return (amount - self.level) / self.rate
        self.level -= amount
        return 0.0


class Vendor:
    def __init__(self, settings: Any) -> None:
        self.settings = settings
        self.chance = random.Random(7)
        self.log: Counter[str] = Counter()
        self.stats: Counter[str] = Counter()
        self.first = 0.0
        self.requests = Bucket(settings.rpm) if settings.rpm else None
        self.tokens = Bucket(settings.tpm) if settings.tpm else None

    def headers(self) -> list[str]:
        found: list[str] = []
        for name, bucket in (("requests", self.requests), ("tokens", self.tokens)):
            if bucket is not None:
                full = (bucket.capacity - bucket.level) / bucket.rate
                facts = {"limit": bucket.capacity, "remaining": int(bucket.level), "reset": f"{full:.3f}s"}
                found += [f"x-ratelimit-{fact}-{name}: {value}" for fact, value in facts.items()]
        return found

    async def answer(self, path: str, body: bytes) -> bytes | None:
        """The answer, or nothing for a reset."""
        if path == "/log":
            return http(200, dict(self.log))
        if path == "/stats":
            return http(200, {**self.stats, "seconds": time.monotonic() - self.first})
        self.first = self.first or time.monotonic()
        asked = json.loads(body)["messages"][-1]["content"]
        self.stats["requests"] += 1
        chance = self.chance.random()
        waits = [bucket.take(n) for bucket, n in ((self.requests, 1), (self.tokens, TOKENS)) if bucket is not None]
        if wait := max(waits, default=0.0):
            self.stats["429"] += 1
            error = {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}}
            return http(429, error, [f"retry-after-ms: {wait * 1000:.0f}", *self.headers()])
        headers = self.headers()  # as vendors count, when a request is admitted
        self.log[asked] += 1
        for kind in ("errors", "hangs", "resets"):
            part = getattr(self.settings, kind)
            if chance < part:
                self.stats[kind] += 1
                if kind == "errors":
                    return http(500, {"error": {"message": "broken", "type": "server_error"}}, headers)
                if kind == "resets":
                    return None
                await asyncio.sleep(3600)
            chance -= part
        if asked.startswith("refuse"):
            return http(int(asked.split()[1]), {"error": {"message": f"no {asked}", "type": "invalid_request_error"}})
        await asyncio.sleep(self.settings.latency * (0.5 + self.chance.random()))
        self.stats["answered"] += 1
        message = {"role": "assistant", "content": asked.upper()}
        usage = {"prompt_tokens": TOKENS - 5, "completion_tokens": 5, "total_tokens": TOKENS}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
        return http(200, {**whole, "choices": [choice], "usage": usage}, headers)


def http(status: int, body: Any, headers: list[str] | None = None) -> bytes:
    data = json.dumps(body).encode()
    head = [f"HTTP/1.1 {status} X", "content-type: application/json", f"content-length: {len(data)}", *(headers or [])]
    return "\r\n".join([*head, "", ""]).encode() + data


async def main(settings: Any) -> None:
    vendor = Vendor(settings)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
                body = await reader.readexactly(int(fields.get(b"content-length", b"0")))
                answer = await vendor.answer(head.split(b" ", 2)[1].decode(), body)
                if answer is None:
                    writer.transport.abort()
                    return
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("latency", "rpm", "tpm", "errors", "hangs", "resets"):
        parser.add_argument(f"--{name}", type=float, default=0.0)
    asyncio.run(main(parser.parse_args()))
