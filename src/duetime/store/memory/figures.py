"""The verbs of figures of a MemoryStore."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter

from duetime.model.health.buckets import UNMEASURED
from duetime.model.health.figures import (
    REST,
    FigureBatch,
    FigureFilter,
    FigureKey,
    FigureSum,
    FigureSums,
)
from duetime.model.tenant import ANY, sees
from duetime.store.base import Store
from duetime.store.flow import immediate
from duetime.store.memory.tables import Tables


class MemoryFigures(Store, ABC):
    """`add_figures`, `figures` and `prune_figures`."""

    _tables: Tables

    @abstractmethod
    def _now(self) -> int: ...

    @immediate
    def add_figures(self, batch: FigureBatch) -> bool:
        if batch.worker not in self._tables.workers:
            return False
        if batch.number <= self._tables.figure_batches.get(batch.worker, 0):
            return False
        self._tables.note_figure_batch(batch.worker, batch.number)
        for key, runs in batch.runs:
            self._tables.set_figure(key, self._tables.figures.get(key, 0) + runs)
        return True

    @immediate
    def figures(self, wanted: FigureFilter) -> FigureSums:
        known = self._tables.figures.items()
        within = {key: runs for key, runs in known if wanted.since <= key.minute < wanted.until}
        rest = any(key.kind == REST for key in within)
        shown = {key: runs for key, runs in within.items() if _fits(key, wanted)}
        largest = _largest_values(shown, wanted)
        sums: Counter[tuple[int, str, int]] = Counter()
        for key, runs in shown.items():
            step = (key.minute - wanted.since) // wanted.step
            value = _value(key, wanted)
            sums[step, value if value in largest else REST, _bucket(key, wanted)] += runs
        found = [FigureSum(*place, runs) for place, runs in sums.items()]
        return FigureSums(found, capped=rest and wanted.tenant is not ANY)

    @immediate
    def prune_figures(self, *, keep: int, limit: int) -> int:
        before = self._now() - keep
        oldest_first = sorted(self._tables.figures, key=lambda key: key.minute)
        old = [key for key in oldest_first if key.minute < before][:limit]
        for key in old:
            self._tables.set_figure(key, None)
        return len(old)


def _fits(key: FigureKey, wanted: FigureFilter) -> bool:
    if wanted.outcome not in (None, key.outcome):
        return False
    return wanted.tenant is ANY or (sees(wanted.tenant, key.tenant) and key.kind != REST)


def _largest_values(shown: dict[FigureKey, int], wanted: FigureFilter) -> set[str]:
    totals: Counter[str] = Counter()
    for key, runs in shown.items():
        totals[_value(key, wanted)] += runs
    del totals[REST]
    return set(sorted(totals, key=lambda value: (-totals[value], value))[: wanted.most])


def _value(key: FigureKey, wanted: FigureFilter) -> str:
    return REST if wanted.by is None else str(getattr(key, wanted.by))


def _bucket(key: FigureKey, wanted: FigureFilter) -> int:
    return UNMEASURED if wanted.buckets is None else int(getattr(key, wanted.buckets))
