"""The verb of the timeline: checks its arguments and returns an Operation."""

from __future__ import annotations

from datetime import datetime

from duetime.api.arguments import TenantArgument, to_scope
from duetime.api.operation import Operation
from duetime.errors import InvalidArgument
from duetime.model.clock import to_micros
from duetime.model.tenant import AMBIENT
from duetime.model.timeline import MAX_LIMIT, Timeline, TimelineFilter, timeline_of
from duetime.model.validation import check_count, instant
from duetime.registry.runtime import AppRuntime


class TimelineVerbs:
    """Builds the operation that reads the timeline; a part of the verbs of an app."""

    runtime: AppRuntime

    def timeline(
        self,
        start: datetime,
        end: datetime,
        *,
        limit: int = 100,
        ticks: bool = True,
        tenant: TenantArgument = AMBIENT,
    ) -> Operation[Timeline]:
        """What this tenant's actions and jobs do from `start` to before `end`: what ran, newest
        first; what is running or scheduled, soonest first; and the coming `ticks` of jobs. Each
        list has at most `limit` items, and a job at most 200 ticks."""
        first, last = to_micros(instant("start", start)), to_micros(instant("end", end))
        if first >= last:
            raise InvalidArgument("end", end, f"give an instant after start, {start}")
        if not isinstance(ticks, bool):
            raise InvalidArgument("ticks", ticks, "give True or False")
        wanted = TimelineFilter(
            start=first,
            end=last,
            tenant=to_scope(tenant),
            limit=check_count("limit", limit, MAX_LIMIT),
            with_jobs=ticks,
        )
        flow = self.runtime.store.timeline(wanted)
        return Operation(flow, lambda found: timeline_of(wanted, found))
