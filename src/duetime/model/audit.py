"""The audit log: who did what to which subject, and how it was before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One administrative act, written in the transaction that did it; never changed."""

    id: UUID
    at: int
    by: str
    tenant: str | None
    verb: str
    subject: str
    subject_id: str
    before: Mapping[str, object]
    after: Mapping[str, object]
