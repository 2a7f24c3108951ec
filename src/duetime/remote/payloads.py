"""The payloads of a connected app: of the types that it knows, or plain data of a kind."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from duetime.errors import InvalidPayload
from duetime.model.payloads.registry import Payloads, PayloadType


@dataclass(frozen=True, slots=True)
class PlainPayload:
    """The data of a payload and its kind, for connected apps that do not have its class. The server
    checks the data against the class."""

    kind: str
    data: Any


@dataclass(frozen=True, slots=True)
class WrittenPayload(PlainPayload):
    """A payload as it is sent. It is written once: what it holds may be an iterator."""

    given: Any


class RemotePayloads(Payloads):
    """The payload types that a connected app knows. Others are left to its server."""

    def of(self, payload: object) -> PayloadType:
        if isinstance(payload, PlainPayload):
            return _plain_type(payload.kind)
        return super().of(payload)

    def encode(self, payload: object, limit: int) -> tuple[PayloadType, str]:
        if isinstance(payload, PlainPayload):
            return self.of(payload), _text(payload)
        return super().encode(payload, limit)

    def encode_many(
        self, payloads: Sequence[object], limit: int
    ) -> tuple[Sequence[PayloadType], Sequence[str]]:
        pairs = [self.encode(payload, limit) for payload in payloads]
        return [entry for entry, _ in pairs], [text for _, text in pairs]

    def written(self, payload: object) -> WrittenPayload:
        """Return the payload as it is sent. Raises what `schedule` raises for it."""
        entry, text = self.encode(payload, sys.maxsize)
        return WrittenPayload(entry.kind, json.loads(text), payload)

    def read(self, kind: str, data: Any) -> Any:
        """Return the typed payload; the data themselves if the kind is not known here, or if they
        do not fit its type."""
        if self.find(kind) is None:
            return data
        try:
            return self.parse(kind, json.dumps(data))
        except InvalidPayload:
            return data


def _plain_type(kind: str) -> PayloadType:
    from pydantic import TypeAdapter

    return PayloadType(kind, PlainPayload, 1, (), {}, "default", TypeAdapter(Any))


def _text(payload: PlainPayload) -> str:
    try:
        return json.dumps(payload.data, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidPayload(payload.kind, f"its data are no JSON: {error}") from None
