"""The trial of bulks: every action is shifted, compared with hand-written statements on the same
tables."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID, uuid4

import psycopg
from trial import Goal, Spot, Trial

from duetime.app import Duetime
from duetime.bench.figures import RoundFigures
from duetime.bench.work import Noop, make_app

COUNT = 100_000
HOUR = 3600
BATCH = 1000
SHIFT = "shift /s"

UPDATE = """
UPDATE duetime_actions
SET due_at = due_at + 3600000000, modified_at = %(now)s, modified_by = 'bare'
WHERE id = ANY(%(ids)s) AND token IS NULL
"""
AUDIT = """
INSERT INTO duetime_audit (id, at, "by", verb, subject, subject_id, before, after)
SELECT unnest(%(entries)s), %(now)s, 'bare', 'reschedule', 'action',
    CAST(unnest(%(ids)s) AS text), '{"state": "scheduled"}', '{"state": "scheduled"}'
"""


@contextmanager
def filled(spot: Spot) -> Iterator[tuple[Duetime, list[UUID]]]:
    """An app with actions that are due in an hour, and their ids, the newest first."""
    app = make_app(**spot.server_place)
    count = spot.count(COUNT)
    made = app.sync.schedule_many([app.request(Noop(n), delay=HOUR) for n in range(count)])
    yield app, [action.id for action in reversed(made)]
    app.sync.close()


async def shift_in_bulk(spot: Spot) -> RoundFigures:
    with filled(spot) as (app, ids):
        began = time.perf_counter()
        done = app.sync.bulk("shift", filter={"state": "scheduled"}, seconds=HOUR)
        changed = done.changed
        while done.next_cursor is not None:
            done = app.sync.bulk("shift", cursor=done.next_cursor)
            changed += done.changed
        took = time.perf_counter() - began
    if changed != len(ids):
        raise RuntimeError(f"{changed} of {len(ids)} actions were shifted")
    return {SHIFT: changed / took}


async def update_and_insert(spot: Spot) -> RoundFigures:
    """One UPDATE and one INSERT of audit entries for every thousand ids, in a transaction."""
    with filled(spot) as (_, ids), psycopg.connect(spot.url, autocommit=True) as connection:
        began = time.perf_counter()
        for first in range(0, len(ids), BATCH):
            batch = ids[first : first + BATCH]
            params = {
                "ids": batch,
                "entries": [uuid4() for _ in batch],
                "now": time.time_ns() // 1000,
            }
            with connection.transaction():
                connection.execute(UPDATE, params)
                connection.execute(AUDIT, params)
        took = time.perf_counter() - began
    return {SHIFT: len(ids) / took}


SHIFTS = Trial(
    "shift",
    "shift 100,000 scheduled actions in bulk",
    {"duetime": shift_in_bulk, "UPDATE and INSERT": update_and_insert},
    [
        Goal(
            "0.5 x a bare UPDATE with an audit INSERT",
            ("duetime", SHIFT),
            0.5,
            ("UPDATE and INSERT", SHIFT),
        )
    ],
)
TRIALS = [SHIFTS]
