"""Payloads as a store keeps them: JSON that holds what their type declares, and is read back so."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from duetime.errors import InvalidPayload
from duetime.model.payloads.errors import reason

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from duetime.model.payloads.registry import PayloadType

# As JSON writes it: after no backslash or an even number of them.
NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")

# Of so many at once it is asked whether all are sound.
TOGETHER = 100


def written_alone(entry: PayloadType, payload: object, limit: int) -> str:
    """As JSON; InvalidPayload unless it holds what its type declares, and can be read back."""
    data = _written(entry, [payload], warnings="error")
    _check_text(entry, payload, data[0], limit)
    _check_read_back(entry, data[0])
    return data[0].decode()


def written_many(
    entry: PayloadType, many: TypeAdapter[Any], payloads: Sequence[object], limit: int
) -> list[str]:
    """The same for many of one type.

    To be told `warnings="error"` takes pydantic several times as long as to write a small payload.
    So it is told once for a hundred of them; and if that fails, for each.
    """
    data = _written(entry, payloads, warnings=False)
    for first in range(0, len(payloads), TOGETHER):
        some = slice(first, first + TOGETHER)
        _check_together(entry, many, payloads[some], data[some], limit)
    return [one.decode() for one in data]


def _written(
    entry: PayloadType, payloads: Sequence[object], warnings: Literal[False, "error"]
) -> list[bytes]:
    """To be done before anything else reads a payload: who reads an iterator later finds nothing
    in it."""
    write = entry.adapter.serializer.to_json
    try:
        return [write(payload, warnings=warnings) for payload in payloads]
    except Exception as error:
        raise InvalidPayload(entry.kind, reason(error)) from error


def _check_together(
    entry: PayloadType,
    many: TypeAdapter[Any],
    payloads: Sequence[object],
    data: Sequence[bytes],
    limit: int,
) -> None:
    joined = b",".join(data)
    if b"null" in joined or b"u0000" in joined or max(map(len, data)) > limit:
        for payload, one in zip(payloads, data, strict=True):
            _check_text(entry, payload, one, limit)
    try:
        many.serializer.to_json(payloads, warnings="error")
        many.validator.validate_json(b"[%b]" % joined)
    except Exception:  # noqa: BLE001 - the one that it is about raises it again
        for payload, one in zip(payloads, data, strict=True):
            _written(entry, [payload], warnings="error")
            _check_read_back(entry, one)


def _check_text(entry: PayloadType, payload: object, data: bytes, limit: int) -> None:
    """What pydantic writes, but not every store can keep."""
    try:
        if b"null" in data:
            # Pydantic writes null for NaN and infinity.
            to_json(_plain(entry.adapter.dump_python(payload, warnings=False)))
        if b"u0000" in data and NUL.search(data):
            raise ValueError("NUL (\\x00) cannot be kept by every store; leave it out")
    except Exception as error:
        raise InvalidPayload(entry.kind, reason(error)) from error
    if len(data) > limit:
        raise InvalidPayload(
            entry.kind,
            f"{len(data):,} bytes of JSON, max_payload is {limit:,}; "
            "store the data elsewhere and schedule its id, or raise max_payload",
        )


def _check_read_back(entry: PayloadType, data: bytes) -> None:
    try:
        entry.adapter.validator.validate_json(data)
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
