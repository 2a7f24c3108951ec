"""Drives an app in tests: by hand, in the test's own time, without a worker or a sleep."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from duetime.errors import ConfigError
from duetime.model.actions.action import Action
from duetime.model.actions.claim import Claimed, ClaimOrder, LaneHead, Span
from duetime.model.actions.completion import Ending
from duetime.model.clock import from_micros, micros_of, monotonic, to_micros
from duetime.model.ids import TimeOrderedIds
from duetime.model.jobs.change import Changed, JobEnd
from duetime.model.jobs.selectors import JobFilter
from duetime.model.lane import readable_lane
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.model.validation import instant
from duetime.testing.clock import FakeClock
from duetime.worker.child_settler import Chainer
from duetime.worker.claiming.slots import Pool
from duetime.worker.leases.in_flight import Held
from duetime.worker.leases.store_clock import StoreTime
from duetime.worker.reporter import Reporter
from duetime.worker.running.runner import Runner
from duetime.worker.running.threads import Threads
from duetime.worker.running.transactional import Recorded
from duetime.worker.seeder import Seeder
from duetime.worker.ticker import Ticker

if TYPE_CHECKING:
    from duetime.app import Duetime

NAME = "testing"
LEASE = micros_of(3600)
MOST_RUNS = 10_000
BATCH = 500


class Testing:
    """`app.testing`: run what is due, move the clock, look at what is scheduled.

    Handlers run through the worker's own code, so retries, snoozes, tenants, injection and
    results behave as they do in production.
    """

    __test__ = False

    def __init__(self, app: Duetime) -> None:
        self._app = app
        self._ids = TimeOrderedIds()

    async def drain(self) -> int:
        """Run everything that is due now, and what that makes due; returns how many runs.
        What was parked for a kind that this app runs by now is due like the rest. Jobs are
        seeded as by a worker, and their ticks that have come are dealt with; so are the row
        transitions that were registered."""
        runs = 0
        await self._tick()
        while (claimed := await self._claim()).claims or await self._transit():
            runs += len(claimed.claims)
            if runs > MOST_RUNS:
                raise AssertionError(
                    f"more than {MOST_RUNS} runs and still something is due: does a handler "
                    f"of {claimed.claims[0].kind!r} schedule itself without a delay?"
                )
            await self._run(claimed)
        return runs

    async def advance(self, by: float | timedelta = 0, **units: float) -> int:
        """Move the FakeClock, running everything on the way at its own time; returns how many
        runs. `advance(days=30)`, `advance(90)`, `advance(timedelta(hours=2))`."""
        clock = self._clock()
        step = by if isinstance(by, timedelta) else timedelta(seconds=by)
        target = clock.now() + step + timedelta(**units)
        runs = await self.drain()
        while (due := await self._next_due()) is not None and due <= target:
            clock.set(max(due, clock.now()))
            runs += await self.drain()
        clock.set(target)
        return runs

    # -- assertions ------------------------------------------------------------------

    async def scheduled(self, type_: type[Any] | None = None) -> list[Action]:
        """The unfinished actions of a payload type, or all, of every tenant, soonest first."""
        found: list[Action] = []
        cursor = None
        while True:
            page = await self._app.find(state=State.scheduled, tenant=ANY, limit=200, cursor=cursor)
            found += [a for a in page if type_ is None or isinstance(a.payload, type_)]
            cursor = page.next_cursor
            if cursor is None:
                return sorted(found, key=lambda a: (a.due_at is None, a.due_at))

    async def assert_scheduled(
        self, payload: object, *, at: datetime | None = None, count: int | None = None
    ) -> list[Action]:
        """That actions of this payload, or of this payload type, are scheduled (at an instant,
        this many); returns them."""
        wanted = payload if isinstance(payload, type) else type(payload)
        matching = [
            action
            for action in await self.scheduled(wanted)
            if (isinstance(payload, type) or action.payload == payload)
            and (at is None or action.due_at == instant("at", at))
        ]
        right = len(matching) == count if count is not None else bool(matching)
        assert right, (
            f"expected {'some' if count is None else count} scheduled {payload!r}"
            f"{'' if at is None else f' at {at}'}, found {len(matching)}; "
            f"scheduled are: {_listed(await self.scheduled())}"
        )
        return matching

    async def assert_not_scheduled(self, payload: object) -> None:
        """That no action of this payload, or of this payload type, is scheduled."""
        await self.assert_scheduled(payload, count=0)

    # -- one pass --------------------------------------------------------------------

    def _clock(self) -> FakeClock:
        clock = self._app.clock
        if not isinstance(clock, FakeClock):
            raise ConfigError(
                "app.testing.advance() needs a clock it can move: "
                'Duetime("memory://", clock=FakeClock())'
            )
        return clock

    async def _tick(self) -> int | None:
        """Seed, and deal with the ticks that have come; when the next one comes."""
        app, settings = self._app, self._app.worker_settings()
        parts, time = app.parts, StoreTime(app.clock, monotonic)
        seeder = Seeder(
            NAME, app.store, parts.telling, parts.jobs, time, settings, self._ids, lambda: False
        )
        await seeder.seed()
        reporter = Reporter(app.parts)

        def ticked(changes: Sequence[Changed]) -> None:
            reporter.jobs_ended([JobEnd(one.before, one.after) for one in changes if one.before])

        ticker = Ticker(app.store, app.parts.telling, time, settings, self._ids, ticked)
        while await ticker.tick():
            pass
        await reporter.settle()
        return await self._beyond(ticker.next_tick)

    async def _transit(self) -> bool:
        """Whether any row changed: what it schedules, or lets happen next, may be due too."""
        if not self._in_workers():
            return False
        return (await self._app.transitions.drain()).changed > 0

    def _in_workers(self) -> bool:
        """Whether a worker would apply row transitions; else there are none, or a job does."""
        return "transitions" in vars(self._app) and bool(self._app.transitions.companions)

    async def _beyond(self, next_tick: int | None) -> int | None:
        """What is still due is a job that nobody here can deal with: the next of the others."""
        now = to_micros(self._app.clock.now())
        if next_tick is None or next_tick > now:
            return next_tick
        wanted = JobFilter(tenant=ANY, limit=MOST_RUNS)
        jobs = await self._app.store.perform(self._app.store.jobs(wanted))
        ticks = (view.job.next_due_at for view in jobs)
        return min((tick for tick in ticks if tick is not None and tick > now), default=None)

    async def _next_due(self) -> datetime | None:
        dues = [head.next_due for head in await self._heads()] + [await self._tick()]
        known = [from_micros(due) for due in dues if due is not None]
        if self._in_workers():
            row = await self._app.transitions.next_due()
            known += [] if row is None else [row]
        return min(known, default=None)

    async def _heads(self) -> Sequence[LaneHead]:
        """The lanes that hold something to run; what is parked waits for a handler here."""
        store, handlers = self._app.store, self._app.parts.handlers
        looked = await store.perform(store.look())
        lanes = [(head, readable_lane(head.lane)) for head in looked.lanes]
        return [
            head
            for head, lane in lanes
            if lane and (lane.parked is None or handlers.runs(*lane.parked))
        ]

    async def _claim(self) -> Claimed:
        spans = [Span(head.lane, -(2**62), 0) for head in await self._heads()]
        store = self._app.store
        return await store.perform(store.claim(ClaimOrder(NAME, spans, BATCH, LEASE)))

    async def _run(self, claimed: Claimed) -> None:
        app, endings = self._app, list[tuple[Held, Ending]]()
        reporter = Reporter(app.parts)
        chainer = Chainer(app.store, app.parts.telling, reporter.settled, lambda: None)

        def recorded(held: Held, run: Recorded) -> None:
            reporter.recorded(held, run.ending)
            chainer.ended(run.done.parents)
            reporter.jobs_ended(run.done.jobs)

        claims = claimed.claims
        time = StoreTime(app.clock, monotonic)
        time.heard(claimed.now, monotonic())
        threads = Threads("duetime-testing")
        runner = Runner(
            app.parts,
            app.worker_settings(),
            threads,
            time,
            dice=lambda: 0.0,
            ended=lambda held, ending: endings.append((held, ending)),
            recorded=recorded,
        )
        pool = Pool(len(claims), lambda queue: True)
        held = [Held(claim, pool, monotonic() + LEASE) for claim in claims]
        await asyncio.gather(*(_alone(runner, one) for one in held))
        threads.close()
        await self._record(endings, reporter, chainer)

    async def _record(
        self, endings: list[tuple[Held, Ending]], reporter: Reporter, chainer: Chainer
    ) -> None:
        store = self._app.store
        telling = self._app.parts.telling
        sent = [(held.claim, ending) for held, ending in endings]
        done = await store.perform(telling.complete(sent, impatient=False))
        for held, ending in endings:
            if ending.id in done.ended:
                reporter.recorded(held, ending)
        chainer.ended(done.parents)
        reporter.jobs_ended(done.jobs)
        while len(chainer):
            await chainer.settle_some()
        await reporter.settle()


def _alone(runner: Runner, held: Held) -> asyncio.Task[None]:
    """Each run in a context of its own, as in a worker."""
    return asyncio.get_running_loop().create_task(runner.run(held), context=contextvars.Context())


def _listed(actions: Sequence[Action]) -> str:
    return ", ".join(f"{a.payload!r} at {a.due_at}" for a in actions[:10]) or "nothing"
