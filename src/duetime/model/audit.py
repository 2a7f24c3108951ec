"""The audit log: who changed which subject, and its fields before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An administrative change, written in its transaction and never modified."""

    id: UUID
    at: int
    by: str
    tenant: str | None
    verb: str
    subject: str
    subject_id: str
    before: Mapping[str, object]
    after: Mapping[str, object]
