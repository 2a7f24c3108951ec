"""Figures, for all SQL stores: added by workers, summed for series, pruned."""

from __future__ import annotations

from abc import ABC
from typing import cast

from duetime.model.health.figures import (
    FigureBatch,
    FigureFilter,
    FigureKey,
    FigureSum,
    FigureSums,
)
from duetime.model.tenant import ANY
from duetime.model.validation import is_storable
from duetime.store.base import Store
from duetime.store.flow import Mode, Row, Statement, Steps, flow
from duetime.store.sql.statements.bulk_rows import json_param


class FigureFlows(Store, ABC):
    @flow(resend=True)
    def add_figures(self, batch: FigureBatch) -> Steps[bool]:
        accepted = yield Statement(
            "figures_accept", {"worker": batch.worker, "number": batch.number}
        )
        if accepted and batch.runs:
            yield Statement("figures_add", {"rows": _figure_rows(batch)})
        return bool(accepted)

    @flow(Mode.read)
    def figures(self, wanted: FigureFilter) -> Steps[FigureSums]:
        params = _filter_params(wanted)
        if wanted.by is not None:
            largest = yield Statement("figures_largest", params | {"limit": wanted.most})
            params["names"] = json_param(row[0] for row in largest if _is_name(row[0]))
        sums = [_figure_sum(row) for row in (yield Statement("figures", params))]
        if wanted.tenant is ANY:
            return FigureSums(sums, capped=False)
        ((has_rest,),) = yield Statement("figures_rest", params)
        return FigureSums(sums, capped=bool(has_rest))

    @flow(Mode.single)
    def prune_figures(self, *, keep: int, limit: int) -> Steps[int]:
        found = yield Statement("figures_prune", {"keep": keep, "limit": limit})
        return len(found)


def _figure_rows(batch: FigureBatch) -> str:
    """Return the `:rows` of `_figure_rows.sql`, in the order in which all flows lock figures."""
    ordered = sorted((_stored(key), runs) for key, runs in batch.runs)
    return json_param(key._asdict() | {"runs": runs} for key, runs in ordered)


def _stored(key: FigureKey) -> FigureKey:
    """Return the key as it is stored: an empty tenant is none, since no tenant has that name."""
    return key._replace(tenant=key.tenant or "")


def _filter_params(wanted: FigureFilter) -> dict[str, object]:
    return {
        "since": wanted.since,
        "until": wanted.until,
        "step": wanted.step,
        "outcome": wanted.outcome,
        "tenant": wanted.tenant if isinstance(wanted.tenant, str) else None,
        "untenanted": wanted.tenant is None or None,
        "apart": wanted.tenant is not ANY or None,
        "by_queue": wanted.by == "queue" or None,
        "by_kind": wanted.by == "kind" or None,
        "by_outcome": wanted.by == "outcome" or None,
        "buckets": wanted.buckets,
        "by_lateness": wanted.buckets == "lateness" or None,
        "by_duration": wanted.buckets == "duration" or None,
    }


def _is_name(value: object) -> bool:
    """Return whether a row holds a name; the figures of all others are shown together."""
    return isinstance(value, str) and is_storable(value)


def _figure_sum(row: Row) -> FigureSum:
    return FigureSum(*cast("tuple[int, str, int, int]", tuple(row)))
