"""The vendors' batch APIs as data: a row of `DIALECTS` has a vendor's limits, a row of `FORMATS` the paths and fields of an API.

Follows the vendors' references as of 2026-11-22. Before changing a row, know that rows hold no functions: `batch_api` has them.
"""

from __future__ import annotations

from msgspec import Struct


class BatchFormat(Struct, frozen=True, kw_only=True):
    """The paths and fields of a batch API; the defaults are OpenAI's. Paths have `{root}` (the version in the path of a
    request), `{endpoint}`, `{id}` of the batch and `{file}`; fields of documents are dotted paths.
    """

    body: str = "body"
    """The field of a line that contains the request; `body` is beside `method` and `url` where `full` is set."""
    key: str = "custom_id"
    """The field of a line that contains its id."""
    full: bool = False
    inline: bool = False
    """Whether the requests are in the body that creates the batch, not in a file."""
    paged: bool = False
    """Results come in JSON documents of several, not as a file with a line for each."""
    files: str = "/files"
    batches: str = "/batches"
    create: str = "/batches"
    poll: str = "/batches/{id}"
    cancel: str = "/batches/{id}/cancel"
    """Empty where a batch cannot be cancelled."""
    results: str = "/files/{file}/content"
    """The path of the results: requested once for each output file where it contains `{file}`."""
    delete: str = "/files/{file}"
    page: str = "limit=100"
    """The query of a list of batches."""
    cursor: tuple[str, str] = ("after", "last_id")
    """The query parameter of the next page, and the field that it comes from."""
    listed: str = "data"
    """The field with the batches of a page."""
    id: str = "id"
    state: str = "status"
    counts: str = "request_counts"
    created: str = "created_at"
    marker: str = "metadata.llm_rest"
    """The field for our name of the batch."""
    inputs: str = "input_file_id"
    outputs: tuple[str, ...] = ("output_file_id", "error_file_id")


FORMATS: dict[str, BatchFormat] = {
    "openai": BatchFormat(full=True),
    "openrouter": BatchFormat(inline=True, paged=True, cancel="", results="/batches/{id}"),
    "xai": BatchFormat(
        full=True,
        paged=True,
        cancel="/batches/{id}:cancel",
        results="/batches/{id}/results?limit=1000",
        cursor=("pagination_token", "pagination_token"),
        listed="batches",
        id="batch_id",
        counts="state",
        created="create_time",
        marker="name",
    ),
    "mistral": BatchFormat(
        batches="/batch/jobs",
        create="/batch/jobs",
        poll="/batch/jobs/{id}",
        cancel="/batch/jobs/{id}/cancel",
        page="page_size=100",
        cursor=("page", ""),
        inputs="input_files",
        outputs=("output_file", "error_file"),
    ),
    "anthropic": BatchFormat(
        body="params",
        inline=True,
        batches="{endpoint}/batches",
        create="{endpoint}/batches",
        poll="{endpoint}/batches/{id}",
        cancel="{endpoint}/batches/{id}/cancel",
        # `results_url` is the same, perhaps at another host, which must not get the key.
        results="{endpoint}/batches/{id}/results",
        cursor=("after_id", "last_id"),
        state="processing_status",
        outputs=(),
    ),
    # Inline jobs can grow too large to be read, so that they are not made.
    "google": BatchFormat(
        body="request",
        key="key",
        files="/upload{root}/files",
        batches="{root}/batches",
        create="{endpoint}",
        poll="{root}/{id}",
        cancel="{root}/{id}:cancel",
        results="/download{root}/{file}:download?alt=media",
        delete="{root}/{file}",
        page="pageSize=100",
        cursor=("pageToken", "nextPageToken"),
        listed="operations",
        id="name",
        state="metadata.state",
        counts="metadata.batchStats",
        created="metadata.createTime",
        marker="metadata.displayName",
        inputs="metadata.inputConfig.fileName",
        outputs=("response.responsesFile", "metadata.output.responsesFile"),
    ),
}
"""The batch APIs by name."""


class BatchDialect(Struct, frozen=True, kw_only=True):
    """The batch API of one vendor and its limits."""

    format: str = "openai"
    """The name of a row of `FORMATS`."""
    wires: tuple[str, ...] = ("openai_chat",)
    """The wires whose requests it takes."""
    max_requests: int = 50_000
    max_bytes: int = 100_000_000
    """The most bytes of an input file, or of the body that creates a batch. 100 MB is our limit, because the content is held in
    memory, where the vendor takes more or does not say."""
    one_model: bool = True
    """Whether all requests of a batch must have the same model."""
    takes_metadata: bool = True
    """Whether a batch can have metadata of ours, by which it is found again; otherwise its input file identifies it."""
    text_only: bool = False
    """Whether neither images nor audio, video and files are supported."""
    cost_factor: float = 0.5
    """The price of a token relative to an ordinary call."""

    @property
    def api(self) -> BatchFormat:
        """The paths and fields of its API."""
        return FORMATS[self.format]


RESPONSES, CHAT = "openai_responses", "openai_chat"
_OPENAI = BatchDialect(wires=(RESPONSES, CHAT), max_bytes=200_000_000)

DIALECTS: dict[str, BatchDialect] = {
    "openai": _OPENAI,
    "azure_openai": _OPENAI,
    "groq": BatchDialect(),
    "together": BatchDialect(takes_metadata=False),
    "cerebras": BatchDialect(),
    "openrouter": BatchDialect(format="openrouter", wires=(CHAT, RESPONSES), max_requests=5_000, text_only=True),
    "xai": BatchDialect(format="xai", wires=(RESPONSES, CHAT), max_requests=100_000, one_model=False),
    "mistral": BatchDialect(format="mistral", max_requests=1_000_000),
    "anthropic": BatchDialect(
        format="anthropic", wires=("anthropic_messages",), max_requests=100_000, max_bytes=256_000_000, one_model=False
    ),
    "google": BatchDialect(format="google", wires=("gemini_generate_content",), max_requests=1_000_000),
}
"""The vendors with a batch API that this library uses."""

WINDOWS = {"2h": 0.7, "8h": 0.6}
"""The completion windows of an OpenAI background response, and the price of a token in proportion to an ordinary call."""
