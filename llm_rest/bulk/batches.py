"""Batches at a vendor, over HTTP: upload, create, poll, read the results, cancel, delete the input file.

Everything is sent by the client's own transport, with its credentials and retries. Before changing this file, know that
creating a batch is the one request that is never retried blindly: where it is unknown whether it was created, the
batches of the account are searched first, because a second one would be billed as well.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..client.answer import malformed_error, with_context
from ..client.target import OutgoingRequest
from ..errors import (
    APIStatusError,
    BadRequestError,
    CallCancelledError,
    ConfigError,
    ConnectError,
    LLMError,
    NotFoundError,
    PermissionDeniedError,
    ProtocolError,
)
from ..transport.framing import NDJSON
from ..transport.retry import RetryPolicy
from ..wires import Route
from . import batch_api
from .batch_api import BatchGroup, BatchJob, BatchResult, Plain

T = TypeVar("T")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..client.answer import ReceivedAnswer
    from ..client.call import Caller
    from ..client.options import Settings
    from ..client.send import RunningAttempt
    from ..client.target import Target
    from ..transport import Call
    from ..transport.exchange import Incoming

CREATIONS = 3
"""The maximum number of attempts to create a batch that cannot be found."""
LOOKS = (0.0, 5.0, 20.0)
"""Seconds before each search for a batch that may have been created: lists are updated with a delay."""
_PAGES = 20
_AHEAD = 300.0
"""The maximum lag of the vendor's clock behind ours, in seconds."""
_SLOWEST = 50_000
"""The lowest speed of an upload that its timeout allows, in bytes per second."""
_RESULTS = 500


class Batch(Struct, kw_only=True):
    """A batch of this run, as it is stored in the journal."""

    name: str
    """Our name of the batch, by which it is found where the vendor's API stores one."""
    group: BatchGroup
    count: int = 0
    created: float
    tries: int = 1
    """How often its rows were submitted, including this time."""
    file: str = ""
    """The id of the input file that was uploaded for it."""
    job: BatchJob | None = None
    """The latest state of the job at the vendor."""


_once = RetryPolicy(attempts=1)
_document = msgspec.json.Decoder(dict[str, Any])


async def credential_of(caller: Caller, target: Target, settings: Settings) -> str:
    """A digest of the credentials, so that a batch is searched with the credentials it was created with."""
    if target.credentials.renewable:  # a token provider returns another token tomorrow
        return settings.account or "provider"
    sent = await caller.headers(target, settings, Route("/"), None, None)
    shown = blake2b(digest_size=6, person=b"llm_rest batches")
    for name in sorted(name for name, value in sent.items() if not isinstance(value, str)):
        shown.update(b"%b:" % name.lower().encode() + sent[name].reveal().encode())  # type: ignore[union-attr]
    return shown.hexdigest()


