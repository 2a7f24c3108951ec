"""The last report of an app's sweeps, as its store keeps it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from duetime.errors import UnreadableRow
from duetime.model.clock import from_micros
from duetime.model.transition import Report, RowError, Tally

# Errors of a report that are kept; `failed` counts all rows that failed.
MAX_ERRORS_KEPT = 100


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report as stored: when, by which worker or process, and its text."""

    app: str
    at: int
    worker: str
    report: str


@dataclass(frozen=True, slots=True)
class KeptReport:
    """The last report of an app: what its sweeps did since the report before. Ids of rows are
    shown as text; of the errors the first 100 are kept."""

    app: str
    at: datetime
    worker: str
    report: Report


def report_text(report: Report) -> str:
    """Return the text that a store keeps."""
    data = {
        "truncated": report.truncated,
        "errors": [_error_data(error) for error in report.errors[:MAX_ERRORS_KEPT]],
        "per_model": {model: _counts(tally) for model, tally in report.per_model.items()},
    }
    return json.dumps(data | _counts(report))


def _counts(tally: Tally) -> dict[str, int]:
    names = ("updated", "deleted", "skipped", "failed")
    return {name: getattr(tally, name) for name in names}


def _error_data(error: RowError) -> dict[str, object]:
    return {
        "model": error.model,
        "column": error.column,
        "id": None if error.id is None else str(error.id),
        "error": error.error,
        "attempts": error.attempts,
        "retry_at": None if error.retry_at is None else error.retry_at.isoformat(),
    }


def as_kept_report(stored: StoredReport) -> KeptReport:
    """Return the report that a text holds. UnreadableRow for one that duetime did not write."""
    try:
        return _as_kept_report(stored)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise UnreadableRow(
            f"the last report of app {stored.app!r} cannot be read: its row was written by other "
            "means than duetime; the next sweep that changes a row replaces it"
        ) from None


def _as_kept_report(stored: StoredReport) -> KeptReport:
    data: dict[str, Any] = json.loads(stored.report)
    report = Report(
        **{name: data[name] for name in ("updated", "deleted", "skipped", "failed", "truncated")},
        errors=[_as_error(error) for error in data["errors"]],
        per_model={model: Tally(**counts) for model, counts in data["per_model"].items()},
    )
    return KeptReport(stored.app, from_micros(stored.at), stored.worker, report)


def _as_error(data: dict[str, Any]) -> RowError:
    again = data["retry_at"]
    return RowError(**data | {"retry_at": None if again is None else datetime.fromisoformat(again)})
