"""Drives an app in tests, on the test's own clock, without a worker or a sleep."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from duetime.errors import ConfigError
from duetime.model.actions.action import Action
from duetime.model.actions.claim import Claimed, ClaimOrder, LaneHead, LaneSpan, SweepResult
from duetime.model.actions.completion import Completion
from duetime.model.clock import Clock, from_micros, micros_of, monotonic, to_micros
from duetime.model.ids import TimeOrderedIds
from duetime.model.jobs.job_filter import JobFilter
from duetime.model.lane import readable_lane
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.model.validation import instant
from duetime.store.base import Store
from duetime.store.transaction import ASYNC_SESSION, SESSION, SQLITE3, connection_type
from duetime.testing.clock import FakeClock
from duetime.testing.override import Override, refuse_running
from duetime.testing.wipe import confirm_wipe
from duetime.worker.child_settler import ChildSettler
from duetime.worker.claiming.slots import Pool
from duetime.worker.figures import FigureCounter
from duetime.worker.leases.in_flight import InFlightRun, run_traces
from duetime.worker.leases.store_clock import StoreClock
from duetime.worker.notifier import Notifier
from duetime.worker.reporter import Reporter
from duetime.worker.running.runner import Runner
from duetime.worker.running.threads import Threads
from duetime.worker.running.transactional import RecordedRun
from duetime.worker.seeder import Seeder
from duetime.worker.ticker import Ticker

if TYPE_CHECKING:
    from duetime.app import Duetime

WORKER_NAME = "testing"
LEASE_MICROS = micros_of(3600)
MAX_RUNS_PER_DRAIN = 10_000
CLAIM_BATCH_SIZE = 500


class Testing:
    """`app.testing`: run due actions, move the clock, check what is scheduled.

    Handlers run through the worker's own code, so retries, snoozes, tenants, injection and
    results behave as they do in production.
    """

    __test__ = False

    def __init__(self, app: Duetime) -> None:
        self._app = app
        self._ids = TimeOrderedIds()

    async def drain(self) -> int:
        """Run all actions that are due now, and those that become due thereby; returns how many
        runs. Actions that were parked for a kind that this app now runs are included, those of
        paused queues are not. Jobs are seeded as by a worker, occurrences of due ticks are
        inserted, registered row transitions are applied, and notifications are sent."""
        runs = 0
        notifier = await self._notifier()
        await self._tick()
        while (
            (claimed := await self._claim()).claims
            or await self._apply_transitions()
            or await notifier.gather()
        ):
            runs += len(claimed.claims)
            if runs > MAX_RUNS_PER_DRAIN:
                raise AssertionError(
                    f"more than {MAX_RUNS_PER_DRAIN} runs and actions are still due: does a "
                    f"handler of {claimed.claims[0].kind!r} schedule itself without a delay?"
                )
            await self._run(claimed)
        return runs

    async def advance(self, by: float | timedelta = 0, **units: float) -> int:
        """Move the FakeClock, running each action on the way at its due time; returns how many
        runs. `advance(days=30)`, `advance(90)`, `advance(timedelta(hours=2))`."""
        clock = await self._clock()
        step = by if isinstance(by, timedelta) else timedelta(seconds=by)
        target = clock.now() + step + timedelta(**units)
        runs = await self.drain()
        while (due := await self._next_due()) is not None and due <= target:
            clock.set(max(due, clock.now()))
            runs += await self.drain()
        clock.set(target)
        return runs

    # -- another store and clock -----------------------------------------------------

    def override(
        self,
        *,
        clock: Clock | None = None,
        url: str | None = None,
        store: Store | None = None,
        sessions: Callable[[], Any] | None = None,
    ) -> Override:
        """Let the app run on another store and clock, inside `with` or `async with`.

        All that was declared stays: handlers, jobs, subscribers, dependencies, transitions, other
        settings. The store is new: that of `url`, `store` itself, the database of `sessions`, or by
        default a store in memory; `url="sqlite://"` is a temporary file. Without `clock` the clock
        stays. `sessions` takes the place of the app's own, which are never used inside.
        Afterwards the app is as it was, and the store is closed.

        It holds for the whole process, all threads and tasks. ConfigError while a worker runs.
        """
        return Override(self._app, self._app._setup, clock, url, store, sessions)

    async def reset(self, *, wipe: str | None = None) -> None:
        """Delete everything from the store, and set a FakeClock back to its start. The next
        `drain`, `advance` or worker seeds the declared jobs anew.

        Only for the store of an override, and for memory. A database that is also the app's own
        must be confirmed by its name: `reset(wipe="shop_test")`. ConfigError while a worker runs.
        """
        setup = self._app._setup
        refuse_running(setup, "app.testing.reset()")
        confirm_wipe(setup, wipe)
        await self._app.store.perform(self._app.store.clear())
        if isinstance(self._app.clock, FakeClock):
            self._app.clock.reset()

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
        """Assert that actions of this payload, or of this payload type, are scheduled: at the
        instant `at` and `count` of them, if given. Returns the actions."""
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
        """Assert that no action of this payload, or of this payload type, is scheduled."""
        await self.assert_scheduled(payload, count=0)

    # -- steps of a pass -------------------------------------------------------------

    async def _clock(self) -> FakeClock:
        """The clock of app and store; ConfigError if it cannot be moved, or moves only the app."""
        clock, store = self._app.clock, self._app.store
        if not isinstance(clock, FakeClock):
            raise ConfigError(
                "app.testing.advance() needs a clock that it can move: "
                "`with app.testing.override(clock=FakeClock()):`, or for an app of the test "
                'Duetime("memory://", clock=FakeClock())'
            )
        before = clock.now()
        ahead = await store.perform(store.look_ahead())
        if from_micros(ahead.now) not in (before, clock.now()):
            raise ConfigError(
                f"app.testing.advance() would move the app's clock, but {type(store).__name__} "
                "follows another one: create the store with clock= too, or give a url= instead"
            )
        return clock

    async def _notifier(self) -> Notifier:
        """The notifier, which knows what subscriptions want; its deliveries are declared."""
        app = self._app
        settings = app._with_delivery(app.worker_settings())
        notifier = Notifier(app.runtime, settings)
        await notifier.start()
        return notifier

    async def _tick(self) -> int | None:
        """Seed jobs and insert the occurrences of due ticks; returns when the next tick is."""
        app, settings = self._app, self._app.worker_settings()
        runtime, clock = app.runtime, StoreClock(app.clock, monotonic)
        seeder = Seeder(
            WORKER_NAME,
            app.store,
            runtime.outbox_store,
            runtime.jobs,
            clock,
            settings,
            self._ids,
            lambda: False,
        )
        await seeder.seed()
        reporter = Reporter(app.runtime, FigureCounter(WORKER_NAME, app.store))
        outbox_store = app.runtime.outbox_store
        ticker = Ticker(app.store, outbox_store, clock, settings, self._ids, reporter.ticked)
        while await ticker.tick():
            pass
        await reporter.drain()
        return await self._next_future_tick(ticker.next_tick)

    async def _apply_transitions(self) -> bool:
        """Whether any row changed: actions and transitions that follow may be due too."""
        if not self._has_transitions():
            return False
        return (await self._app.transitions.drain()).changed > 0

    def _has_transitions(self) -> bool:
        """Whether a worker would apply row transitions: not if there are none or a job does."""
        return "transitions" in vars(self._app) and bool(self._app.transitions.companions)

    async def _next_future_tick(self, next_tick: int | None) -> int | None:
        """The next tick in the future. A tick that is still due belongs to a job that this app
        cannot run."""
        now = to_micros(self._app.clock.now())
        if next_tick is None or next_tick > now:
            return next_tick
        wanted = JobFilter(tenant=ANY, limit=MAX_RUNS_PER_DRAIN)
        jobs = await self._app.store.perform(self._app.store.jobs(wanted))
        ticks = (view.job.next_due_at for view in jobs)
        return min((tick for tick in ticks if tick is not None and tick > now), default=None)

    async def _next_due(self) -> datetime | None:
        ahead = await self._look_ahead()
        dues = [head.next_due for head in self._heads(ahead)] + [*ahead.paused.values()]
        dues += [await self._tick()]
        known = [from_micros(due) for due in dues if due is not None]
        if self._has_transitions():
            row = await self._app.transitions.next_due()
            known += [] if row is None else [row]
        return min(known, default=None)

    async def _look_ahead(self) -> SweepResult:
        return await self._app.store.perform(self._app.store.look_ahead())

    def _heads(self, ahead: SweepResult) -> Sequence[LaneHead]:
        """The lanes with actions to run: none of paused queues, and parking lanes only if this app
        runs their kind."""
        handlers = self._app.runtime.handlers
        lanes = [(head, readable_lane(head.lane)) for head in ahead.lanes]
        return [
            head
            for head, lane in lanes
            if lane
            and lane.queue not in ahead.paused
            and (lane.parked is None or handlers.runs(*lane.parked))
        ]

    async def _claim(self) -> Claimed:
        ahead, store = await self._look_ahead(), self._app.store
        spans = [LaneSpan(head.lane, -(2**62), 0) for head in self._heads(ahead)]
        return await store.perform(
            store.claim(ClaimOrder(WORKER_NAME, spans, CLAIM_BATCH_SIZE, LEASE_MICROS))
        )

    async def _run(self, claimed: Claimed) -> None:
        self._check_transactions(claimed)
        app, completions = self._app, list[tuple[InFlightRun, Completion]]()
        reporter = Reporter(app.runtime, FigureCounter(WORKER_NAME, app.store))
        child_settler = ChildSettler(
            app.store, app.runtime.outbox_store, reporter.children_settled, lambda: None
        )

        def committed(run: InFlightRun, recorded: RecordedRun) -> None:
            reporter.recorded(run, recorded.completion)
            child_settler.parents_finished(recorded.result.parents, run_traces([run]))
            reporter.jobs_changed(recorded.result.jobs)

        claims = claimed.claims
        clock = StoreClock(app.clock, monotonic)
        clock.observe(claimed.now, monotonic())
        threads, interrupts = Threads("duetime-testing"), list[KeyboardInterrupt]()
        runner = Runner(
            app.runtime,
            app.worker_settings(),
            threads,
            clock,
            dice=lambda: 0.0,
            finished=lambda run, completion: completions.append((run, completion)),
            committed=committed,
            interrupted=lambda claim, error: interrupts.append(error),
        )
        pool = Pool(len(claims), lambda queue: True)
        in_flight = [InFlightRun(claim, pool, monotonic() + LEASE_MICROS) for claim in claims]
        await asyncio.gather(*(_start_run(runner, run) for run in in_flight))
        threads.close()
        await self._record(completions, reporter, child_settler)
        for interrupt in interrupts:
            raise interrupt

    def _check_transactions(self, claimed: Claimed) -> None:
        """Raise ConfigError if a transactional handler cannot run in this store."""
        runtime = self._app.runtime
        for claim in claimed.claims:
            handler = runtime.handlers.find(claim.kind, claim.version)
            if handler is None or handler.transaction_type is None:
                continue
            try:
                runtime.transactions.factory(handler.transaction_type)
            except ConfigError as error:
                raise ConfigError(
                    f"the transactional handler of {claim.kind!r} cannot run here: {error}. In a "
                    f"test: app.testing.override({_override_for(handler.transaction_type)})"
                ) from None

    async def _record(
        self,
        completions: list[tuple[InFlightRun, Completion]],
        reporter: Reporter,
        child_settler: ChildSettler,
    ) -> None:
        store = self._app.store
        outbox_store = self._app.runtime.outbox_store
        sent = [(run.claim, completion) for run, completion in completions]
        traces = run_traces(run for run, _ in completions)
        done = await store.perform(
            outbox_store.complete(sent, skip_busy_jobs=False, run_traces=traces)
        )
        for run, completion in completions:
            if completion.id in done.applied:
                reporter.recorded(run, completion)
        child_settler.parents_finished(done.parents, traces)
        reporter.jobs_changed(done.jobs)
        while len(child_settler):
            await child_settler.settle_batch()
        await reporter.drain()


def _start_run(runner: Runner, run: InFlightRun) -> asyncio.Task[None]:
    """Start a run in its own context, as a worker does."""
    return asyncio.get_running_loop().create_task(runner.run(run), context=contextvars.Context())


def _listed(actions: Sequence[Action]) -> str:
    return ", ".join(f"{a.payload!r} at {a.due_at}" for a in actions[:10]) or "nothing"


def _override_for(transaction_type: Any) -> str:
    """Return the arguments of `override` that give a handler its transaction."""
    return {
        SESSION: "sessions=sessionmaker(test_engine)",
        ASYNC_SESSION: "sessions=async_sessionmaker(test_engine)",
        SQLITE3: 'url="sqlite://"',
    }.get(connection_type(transaction_type) or "", "url=TEST_DATABASE")
