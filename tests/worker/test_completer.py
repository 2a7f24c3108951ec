"""The completer stores the outcome of every handler, whatever the store answers in the meantime."""

import asyncio
import logging
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, TypeVar, cast
from uuid import uuid4

import pytest

from api.apps import Note
from duetime import Duetime, Outcome, State
from duetime.errors import ConfigError, InvalidArgument, StoreUnavailable, UnreadableRow
from duetime.model.actions.claim import Claim, ClaimOrder, LaneSpan
from duetime.model.actions.completion import Completion, CompletionResult, Finish
from duetime.model.tenant import ANY
from duetime.store.flow import Flow
from duetime.store.memory.store import MemoryStore
from duetime.worker.claiming.slots import Pool
from duetime.worker.completer import Completer
from duetime.worker.leases.in_flight import InFlightRun, RunsInFlight
from duetime.worker.service import UNTIL_WOKEN
from polling import until
from store.postgres_helpers import LANE

T = TypeVar("T")


class FussyStore(MemoryStore):
    """Refuses one particular result."""

    def complete(self, completions: Sequence[Completion], **how: Any) -> Flow[CompletionResult]:
        for completion in completions:
            if isinstance(completion, Finish) and completion.result == '"unkeepable"':
                raise InvalidArgument("result", completion.result, "this store cannot keep it")
        return super().complete(completions, **how)


class ForbiddingStore(MemoryStore):
    """Raises an error for the first completions, whichever they are."""

    def __init__(self, error: Exception, times: int) -> None:
        super().__init__()
        self._error = error
        self._times = times

    def complete(self, completions: Sequence[Completion], **how: Any) -> Flow[CompletionResult]:
        if self._times:
            self._times -= 1
            raise self._error
        return super().complete(completions, **how)


