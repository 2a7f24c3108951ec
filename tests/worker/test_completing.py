"""What a handler did is put on record, whatever the store says meanwhile."""

import asyncio
import logging
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, TypeVar, cast
from uuid import uuid4

import pytest

from api.apps import Note
from awaiting import until
from duetime import Duetime, Outcome, State
from duetime.errors import ConfigError, InvalidArgument, StoreUnavailable
from duetime.model.actions.claim import Claim, ClaimOrder, Span
from duetime.model.actions.completion import Completed, Ending, Finish
from duetime.model.tenant import ANY
from duetime.store.flow import Flow
from duetime.store.memory.store import MemoryStore
from duetime.worker.claiming.slots import Pool
from duetime.worker.completer import Completer
from duetime.worker.leases.in_flight import Held, Holdings
from duetime.worker.service import NO_HURRY
from store.sql_kit import LANE

T = TypeVar("T")


class Fussy(MemoryStore):
    """Cannot keep one particular result."""

    def complete(self, endings: Sequence[Ending], **how: Any) -> Flow[Completed]:
        for ending in endings:
            if isinstance(ending, Finish) and ending.result == '"unkeepable"':
                raise InvalidArgument("result", ending.result, "this store cannot keep it")
        return super().complete(endings, **how)


class Forbidding(MemoryStore):
    """Somebody takes away the right to write, and gives it back."""

    refusals = 0

    def complete(self, endings: Sequence[Ending], **how: Any) -> Flow[Completed]:
        if self.refusals < 2:
            self.refusals += 1
            raise ConfigError("permission denied for table duetime_actions")
        return super().complete(endings, **how)


class Slow(MemoryStore):
    """The first completion has no answer before the next one comes, which may fail."""

    def __init__(self, *, fails: bool) -> None:
        super().__init__()
        self._fails = fails
        self._sent: list[Flow[Completed]] = []
        self._next = asyncio.Event()

    def complete(self, endings: Sequence[Ending], **how: Any) -> Flow[Completed]:
        self._sent.append(super().complete(endings, **how))
        return self._sent[-1]

    async def perform(self, flow: Flow[T]) -> T:
        number = next((n for n, one in enumerate(self._sent) if one is flow), None)
        if number == 0:
            await self._next.wait()
        elif number == 1:
            self._next.set()
            if self._fails:
                raise StoreUnavailable("the store is away for a moment")
        return await super().perform(flow)


class Stubborn(MemoryStore):
    """Will not hear of one particular action any more."""

    def complete(self, endings: Sequence[Ending], **how: Any) -> Flow[Completed]:
        for ending in endings:
            if "hated" in self.perform_blocking(self.get(ending.id, ANY)).payload:
                raise InvalidArgument("id", ending.id, "this store has it already")
        return super().complete(endings, **how)


async def results(app: Duetime, texts: Sequence[str]) -> list[tuple[State, object]]:
    """How actions end whose handler returns what it was given."""

    @app.handler(kind="note")
    async def note(payload: Note) -> str:
        return payload.text

    async with app, app.worker(), asyncio.timeout(20):
        made = await app.schedule_many(app.request(Note(text)) for text in texts)
        done = [await app.wait(one.id) for one in made]
    return [(one.state, one.result or one.error) for one in done]


async def test_an_outcome_that_cannot_be_kept_fails_alone_and_says_why() -> None:
    texts = [*"abcde", "unkeepable", *"fghij"]
    found = await results(Duetime(store=Fussy()), texts)
    good = [(State.succeeded, text) for text in texts if text != "unkeepable"]
    assert found[:5] + found[6:] == good
    state, error = found[5]
    assert state is State.failed
    assert "could not be stored" in str(error)
    assert "this store cannot keep it" in str(error)


async def test_an_action_that_cannot_be_ended_holds_up_no_other() -> None:
    app = Duetime(store=Stubborn())

    @app.handler(kind="note")
    async def note(payload: Note) -> str:
        return payload.text

    async with app, app.worker(), asyncio.timeout(20):
        made = await app.schedule_many(app.request(Note(text)) for text in ("a", "hated", "b"))
        done = [await app.wait(made[n].id) for n in (0, 2)]
    assert [one.result for one in done] == ["a", "b"]
    assert (await app.get(made[1].id)).state is State.running


