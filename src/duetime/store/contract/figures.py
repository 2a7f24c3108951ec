"""The contract of figures: workers add what they counted, series are read from the sums."""

from __future__ import annotations

from abc import ABC, abstractmethod

from duetime.model.health.figures import FigureBatch, FigureFilter, FigureSums
from duetime.store.flow import Flow


class FigureContract(ABC):
    """The verbs of figures, a part of `duetime.store.base.Store`."""

    @abstractmethod
    def add_figures(self, batch: FigureBatch) -> Flow[bool]:
        """Add the runs of a batch to those that the store has under the same keys. Return False,
        and change nothing, if a batch of this worker with this number or a higher one was added
        before, or if the store does not know the worker: only a sweep makes it known."""

    @abstractmethod
    def figures(self, wanted: FigureFilter) -> Flow[FigureSums]:
        """Return the sums of the figures in the filter's scope. Those in REST are of no tenant:
        they are summed, under REST, only where the scope is ANY. `capped` says, in any other scope,
        whether the time has such figures. A step without runs has no sum."""

    @abstractmethod
    def prune_figures(self, *, keep: int, limit: int) -> Flow[int]:
        """Delete up to `limit` figures of minutes that began more than `keep` microseconds ago, the
        oldest first; return how many."""
