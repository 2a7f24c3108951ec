"""The worker's verbs, each once, for every SQL store."""

from __future__ import annotations

import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, cast
from uuid import UUID

from duetime.errors import LeaseLost
from duetime.model.actions.claim import (
    Claimed,
    ClaimOrder,
    Expired,
    LaneHead,
    Lease,
    Presence,
    Renewed,
    Swept,
)
from duetime.model.actions.completion import Again, Completed, Ending, Finish
from duetime.model.clock import monotonic
from duetime.model.jobs.change import JobEnd
from duetime.store.base import Store
from duetime.store.flow import Flow, Mode, Row, Rows, Statement, Steps, flow
from duetime.store.sql.flows import records as rows
from duetime.store.sql.flows.job_records import HeldJobs
from duetime.store.sql.flows.wakes import wake
from duetime.store.sql.statements.bulk_rows import dump

# So many actions at the front of each lane are asked for their lease in every sweep. The
# planner must not think it dear: above a cost of 100,000 it would compile the statement.
FRONT = 100
# All actions are asked as often as it costs a worker two percent of its time.
DEEP_LOOK_SHARE = 50

# So many children that wait are asked for their parent in every sweep.
WINDOW = 2000
FIRST_ID = UUID(int=0)

# The columns by which the rows of `claim.sql` are put in order.
TURN_AND_DUE = itemgetter(1, 10)

# A worker that was not seen for so long is gone: it shows itself every few seconds.
KEEP_WORKER = 3_600_000_000


class WorkerFlows(Store, ABC):
    """Claiming, completing, renewing, and looking after the rest.

    Written for a dialect that can change rows inside a WITH clause; for SQLite, which cannot,
    `sqlite_flows.py` says otherwise.
    """

    _next_deep_look = 0.0
    _beyond = FIRST_ID

    @flow(Mode.claim)
    def claim(self, order: ClaimOrder) -> Steps[Claimed]:
        spans = [
            {"turn": turn, "lane": span.lane, "since": span.since, "ahead": span.ahead}
            for turn, span in enumerate(order.spans)
        ]
        params = order_params(order) | {"rows": dump(spans), "tokens": token_prefix()}
        found = yield Statement("claim", params)
        # UPDATE gives its rows in an order of its own; turn and due time stand in the row.
        taken: list[Any] = sorted(found, key=TURN_AND_DUE)
        # The clock comes with each row: to send it beside them took a sixth of the time.
        now = taken[0][0] if taken else (yield from clock())
        return Claimed(now, rows.claims(taken))

    def complete(
        self, endings: Sequence[Ending], *, rescuing: bool = False, impatient: bool = False
    ) -> Flow[Completed]:
        # The first ending of a run counts, also within one call.
        by_token = {one.token.int: one for one in reversed(endings)}
        first = [*reversed(by_token.values())]
        finishes = [one for one in first if isinstance(one, Finish)]
        agains = [one for one in first if isinstance(one, Again)]
        of_jobs = [one for one in finishes if one.job is not None]
        mode = Mode.pinned if of_jobs or (finishes and agains) else Mode.hot

        def steps() -> Steps[Completed]:
            # Jobs first, as everybody who changes one holds it before its occurrences.
            jobs = yield from self._hold_jobs(of_jobs, impatient)
            busy = {one.id for one in of_jobs if one.job in jobs.busy}
            free = [one for one in finishes if one.id not in busy] if busy else finishes
            done = yield from self._end_all(free, agains, rescuing)
            ends = yield from self._end_jobs([one for one in of_jobs if one.id in done.ended], jobs)
            done = replace(done, jobs=ends, busy=busy)
            if rescuing or len(done.ended) + len(busy) == len(endings):
                return done
            earlier = yield from _look_up([e for e in endings if e.id not in done.ended | busy])
            retold = jobs.retold(one for one in of_jobs if one.id in earlier)
            # Whether children wait for those was told in the reply that was lost.
            ended, parents = done.ended | earlier, done.parents | earlier
            return replace(done, ended=ended, parents=parents, retold=retold, earlier=earlier)

        return Flow(steps, mode, resend=True)

    def _end_all(
        self, finishes: Sequence[Finish], agains: Sequence[Again], rescuing: bool
    ) -> Steps[Completed]:
        done = Completed(set(), set())
        if finishes:
            done = yield from self._finish(finishes, rescuing)
        if agains:
            moved = yield from self._again(agains, rescuing)
            done.ended.update(_accepted(agains, moved))
            due = [cast("tuple[str, int]", row[1:3]) for row in moved]
            yield from wake(due, cast("int", moved[0][3]) if moved else 0)
        return done

    @abstractmethod
    def _hold_jobs(self, finishes: Sequence[Finish], impatient: bool) -> Steps[HeldJobs]: ...

    @abstractmethod
    def _end_jobs(self, finishes: Sequence[Finish], jobs: HeldJobs) -> Steps[list[JobEnd]]: ...

    def _finish(self, finishes: Sequence[Finish], rescuing: bool) -> Steps[Completed]:
        params = rows.ending_params(finishes) | {"rescuing": rescuing or None}
        found = yield Statement("finish", params | {"limit": len(finishes)})
        ((count, some, parents),) = cast("Any", found)
        # Nearly always all of them: then nobody reads them one by one.
        everything = count == len(finishes)
        ended = {one.id for one in finishes} if everything else rows.ids(some)
        return Completed(ended, rows.ids(parents))

    def _again(self, agains: Sequence[Again], rescuing: bool) -> Steps[Rows]:
        params = rows.ending_params(agains) | {"rescuing": rescuing or None}
        return (yield Statement("again", params))

    @flow(Mode.pinned)
    def took_effect(self, ending: Ending) -> Steps[bool]:
        # Whoever still may apply it holds the row: wait for them.
        yield Statement("lock", {"id": str(ending.id)})
        return ending.id in (yield from _look_up([ending]))

    def renew(self, leases: Sequence[Lease], lease: int) -> Flow[Renewed]:
        return Flow(lambda: self._renew(leases, lease), Mode.hot, resend=True)

    def _renew(self, leases: Sequence[Lease], lease: int) -> Steps[Renewed]:
        params = {"leases": rows.lease_rows(leases), "lease": lease}
        found = cast("Any", (yield Statement("renew", params)))
        known = [row[1:] for row in found if row[1] is not None]
        kept = {UUID(action_id): stop_by for action_id, ours, stop_by in known if ours}
        lost = frozenset(UUID(action_id) for action_id, ours, _ in known if not ours)
        return Renewed(found[0][0], kept, lost)

    @flow(Mode.single, resend=True)
    def progress(self, held: Lease, progress: str) -> Steps[None]:
        params = {"id": str(held.id), "token": str(held.token), "progress": progress}
        if not (yield Statement("progress", params)):
            raise LeaseLost(held.id)

    @flow(Mode.read)
    def look(self, app: str | None = None) -> Steps[Swept]:
        (row,) = yield Statement("look", {"app": app})
        next_tick = None if app is None else cast("int | None", row[6])
        return replace(rows.swept(row), next_tick=next_tick)

    @flow(Mode.read)
    def look_from(self, since: Mapping[str, int]) -> Steps[Swept]:
        given = dump({"lane": lane, "since": time} for lane, time in since.items())
        found = cast("Any", (yield Statement("look_from", {"rows": given})))
        return Swept(found[0][0], [LaneHead(lane, due) for _, lane, due in found], [])

    @flow(Mode.single, resend=True)
    def sweep(self, presence: Presence, ahead: int, limit: int) -> Steps[Swept]:
        where = {"ahead": ahead, "limit": limit}
        params = presence_params(presence) | self._ping() | where | {"front": FRONT}
        (row,) = yield Statement("sweep", params | self._among_children())
        swept = self._swept(row, presence)
        if row[3] and monotonic() >= self._next_deep_look:
            swept = replace(swept, expired=(yield from self._look_deep(where)))
        return swept

    def _among_children(self) -> dict[str, object]:
        """Which of the children that wait a sweep asks for their parents: it comes round."""
        return {"beyond": str(self._beyond), "window": WINDOW}

    def _swept(self, row: Row, presence: Presence) -> Swept:
        last = cast("str | None", row[5])
        self._beyond = FIRST_ID if last is None else UUID(last)
        next_tick, known, younger = cast("Any", row)[6:9]
        known = known or not presence.introduced
        return replace(rows.swept(row), next_tick=next_tick, known=known, youngest=not younger)

    def _look_deep(self, where: Mapping[str, object]) -> Steps[list[Expired]]:
        """Running actions stand at the front of their lanes, since claims begin there; but
        whoever schedules a crowd for yesterday puts it before them."""
        before = monotonic()
        found = yield Statement("expired", where)
        if len(found) < cast("int", where["limit"]):
            self._next_deep_look = monotonic() + DEEP_LOOK_SHARE * (monotonic() - before)
        return [rows.expired(row) for row in found]

    def _ping(self) -> dict[str, object]:
        """What the sweep sends so that our own listener can tell that it still hears."""
        return {}

    @flow(Mode.single)
    def prune(self, *, keep: int, keep_failed: int, limit: int) -> Steps[int]:
        params = {"keep": keep, "keep_failed": keep_failed, "limit": limit}
        ((count,),) = yield Statement("prune", params | {"keep_worker": KEEP_WORKER})
        return cast("int", count)

    @flow(Mode.single, resend=True)
    def leave(self, worker: str) -> Steps[None]:
        yield Statement("leave", {"worker": worker})


