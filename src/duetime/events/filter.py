"""The filter of a subscriber: by the action's kind, the job's name, the tenant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from duetime.events.types import Event


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Accepts an event if each of its fields is among the values given for it; None allows all.

    `wire_name` gives the current name of a kind, so that a kind includes its aliases.
    """

    kinds: frozenset[str] | None = None
    jobs: frozenset[str] | None = None
    tenants: frozenset[str | None] | None = None
    wire_name: Callable[[str], str] = str

    def accepts(self, event: Event) -> bool:
        kind, job = getattr(event, "kind", ""), getattr(event, "job", "")
        return self.accepts_fields(kind=kind, job=job, tenant=event.tenant)

    def accepts_fields(self, *, kind: str = "", job: str = "", tenant: str | None) -> bool:
        """Decide by the fields of an event that has not been built yet."""
        if self.kinds is not None and self.kinds.isdisjoint((kind, self.wire_name(kind))):
            return False
        if self.jobs is not None and job not in self.jobs:
            return False
        return self.tenants is None or tenant in self.tenants
