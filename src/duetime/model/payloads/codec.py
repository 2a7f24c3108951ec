"""Encode payloads as JSON, checked against their type and for being readable again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from duetime.errors import InvalidPayload
from duetime.model.payloads.errors import reason
from duetime.model.payloads.secrets import unmasked

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from duetime.model.payloads.registry import PayloadType

# NUL as JSON escapes it: after no backslash or an even number of them.
NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")

# How many payloads are validated by one call.
VALIDATION_BATCH_SIZE = 100


def written_alone(entry: PayloadType, payload: object, limit: int) -> str:
    """Return a payload as JSON. InvalidPayload unless it fits its type and can be read back."""
    data = _written(entry, [payload], warnings="error")
    _check_text(entry, payload, data[0], limit)
    _check_read_back(entry, payload, data[0])
    return data[0].decode()


def written_many(
    entry: PayloadType, many: TypeAdapter[Any], payloads: Sequence[object], limit: int
) -> list[str]:
    """Return payloads of one type as JSON, checked like a single one.

    `warnings="error"` takes pydantic several times as long as writing a small payload. It is
    therefore used once per batch of a hundred, and for each payload only if that fails.
    """
    data = _written(entry, payloads, warnings=False)
    for first in range(0, len(payloads), VALIDATION_BATCH_SIZE):
        batch = slice(first, first + VALIDATION_BATCH_SIZE)
        _check_batch(entry, many, payloads[batch], data[batch], limit)
    return [text.decode() for text in data]


def _written(
    entry: PayloadType, payloads: Sequence[object], warnings: Literal[False, "error"]
) -> list[bytes]:
    """Return payloads as JSON bytes. Must be the first to read a payload: an iterator in it can be
    read only once."""
    write = entry.adapter.serializer.to_json
    try:
        written = [write(payload, warnings=warnings) for payload in payloads]
        return _unmasked(entry, payloads, written) if entry.secret else written
    except Exception as error:  # noqa: BLE001 - raised as InvalidPayload
        raise InvalidPayload(entry.kind, reason(error)) from named_cause(entry, error)


def _unmasked(
    entry: PayloadType, payloads: Sequence[object], written: Sequence[bytes]
) -> list[bytes]:
    """Return payloads as they are stored: with their secrets, which pydantic has masked."""
    plain = (entry.adapter.dump_python(payload, warnings=False) for payload in payloads)
    pairs = zip(written, plain, strict=True)
    return [to_json(unmasked(json.loads(data), value)).encode() for data, value in pairs]


def named_cause(entry: PayloadType, error: Exception) -> Exception | None:
    """Return an error as the cause of another one; None if its text could quote secrets."""
    return None if entry.secret else error


def _check_batch(
    entry: PayloadType,
    many: TypeAdapter[Any],
    payloads: Sequence[object],
    data: Sequence[bytes],
    limit: int,
) -> None:
    joined = b",".join(data)
    if b"null" in joined or b"u0000" in joined or max(map(len, data)) > limit:
        for payload, text in zip(payloads, data, strict=True):
            _check_text(entry, payload, text, limit)
    try:
        many.serializer.to_json(payloads, warnings="error")
        stored = many.validator.validate_json(b"[%b]" % joined)
        if entry.untyped is not None:
            for payload, read in zip(payloads, stored, strict=True):
                entry.untyped.check(entry.kind, payload, read)
    except Exception:  # noqa: BLE001 - the invalid payload raises it again below
        for payload, text in zip(payloads, data, strict=True):
            _written(entry, [payload], warnings="error")
            _check_read_back(entry, payload, text)


def _check_text(entry: PayloadType, payload: object, data: bytes, limit: int) -> None:
    """Refuse what pydantic writes but not every store can keep."""
    try:
        if b"null" in data:
            # Pydantic writes null for NaN and infinity.
            to_json(_plain(entry.adapter.dump_python(payload, warnings=False)))
        if b"u0000" in data and NUL.search(data):
            raise ValueError("not every store can keep NUL (\\x00); leave it out")
    except Exception as error:  # noqa: BLE001 - raised as InvalidPayload
        raise InvalidPayload(entry.kind, reason(error)) from named_cause(entry, error)
    if len(data) > limit:
        raise InvalidPayload(
            entry.kind,
            f"{len(data):,} bytes of JSON, max_payload is {limit:,}; "
            "store the data elsewhere and schedule its id, or increase max_payload",
        )


def _check_read_back(entry: PayloadType, payload: object, data: bytes) -> None:
    try:
        stored = entry.adapter.validator.validate_json(data)
    except Exception as error:  # noqa: BLE001 - raised as InvalidPayload
        raise InvalidPayload(entry.kind, reason(error)) from named_cause(entry, error)
    if entry.untyped is not None:
        entry.untyped.check(entry.kind, payload, stored)


def to_json(data: object) -> str:
    """Return compact JSON; NaN and infinity are refused, because JSON has neither."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _plain(data: Any) -> object:
    """Return the data as lists of its floats; everything else was already encoded."""
    if isinstance(data, Mapping):
        return [_plain(value) for pair in data.items() for value in pair]
    if isinstance(data, list | tuple | set | frozenset):
        return [_plain(value) for value in data]
    return data if isinstance(data, float) else None