class AllergicStore(MemoryStore):
    """Fails on one particular result until it is cured."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error
        self.cured = False

    def complete(self, completions: Sequence[Completion], **how: Any) -> Flow[CompletionResult]:
        results = [each.result for each in completions if isinstance(each, Finish)]
        if '"allergen"' in results and not self.cured:
            raise self._error
        return super().complete(completions, **how)


class SlowStore(MemoryStore):
    """Answers the first completion only after the next one was sent, which may fail."""

    def __init__(self, *, fails: bool) -> None:
        super().__init__()
        self._fails = fails
        self._sent: list[Flow[CompletionResult]] = []
        self._next = asyncio.Event()

    def complete(self, completions: Sequence[Completion], **how: Any) -> Flow[CompletionResult]:
        self._sent.append(super().complete(completions, **how))
        return self._sent[-1]

    async def perform(self, flow: Flow[T]) -> T:
        number = next((n for n, sent in enumerate(self._sent) if sent is flow), None)
        if number == 0:
            await self._next.wait()
        elif number == 1:
            self._next.set()
            if self._fails:
                raise StoreUnavailable("the store is away for a moment")
        return await super().perform(flow)


class StubbornStore(MemoryStore):
    """Refuses every completion of one particular action."""

    def complete(self, completions: Sequence[Completion], **how: Any) -> Flow[CompletionResult]:
        for completion in completions:
            if "hated" in self.perform_blocking(self.get(completion.id, ANY)).payload:
                raise InvalidArgument("id", completion.id, "this store has it already")
        return super().complete(completions, **how)


async def results(app: Duetime, texts: Sequence[str]) -> list[tuple[State, object]]:
    """Return how actions finish whose handler returns its payload."""

    @app.handler(kind="note")
    async def note(payload: Note) -> str:
        return payload.text

    async with app, app.worker(), asyncio.timeout(20):
        made = await app.schedule_many(app.request(Note(text)) for text in texts)
        done = [await app.wait(action.id) for action in made]
    return [(action.state, action.result or action.error) for action in done]


async def test_an_outcome_that_cannot_be_stored_fails_alone_and_says_why() -> None:
    texts = [*"abcde", "unkeepable", *"fghij"]
    found = await results(Duetime(store=FussyStore()), texts)
    good = [(State.succeeded, text) for text in texts if text != "unkeepable"]
    assert found[:5] + found[6:] == good
    state, error = found[5]
    assert state is State.failed
    assert "could not be stored" in str(error)
    assert "this store cannot keep it" in str(error)


async def test_an_action_that_cannot_be_completed_delays_no_other() -> None:
    app = Duetime(store=StubbornStore())

    @app.handler(kind="note")
    async def note(payload: Note) -> str:
        return payload.text

    async with app, app.worker(), asyncio.timeout(20):
        made = await app.schedule_many(app.request(Note(text)) for text in ("a", "hated", "b"))
        done = [await app.wait(made[n].id) for n in (0, 2)]
    assert [action.result for action in done] == ["a", "b"]
    assert (await app.get(made[1].id)).state is State.running


async def test_an_action_that_cannot_be_rescued_delays_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = StubbornStore()
    app = Duetime(store=store)
    app.payload(Note, kind="note")
    made = await app.schedule_many(app.request(Note(text)) for text in ("a", "hated", "b"))
    spans = [LaneSpan(head.lane, 0, 0) for head in (await store.perform(store.look_ahead())).lanes]
    await store.perform(store.claim(ClaimOrder("dead", spans, 3, lease=1)))
    async with app, app.worker(), asyncio.timeout(20):
        while [(await app.get(made[n].id)).losses for n in (0, 2)] != [1, 1]:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert (await app.get(made[1].id)).losses == 0
    message = f"rescued 2 actions of workers that vanished ({made[0].id}, {made[2].id})"
    assert message in [record.getMessage() for record in caplog.records]


NO_RIGHT = ConfigError("permission denied for table duetime_actions")


@pytest.mark.parametrize("times", [2, 7])
@pytest.mark.parametrize("error", [NO_RIGHT, RuntimeError("nobody foresaw this")], ids=repr)
async def test_a_store_that_refuses_everything_for_a_while_changes_no_outcome(
    error: Exception, times: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "duetime.worker"):
        found = await results(Duetime(store=ForbiddingStore(error, times)), ["a", "b"])
    assert found == [(State.succeeded, "a"), (State.succeeded, "b")]
    messages = [record.getMessage() for record in caplog.records]
    assert "completion failed and will be retried" in messages
    assert [line for line in messages if line.startswith("completion works again, after ")]


@pytest.mark.parametrize(
    "error", [RuntimeError("nobody foresaw this"), UnreadableRow("invalid page")], ids=repr
)
async def test_an_outcome_that_fails_each_time_delays_no_other_and_is_kept(
    error: Exception,
) -> None:
    store = AllergicStore(error)
    app = Duetime(store=store)

    @app.handler(kind="note")
    async def note(payload: Note) -> str:
        return payload.text

    async with app, app.worker(), asyncio.timeout(20):
        made = await app.schedule_many(app.request(Note(text)) for text in ("a", "allergen", "b"))
        done = [await app.wait(made[n].id) for n in (0, 2)]
        assert [action.result for action in done] == ["a", "b"]
        store.cured = True
        assert (await app.wait(made[1].id)).result == "allergen"


def finished_run(job: str | None) -> tuple[InFlightRun, Finish]:
    claim = Claim(
        uuid4(), uuid4(), "k", 1, "{}", LANE, None, None, 0, 1, 0, 0, "me", job, None, None
    )
    finish = Finish(
        id=claim.id, token=claim.token, state=State.succeeded, outcome=Outcome.succeeded, job=job
    )
    return InFlightRun(claim, Pool(9, lambda queue: True), 1e9), finish


@pytest.mark.parametrize("fails", [False, True])
async def test_a_full_batch_waits_for_no_other_and_is_sent_again_if_it_fails(fails: bool) -> None:
    app = Duetime(store=SlowStore(fails=fails), batch=10)
    assert await results(app, ["done"] * 35) == [(State.succeeded, "done")] * 35


async def test_the_completion_of_an_occurrence_is_not_starved_by_others() -> None:
    """While one batch is in transit other runs finish: there is always a plain completion
    waiting."""
    sent: list[str | None] = []

    class Busy:
        async def perform(self, batch: Sequence[tuple[Claim, Completion]]) -> CompletionResult:
            sent.extend(claim.job for claim, _ in batch)
            assert len(sent) < 100, "it was left out again and again"
            if "nightly" not in sent:
                add(None)
            return CompletionResult({completion.id for _, completion in batch}, set())

    def add(job: str | None) -> None:
        run, completion = finished_run(job)
        runs.add(run)
        completer.add(run, completion)

    runs, outbox_store = (
        RunsInFlight(),
        SimpleNamespace(complete=lambda completions, **_: completions),
    )
    busy: Any = Busy()
    completer = Completer(
        busy, runs, 1, cast("Any", outbox_store), lambda *_: None, lambda: None, lambda *_: None
    )
    add(None)
    add("nightly")
    while len(completer):
        await completer._step()
    assert "nightly" in sent


async def test_the_second_sender_rests_while_there_is_nothing_for_it() -> None:
    """Completions of jobs are left to the first sender."""
    runs: Any = RunsInFlight()
    completer = Completer(
        cast("Any", Unanswering()),
        runs,
        2,
        cast("Any", SimpleNamespace(complete=lambda completions, **_: completions)),
        lambda *_: None,
        lambda: None,
        lambda *_: None,
    )
    for _ in range(5):
        run, completion = finished_run("nightly")
        runs.add(run)
        completer.add(run, completion)
    first = asyncio.create_task(completer._step())
    await asyncio.sleep(0)
    assert await completer._concurrent_step() == UNTIL_WOKEN
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert len(completer) == 5


class Unanswering:
    async def perform(self, flow: object) -> CompletionResult:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


async def test_what_is_urgent_does_not_wait_for_all_that_was_claimed_ahead(url: str) -> None:
    """Handlers that were fast have become slow: what was claimed ahead is released."""
    begun: list[str] = []
    release = asyncio.Event()
    app = Duetime(url, concurrency=4, lease=2)

    @app.handler(kind="note")
    async def work(payload: Note) -> None:
        begun.append(payload.text)
        if payload.text == "slow":
            await asyncio.wait({asyncio.create_task(release.wait())}, timeout=1)

    many = [Note("fast")] * 4000 + [Note("slow")] * 100
    async with app:
        await app.schedule_many(app.request(payload) for payload in many)
        async with app.worker():
            await until(lambda: "slow" in begun)
            urgent = await app.schedule(Note("urgent"), priority="critical")
            await app.wait(urgent.id, timeout=20)
            before = begun.index("urgent")
            release.set()
    assert begun[:before].count("slow") < 40