async def test_an_action_that_cannot_be_rescued_holds_up_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = Stubborn()
    app = Duetime(store=store)
    app.payload(Note, kind="note")
    made = await app.schedule_many(app.request(Note(text)) for text in ("a", "hated", "b"))
    spans = [Span(head.lane, 0, 0) for head in (await store.perform(store.look())).lanes]
    await store.perform(store.claim(ClaimOrder("dead", spans, 3, lease=1)))
    async with app, app.worker(), asyncio.timeout(20):
        while [(await app.get(made[n].id)).losses for n in (0, 2)] != [1, 1]:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert (await app.get(made[1].id)).losses == 0
    told = f"leases ran out, of workers that vanished: 2 ({made[0].id}, {made[2].id})"
    assert told in [record.getMessage() for record in caplog.records]


async def test_a_store_that_refuses_everything_for_a_while_changes_no_outcome(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "duetime.worker"):
        found = await results(Duetime(store=Forbidding()), ["a", "b"])
    assert found == [(State.succeeded, "a"), (State.succeeded, "b")]
    told = [record.getMessage() for record in caplog.records]
    assert "completion failed and goes on" in told
    assert [line for line in told if line.startswith("completion works again, after ")]


def ended(job: str | None) -> tuple[Held, Finish]:
    claim = Claim(
        uuid4(), uuid4(), "k", 1, "{}", LANE, None, None, 0, 1, 0, 0, "me", job, None, None
    )
    finish = Finish(
        id=claim.id, token=claim.token, state=State.succeeded, outcome=Outcome.succeeded, job=job
    )
    return Held(claim, Pool(9, lambda queue: True), 1e9), finish


@pytest.mark.parametrize("fails", [False, True])
async def test_a_full_batch_waits_for_no_other_and_is_sent_again_if_it_fails(fails: bool) -> None:
    app = Duetime(store=Slow(fails=fails), batch=10)
    assert await results(app, ["done"] * 35) == [(State.succeeded, "done")] * 35


async def test_the_end_of_an_occurrence_waits_for_no_pause_among_others() -> None:
    """While one batch is on its way, others end: there is always a plain one."""
    sent: list[str | None] = []

    class Busy:
        async def perform(self, asked: Sequence[tuple[Claim, Ending]]) -> Completed:
            sent.extend(claim.job for claim, _ in asked)
            assert len(sent) < 100, "it was left out again and again"
            if "nightly" not in sent:
                add(None)
            return Completed({ending.id for _, ending in asked}, set())

    def add(job: str | None) -> None:
        held, ending = ended(job)
        holdings.add(held)
        completer.add(held, ending)

    holdings, telling = Holdings(), SimpleNamespace(complete=lambda asked, impatient: asked)
    busy: Any = Busy()
    completer = Completer(
        busy, holdings, 1, cast("Any", telling), lambda *_: None, lambda: None, lambda _: None
    )
    add(None)
    add("nightly")
    while len(completer):
        await completer._step()
    assert "nightly" in sent


async def test_the_second_sender_rests_while_there_is_nothing_for_it() -> None:
    """Ends of jobs are left to the first."""
    holdings: Any = Holdings()
    completer = Completer(
        cast("Any", Unanswering()),
        holdings,
        2,
        cast("Any", SimpleNamespace(complete=lambda asked, impatient: asked)),
        lambda *_: None,
        lambda: None,
        lambda _: None,
    )
    for _ in range(5):
        held, ending = ended("nightly")
        holdings.add(held)
        completer.add(held, ending)
    first = asyncio.create_task(completer._step())
    await asyncio.sleep(0)
    assert await completer._step_beside() == NO_HURRY
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert len(completer) == 5


class Unanswering:
    async def perform(self, flow: object) -> Completed:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


async def test_what_is_urgent_does_not_wait_for_all_that_was_claimed_ahead(url: str) -> None:
    """Work that was fast has become slow: what was claimed ahead of it is given back."""
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
        await app.schedule_many(app.request(one) for one in many)
        async with app.worker():
            await until(lambda: "slow" in begun)
            urgent = await app.schedule(Note("urgent"), priority="critical")
            await app.wait(urgent.id, timeout=20)
            before = begun.index("urgent")
            release.set()
    assert begun[:before].count("slow") < 40
