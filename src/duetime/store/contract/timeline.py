"""The contract of the timeline: what ran, what is scheduled, and which jobs tick."""

from __future__ import annotations

from abc import ABC, abstractmethod

from duetime.model.timeline import StoredTimeline, TimelineFilter
from duetime.store.flow import Flow


class TimelineContract(ABC):
    """The verb of the timeline, a part of `duetime.store.base.Store`."""

    @abstractmethod
    def timeline(self, wanted: TimelineFilter) -> Flow[StoredTimeline]:
        """Return what happened and what will, from `start` to before `end`, of the scope's tenant:
        the actions that finished then, newest first; the unfinished ones due then, by due time; and
        the jobs whose next tick is before `end`, by tick, if they are asked for.

        Each list has at most `limit` items, and is capped if it was cut. Where rows of several
        tenants lie together, only about `examined` of them are searched, in the order of the list;
        if there are more, it is capped.

        A read by index that locks nothing; its lists need not be of one snapshot. A job that this
        version cannot read is left out."""
