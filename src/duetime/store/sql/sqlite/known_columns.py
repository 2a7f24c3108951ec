"""The columns that this version's statements know.

Others are of a newer version, or somebody's own: the repair of damaged rows neither reads nor
judges them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, as the migrations define it."""

    name: str
    integer: bool
    required: bool
    # Whether its text is a UUID.
    uuid: bool


_NAMES = {
    "actions": (
        "id due_at expires_at lease_until started_at created_at modified_at tick after_at "
        "after_delay version attempt base_attempt priority losses token after kind "
        "lane queue tenant correlation_id key worker stop_by job triggered_by after_on "
        "created_by modified_by trace error progress payload"
    ),
    "history": (
        "id due_at expires_at lease_until started_at finished_at created_at modified_at tick "
        "after_at after_delay version attempt base_attempt priority losses token after "
        "kind state outcome queue tenant correlation_id key worker job triggered_by "
        "after_on created_by modified_by cancelled_by trace error error_group result progress "
        "payload"
    ),
    "runs": (
        "id action_id due_at started_at finished_at lease_until attempt worker outcome result error"
    ),
    "tracebacks": ("action_id run_id kept_at traceback"),
    "jobs": ("name app tenant declared next_due_at retired_at removed_at record"),
    "workers": (
        "id app host pid kinds queues concurrency started_at seen_at jobs health code_version "
        "slots figures_added"
    ),
    "queues": ("name paused_at paused_by pause_note paused_until"),
    "audit": ("id at by tenant verb subject subject_id before after note source address"),
    # What else of these is damaged counts for nothing: see `column_reader.py`.
    "grants": ("id"),
    "api_keys": ("id"),
}
_INTEGERS = frozenset(
    (
        *("due_at", "lease_until", "started_at", "finished_at", "created_at", "modified_at"),
        *("next_due_at", "retired_at", "removed_at", "seen_at", "tick", "after_at", "after_delay"),
        *("kept_at", "expires_at", "at", "paused_at", "paused_until"),
        *("version", "attempt", "base_attempt", "priority", "losses"),
        *("declared", "pid", "concurrency", "figures_added"),
    )
)
# In every table that has them, but for `_OPTIONAL`.
_REQUIRED = frozenset(
    (
        *("id", "action_id", "lease_until", "finished_at", "created_at", "version", "attempt"),
        *("base_attempt", "priority", "losses", "kind", "state", "queue", "created_by", "payload"),
        *("name", "app", "host", "pid", "kinds", "queues", "concurrency", "seen_at", "started_at"),
        *("declared", "record"),
        *("run_id", "kept_at", "traceback"),
        *("at", "by", "verb", "subject", "subject_id", "before", "after"),
    )
)
_OPTIONAL = frozenset(
    (
        *(("history", "lease_until"), ("runs", "lease_until"), ("runs", "finished_at")),
        *(("actions", "started_at"), ("history", "started_at"), ("runs", "started_at")),
        *(("actions", "after"), ("history", "after")),
    )
)


# A worker's id is a text of its own making.
_UUIDS = frozenset(
    (
        *(("actions", "id"), ("actions", "token"), ("actions", "after")),
        *(("history", "id"), ("history", "token"), ("history", "after")),
        *(("runs", "id"), ("runs", "action_id")),
        *(("tracebacks", "action_id"), ("tracebacks", "run_id")),
        *(("audit", "id"), ("grants", "id"), ("api_keys", "id")),
    )
)


def _column(table: str, name: str) -> Column:
    place = (table, name)
    required = name in _REQUIRED and place not in _OPTIONAL
    return Column(name, name in _INTEGERS, required, place in _UUIDS)


KNOWN_COLUMNS: Mapping[str, Sequence[Column]] = {
    table: tuple(_column(table, name) for name in names.split()) for table, names in _NAMES.items()
}