class VendorBatches:
    """The batch API of one target. The methods raise an `LLMError`."""

    def __init__(self, caller: Caller, target: Target, settings: Settings) -> None:
        self._caller, self._target, self._settings = caller, target, settings

    async def upload(self, batch: Batch, content: bytes) -> str:
        """Upload the input file and return its id. Where it is unknown whether it was uploaded, it is searched for."""
        route, body = batch_api.upload(batch.group, content, batch.name)
        try:
            sent = await self.send(route, body, retry=_once)
            if (place := sent.answer.headers.get("x-goog-upload-url")) is not None:
                headers = {"X-Goog-Upload-Offset": "0", "X-Goog-Upload-Command": "upload, finalize"}
                route = Route(place, headers={**headers, "Content-Type": "application/jsonl"})
                sent = await self.send(route, content, retry=_once)
        except LLMError as error:
            if _may_be_created(error) and (known := await self.find_file(batch)) is not None:
                return known
            raise
        document = self._read(sent)
        file: Any = document.get("file", document)
        name = file.get("name") if "file" in document else file.get("id")
        if not isinstance(name, str) or not name:
            raise self._malformed(sent, "it names no file")
        return name

    async def create(self, batch: Batch, content: bytes = b"", known: frozenset[str] = frozenset()) -> BatchJob:
        """Create the batch of an uploaded file, or of `content` where requests are inline. Raises where it was not created.

        Where that is not known it is searched for, and created again only if it is not there. `known` are other batches.
        """
        route, body = batch_api.create(batch.group, batch.file, batch.name)
        for attempt in range(CREATIONS):
            try:
                return self._job(batch.group, await self.send(route, content or body, retry=_once))
            except LLMError as error:
                if not _may_be_created(error):
                    raise
                if (found := await self.find(batch, known)) is not None:
                    return found
                if attempt == CREATIONS - 1:
                    raise
        raise AssertionError

    async def find(self, batch: Batch, known: frozenset[str] = frozenset()) -> BatchJob | None:
        """The batch in the list of the account, if it was created."""
        api = batch.group.dialect.api

        def job(entry: Plain) -> BatchJob | None:
            found = batch_api.job(batch.group, entry)
            return found if _is_it(found, batch, known) else None

        return await self._search(batch.group, f"{api.batches}?{api.page}", job)

    async def find_file(self, batch: Batch) -> str | None:
        """The id of the input file among the files of the account, where it was uploaded and the vendor lists files."""

        def file(entry: Plain) -> str | None:
            named = batch.name in (entry.get("displayName"), str(entry.get("filename")).removesuffix(".jsonl"))
            return str(entry["name" if "displayName" in entry else "id"]) if named else None

        with suppress(BadRequestError, NotFoundError, PermissionDeniedError):  # of vendors that list none
            return await self._search(batch.group, batch.group.dialect.api.files.removeprefix("/upload"), file)
        return None

    async def _search(self, group: BatchGroup, path: str, match: Callable[[Plain], T | None]) -> T | None:
        """The match in a list of the vendor, which is read several times, because lists are updated with a delay."""
        for wait in LOOKS:
            if wait:
                await self._caller.transport.sleep(wait)
            following: Route | None = batch_api.route(group, path)
            for _ in range(_PAGES):
                if following is not None:
                    document = self._read(await self.send(following))
                    entries, following = batch_api.page(group, document, following)
                    for entry in entries:
                        if (found := match(entry)) is not None:
                            return found
        return None

    async def poll(self, batch: Batch) -> BatchJob:
        """The current state of the batch at the vendor."""
        assert batch.job is not None
        return self._job(batch.group, await self.send(self._route(batch, "poll")))

    async def cancel(self, batch: Batch) -> BatchJob | None:
        """Cancel the batch: requests that ran keep their results. `None` where the vendor cannot cancel."""
        if not batch.group.dialect.api.cancel:
            return None
        await self.send(replace(self._route(batch, "cancel"), method="POST"), b"{}")
        return await self.poll(batch)

    async def delete_file(self, batch: Batch) -> None:
        """Delete the input file, which was uploaded for this batch and for nothing else."""
        route = batch_api.route(batch.group, batch.group.dialect.api.delete, file=batch.file, method="DELETE")
        if batch.file:
            with suppress(NotFoundError):
                await self.send(route)

    def results(self, batch: Batch) -> Results:
        """The results of a batch that ended."""
        assert batch.job is not None
        template = batch.group.dialect.api.results
        files = batch.job.outputs if "{file}" in template else ("",)
        routes = [batch_api.route(batch.group, template, id=batch.job.id, file=file) for file in files]
        return Results(self, batch.group, routes)

    def _route(self, batch: Batch, name: str) -> Route:
        return batch_api.route(
            batch.group, getattr(batch.group.dialect.api, name), id=batch.job.id if batch.job else ""
        )

    def call(self) -> Call:
        """A call that the client's `cancel` ends."""
        return self._caller.call()

    async def send(self, route: Route, body: bytes = b"", retry: RetryPolicy | None = None) -> ReceivedAnswer:
        """The answer to one request of the batch API."""
        settings = self._settings if retry is None else self._settings._replace(retry=retry)
        if len(body) > _SLOWEST and settings.timeouts.total is None:
            settings = settings._replace(timeouts=replace(settings.timeouts, total=600 + len(body) / _SLOWEST))
        target = self._target
        if "://" in route.path:  # where the vendor wants an upload, which gets the key at the vendor's own origin alone
            base, place = urlsplit(target.endpoint.base_url), urlsplit(route.path)
            if base[:2] != place[:2]:
                what = f"{target.vendor} wants the upload at {place.netloc}, and its base URL is at {base.netloc}"
                raise ProtocolError(what, retryable=False, hint="check base_url")
            route = replace(route, path=f"{place.path}?{place.query}")
            target = replace(target, endpoint=replace(target.endpoint, base_url=f"{base.scheme}://{base.netloc}"))
        return await self._caller.send(target, settings, OutgoingRequest(route, body), lambda sent: sent, None)

    def _read(self, sent: ReceivedAnswer) -> dict[str, Any]:
        try:
            return _document.decode(sent.answer.body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
            raise self._malformed(sent, str(problem)) from None

    def _job(self, group: BatchGroup, sent: ReceivedAnswer) -> BatchJob:
        found = batch_api.job(group, self._read(sent))
        if not found.id:
            raise self._malformed(sent, "it names no batch")
        return found

    def _malformed(self, sent: ReceivedAnswer, problem: str) -> LLMError:
        return with_context(malformed_error(self._target, sent, problem), self._target, sent.attempts)

    async def open(self, call: Call, route: Route) -> Incoming:
        """The beginning of an answer of any size."""

        async def begin(incoming: Incoming, trial: RunningAttempt) -> tuple[Incoming, None]:
            trial.end(incoming.status)
            return incoming, None

        exchange = partial(self._caller.transport.open, max_body=sys.maxsize)
        return await self._caller.open(call, self._target, self._settings, OutgoingRequest(route), begin, exchange)


async def cancel_batches(caller: Caller, batches: Iterable[Batch]) -> list[BatchJob]:
    """Cancel the batches of a run that are at their vendors, where these can. The next run collects the results there are."""
    cancelled: list[BatchJob] = []
    for batch in batches:
        group = batch.group
        target, settings = caller.resolve({"model": f"{group.vendor}/{group.model or 'any'}"})
        who = await credential_of(caller, target, settings)
        if (target.endpoint.base_url, who) != (group.base_url, group.credential):
            what = f"the batch {batch.job and batch.job.id} was created at {group.base_url} with other credentials"
            raise ConfigError(what, hint="use the key and the base URL that the run began with")
        if batch.job is not None and (job := await VendorBatches(caller, target, settings).cancel(batch)) is not None:
            cancelled.append(job)
    return cancelled


class Results:
    """The results of a batch as they are read, in the order of the vendor. A file may have any size: a line of it is held."""

    def __init__(self, batches: VendorBatches, group: BatchGroup, routes: list[Route]) -> None:
        self._batches, self._group, self._routes = batches, group, routes
        self._incoming: Incoming | None = None
        self._call = batches.call()
        self._lines = NDJSON()

    async def more(self) -> list[BatchResult] | None:
        """The next results, without invalid lines; `None` at the end."""
        found: list[BatchResult] = []
        while len(found) < _RESULTS and (self._routes or self._incoming):
            for line in await (self._page() if self._group.dialect.api.paged else self._piece()):
                with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                    found.append(batch_api.result(self._group, line))
        return found or (None if not self._routes and not self._incoming else [])

    async def _page(self) -> list[Any]:
        entries, following = batch_api.entries((await self._batches.send(self._routes[0])).answer.body, self._routes[0])
        self._routes[:1] = [following] if following else []
        return entries

    async def _piece(self) -> list[Any]:
        if self._incoming is None:
            self._lines = NDJSON()
            self._incoming = await self._batches.open(self._call, self._routes[0])
        piece = None
        with self._call:
            piece = await self._incoming.read()
        if self._call.stopped:
            raise CallCancelledError("reading the results of the batch was cancelled")
        if piece is not None:
            self._incoming.deadline.progressed()
            return [frame.data for frame in self._lines.feed(piece)]
        self._incoming = None
        del self._routes[0]
        return [frame.data for frame in self._lines.close()]


def _may_be_created(error: LLMError) -> bool:
    """Whether the vendor may have created a batch despite the error."""
    if isinstance(error, ConnectError):
        return False
    return not (
        isinstance(error, APIStatusError)
        and error.status is not None
        and 400 <= error.status < 500
        and error.status != 408
    )


def _is_it(job: BatchJob, batch: Batch, known: frozenset[str]) -> bool:
    if job.marker or job.inputs:
        return job.marker == batch.name or (bool(batch.file) and batch.file in job.inputs)
    # Nothing names it: the next one of this size is taken for it. The ids of its results tell whether it was.
    count = job.counts.get("total", sum(job.counts.values()))
    return job.id not in known and (job.created_at or 0) >= batch.created - _AHEAD and count in (0, batch.count)
