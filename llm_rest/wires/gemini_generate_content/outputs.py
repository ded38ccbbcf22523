"""What functions gave: an output of Responses, which is text or parts, and `functionResponse`, whose `response` is an object.

A text goes out as `{"output": text}`, a failure as `{"error": text}`, and any other object comes back as its JSON text. Before
changing this file, know that an output finds its call by id, else by name, else by order, and that it names the function, which
an output of Responses does not. Follows Google's guide to function calling and the reference of `FunctionResponse` (read
2026-11-20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ...responses.items import CustomToolCallOutput, Direct, FunctionCallOutput
from ...responses.parts import InputText
from ...unknown import given
from . import types
from .carried import ABSENT, document_fields, encode, left, merged, own_fields, report_extras, rest, spelling, text_of
from .media import decode_parts, encode_parts
from .names import wire_name

if TYPE_CHECKING:
    from ...responses.items import CustomToolCall, FunctionCall
    from ...responses.parts import ContentPart
    from .media import Context
    from .reader import Asked

Output = FunctionCallOutput | CustomToolCallOutput

_object = msgspec.json.Decoder(dict[str, Raw])
_json = msgspec.json.Decoder(Raw)


# --- Responses to this wire -----------------------------------------------------------------------------------------


def encode_output(
    item: Output, call: FunctionCall | CustomToolCall | None, path: str, context: Context
) -> tuple[types.Part, list[types.Part]]:
    """The part with the output of `call`, and the media that have to stand beside it."""
    lost = context.lost
    report_extras(item, path, lost)
    own = own_fields(item.leftovers, path, lost)
    spelled = spelling(own)
    name = call.name if call else item.call_id or ""
    if isinstance(item, FunctionCallOutput) and given(item.name):
        name = item.name
    elif call:
        name = wire_name(name, call.namespace or "")
    if isinstance(item, CustomToolCallOutput):
        lost.emulated(path, "a custom tool's output is sent as a function's")
    if given(item.caller) and not isinstance(item.caller, Direct):
        lost.dropped(f"{path}.caller", "which program made the call")
    text, media, beside = _content(item, path, context)
    if text is None and item.is_error:
        lost.changed(f"{path}.output", "an error is told in words, of which there are none")
        text = ""
    encoded = types.FunctionResponse(id=item.call_id or "", name=name, response=_object_of(item, text, spelled))
    if media:
        encoded.parts = media
    told_none = (
        call is not None and call.leftovers is not UNSET and spelling(call.leftovers.get(types.WIRE, {})).get("id")
    )
    if "id" in spelled:
        encoded.id = UNSET if spelled["id"] == ABSENT else str(spelled["id"])
    elif told_none == ABSENT:
        encoded.id = UNSET
    if spelled.get("name") == ABSENT:
        encoded.name = UNSET
    part = types.Part(function_response=encoded)
    return merged(part, document_fields(own), path, lost), beside


def _content(
    item: Output, path: str, context: Context
) -> tuple[str | None, list[types.FunctionResponsePart], list[types.Part]]:
    """The text of an output (`None` where it has none), its media inside, and its media beside."""
    if isinstance(item.output, str):
        return item.output, [], []
    lost, allowed = context.lost, context.model.media_in_outputs
    texts: list[str] = []
    inside: list[types.FunctionResponsePart] = []
    beside: list[types.Part] = []
    for part in encode_parts(item.output, f"{path}.output", context):
        if given(part.text):
            texts.append(part.text)
        elif _media_type(part) in allowed:
            inside.append(
                types.FunctionResponsePart(
                    inline_data=part.inline_data, file_data=part.file_data, media_processing=part.media_processing
                )
            )
            if given(part.media_resolution):
                lost.dropped(f"{path}.output", "how closely a function's image is looked at")
        else:
            lost.changed(f"{path}.output", "media that cannot stand in an output here, sent beside it")
            beside.append(part)
    if len(texts) > 1:
        lost.changed(f"{path}.output", "texts of an output, sent as one")
    said = texts or beside or (item.output and not inside)
    return "\n".join(texts) if said else None, inside, beside


def _media_type(part: types.Part) -> str:
    media = part.inline_data or part.file_data
    return (media.mime_type or "") if media else ""


def _object_of(item: Output, text: str | None, spelled: types.Json) -> Raw | UnsetType:
    """`response`: as it was spelled, where the text still is what it came from, else the text under its usual key."""
    key = "error" if item.is_error else "output"
    form = spelled.get("response")
    if not text and form == ABSENT:
        return UNSET
    if text is None:
        return Raw(b"{}")
    if form in ("whole", "value"):
        value = _value(text)
        if value is not None and (form == "value" or bytes(value)[:1] == b"{"):
            return value if form == "whole" else Raw(encode({key: value}))
    return Raw(encode({key: text}))


def _value(text: str) -> Raw | None:
    try:
        return _json.decode(text.encode("utf-8", "replace"))
    except msgspec.MsgspecError:
        return None


# --- this wire to Responses -----------------------------------------------------------------------------------------


def decode_output(
    part: types.Part, response: types.FunctionResponse, asked: list[Asked], fallback: str
) -> FunctionCallOutput:
    """The output in a part, for the call among those `asked` that it answers; `fallback` is its id where there is none."""
    found = _answered(response, asked)
    fields = rest(part, ("functionResponse",))
    more = rest(response, ("id", "name", "response", "parts"))
    spelled: types.Json = {}
    item = FunctionCallOutput(call_id=found.call_id if found else response.id or fallback, output="")
    if (response.id or None) != (found.wire_id if found else item.call_id):
        spelled["id"] = response.id or ABSENT
    if given(response.name) and response.name != (found.name if found else item.call_id):
        item.name = response.name
    elif not given(response.name):
        spelled["name"] = ABSENT
    text = _decode_object(item, response.response, spelled)
    media = [
        types.Part(inline_data=one.inline_data, file_data=one.file_data, media_processing=one.media_processing)
        for one in response.parts or ()
    ]
    if media:
        texts: list[ContentPart] = [] if text is None else [InputText(text=text)]
        item.output = [*texts, *decode_parts(media)]
    elif text is not None:
        item.output = text
    elif response.response is not UNSET:
        item.output = []
    if more:
        fields["functionResponse"] = more
    item.leftovers = left(fields, spelled)
    return item


def _answered(response: types.FunctionResponse, asked: list[Asked]) -> Asked | None:
    """The call that is answered, which is then no longer asked."""
    found = None
    if given(response.id):
        found = next((call for call in asked if call.call_id == response.id), None)
    else:
        found = next((call for call in asked if call.name == response.name), asked[0] if asked else None)
    if found is not None:
        asked.remove(found)
    return found


def _decode_object(item: FunctionCallOutput, response: Raw | UnsetType, spelled: types.Json) -> str | None:
    """The text in `response`; `None` where it says nothing."""
    if response is UNSET:
        spelled["response"] = ABSENT
        return None
    try:
        found = _object.decode(response)
    except (msgspec.MsgspecError, UnicodeError):
        spelled["response"] = "whole"
        return text_of(response)
    if not found:
        return None
    key = next(iter(found))
    if len(found) == 1 and key in ("output", "error"):
        if key == "error":
            item.is_error = True
        value = found[key]
        if bytes(value)[:1] == b'"':
            return str(msgspec.json.decode(value))
        spelled["response"] = "value"
        return text_of(value)
    spelled["response"] = "whole"
    return text_of(response)