def clock() -> Steps[int]:
    """The store's clock, where no row tells it."""
    ((now,),) = yield Statement("clock", {})
    return cast("int", now)


def token_prefix() -> str:
    """The first 20 digits of a claim's tokens, never used before, as those of a UUID of
    version 8. The server numbers them on: drawing each one by itself took it a fifth of the
    claim's time."""
    digits = secrets.token_hex(10)
    return f"{digits[:12]}8{digits[13:16]}8{digits[17:]}"


def order_params(order: ClaimOrder) -> dict[str, object]:
    apart = dump(sorted(order.apart)) if order.apart else None
    return {
        "worker": order.worker,
        "limit": order.limit,
        "lease": order.lease,
        "apart": apart,
    }


def _look_up(missing: Sequence[Ending]) -> Steps[set[UUID]]:
    """Those of them that took effect earlier."""
    if not missing:
        return set()
    return _ids((yield Statement("ended", rows.ended_params(missing))))


def _accepted(sent: Sequence[Ending], moved: Rows) -> set[UUID]:
    """Nearly always all of them: then nobody reads the answer row by row."""
    return {one.id for one in sent} if len(moved) == len(sent) else _ids(moved)


def _ids(found: Rows) -> set[UUID]:
    return {rows.uuid(cast("UUID | str", row[0])) for row in found}


def presence_params(presence: Presence) -> dict[str, object]:
    """What the store knows already is not sent again: of ten thousand jobs that is a megabyte."""
    new = not presence.introduced
    return {
        "worker": presence.id,
        "app": presence.app,
        "host": presence.host,
        "pid": presence.pid,
        "kinds": json.dumps(list(presence.kinds) if new else []),
        "jobs": json.dumps(list(presence.jobs) if new else []),
        "introducing": new or None,
        "alive": presence.alive,
        "queues": json.dumps(list(presence.queues)),
        "concurrency": presence.concurrency,
    }
