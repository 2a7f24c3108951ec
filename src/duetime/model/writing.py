"""Payloads as a store keeps them: JSON that holds what their type declares, and is read back so."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from duetime.errors import InvalidPayload
from duetime.model.misfit import reason

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from duetime.model.payload import PayloadType

# As JSON writes it: after no backslash or an even number of them.
NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")

# Of so many at once it is asked whether all are sound.
TOGETHER = 100


def written(
    entry: PayloadType, payload: object, limit: int, warnings: Literal[False, "error"] = False
) -> str:
    """To be done before anything else reads the payload: who reads an iterator later finds nothing
    in it."""
    try:
        data = entry.adapter.serializer.to_json(payload, warnings=warnings)
        text, size = data.decode(), len(data)
        if "null" in text:
            # Pydantic writes null for NaN and infinity.
            to_json(_plain(entry.adapter.dump_python(payload, warnings=False)))
        if "u0000" in text and NUL.search(text):
            raise ValueError("NUL (\\x00) cannot be kept by every store; leave it out")
    except Exception as error:
        raise InvalidPayload(entry.kind, reason(error)) from error
    if size > limit:
        raise InvalidPayload(
            entry.kind,
            f"{size:,} bytes of JSON, max_payload is {limit:,}; "
            "store the data elsewhere and schedule its id, or raise max_payload",
        )
    return text


def written_alone(entry: PayloadType, payload: object, limit: int) -> str:
    """The same, checked."""
    text = written(entry, payload, limit, warnings="error")
    try:
        entry.adapter.validator.validate_json(text)
    except Exception as error:
        raise InvalidPayload(entry.kind, reason(error)) from error
    return text


def check_written(
    entry: PayloadType, many: TypeAdapter[Any], ones: Sequence[tuple[object, str]]
) -> None:
    """InvalidPayload unless all of one type hold what it declares, and can be read back.

    To be told `warnings="error"` takes pydantic several times as long as to write a small payload.
    So it is told once for a hundred of them; and if that fails, for each.
    """
    for first in range(0, len(ones), TOGETHER):
        part = ones[first : first + TOGETHER]
        try:
            many.serializer.to_json([payload for payload, _ in part], warnings="error")
            many.validator.validate_json(f"[{','.join([text for _, text in part])}]")
        except Exception:  # noqa: BLE001 - the one that it is about raises it again
            for payload, text in part:
                _check_one(entry, payload, text)


def _check_one(entry: PayloadType, payload: object, text: str) -> None:
    try:
        entry.adapter.serializer.to_json(payload, warnings="error")
        entry.adapter.validator.validate_json(text)
    except Exception as error:
        raise InvalidPayload(entry.kind, reason(error)) from error


def to_json(data: object) -> str:
    """Compact JSON; NaN and infinity are refused, because JSON has neither."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _plain(data: Any) -> object:
    """The numbers in it, in lists: what else is in it was written already."""
    if isinstance(data, Mapping):
        return [_plain(value) for pair in data.items() for value in pair]
    if isinstance(data, list | tuple | set | frozenset):
        return [_plain(value) for value in data]
    return data if isinstance(data, float) else None
