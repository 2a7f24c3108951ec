"""Verbs in the caller's transaction: they happened if and only if the caller commits."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from api.apps import Note, Other
from duetime import Duetime, Retry, State
from duetime.errors import (
    ActionNotFound,
    DuplicateKey,
    IllegalState,
    InvalidArgument,
    InvalidPayload,
)
from duetime.model.actions.action import Action
from duetime.store.sql.flows.add import INSERT_BATCH_SIZE
from joining.callers import COUNT, INSERT, Caller

LATER = datetime(2099, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Doomed:
    """Its handler fails."""


class TestSchedule:
    async def test_an_action_exists_once_the_caller_commits(
        self, app: Duetime, caller: Caller
    ) -> None:
        await caller.execute(INSERT)
        action: Action = await caller.call(app, "schedule", Note("joined"), at=LATER, key="k")
        assert (action.state, action.due_at, action.created) == (State.scheduled, LATER, True)
        with pytest.raises(ActionNotFound):
            await app.get(action.id)
        await caller.commit()
        assert (await app.get(action.id)).payload == Note("joined")
        assert await caller.execute(COUNT) == 1

    async def test_a_rollback_leaves_nothing(self, app: Duetime, caller: Caller) -> None:
        await caller.execute(INSERT)
        await caller.call(app, "schedule", Note(), at=LATER)
        await caller.call(app, "schedule", Note(), at=LATER, key="k")
        await caller.call(app, "schedule_many", [(Note(), LATER), (Other(), LATER)])
        await caller.rollback()
        assert list(await app.find()) == []

    async def test_the_first_statement_of_a_transaction_may_be_ours(
        self, app: Duetime, caller: Caller
    ) -> None:
        action = await caller.call(app, "schedule", Note(), at=LATER)
        await caller.rollback()
        with pytest.raises(ActionNotFound):
            await app.get(action.id)

    async def test_an_error_of_ours_leaves_the_caller_their_transaction_and_nothing_half_done(
        self, app: Duetime, caller: Caller
    ) -> None:
        existing = await app.schedule(Note(), at=LATER, key="taken")
        await caller.execute(INSERT)
        requests = [app.request(Note(), at=LATER, key=key) for key in ("free", "taken")]
        with pytest.raises(DuplicateKey):
            await caller.call(app, "schedule_many", requests, if_exists="raise")
        await caller.execute(INSERT)
        await caller.commit()
        assert await caller.execute(COUNT) == 2
        assert [action.id for action in await app.find()] == [existing.id]

    async def test_a_bad_action_among_many_leaves_the_caller_their_transaction(
        self, app: Duetime, caller: Caller
    ) -> None:
        many: list[Any] = [(Note(str(n)), LATER) for n in range(INSERT_BATCH_SIZE + 1)]
        await caller.execute(INSERT)
        with app.acting(tenant="ours"), pytest.raises(InvalidPayload):
            await caller.call(app, "schedule_many", [*many, (Note(7), LATER)])  # type: ignore[arg-type]
        with app.acting(tenant="ours"):
            scheduled = await caller.call(app, "schedule_many", many)
        await caller.commit()
        assert await caller.execute(COUNT) == 1
        assert {action.tenant for action in scheduled} == {"ours"}
        assert (await app.stats(tenant="ours")).scheduled == len(scheduled) == len(many)

    async def test_a_key_is_unique_within_the_transaction(
        self, app: Duetime, caller: Caller
    ) -> None:
        first = await caller.call(app, "schedule", Note("1"), at=LATER, key="k")
        second = await caller.call(app, "schedule", Note("2"), at=LATER, key="k")
        assert (second.id, second.created) == (first.id, False)
        third = await caller.call(
            app, "schedule", Note("3"), at=LATER, key="k", if_exists="replace"
        )
        await caller.commit()
        assert third.id == first.id
        assert (await app.get(first.id)).payload == Note("3")

    async def test_an_expiry_is_kept_and_an_early_one_leaves_the_caller_their_transaction(
        self, app: Duetime, caller: Caller
    ) -> None:
        await caller.execute(INSERT)
        expires = LATER + timedelta(days=1)
        action: Action = await caller.call(app, "schedule", Note(), at=LATER, expires=expires)
        plain: Action = await caller.call(app, "schedule", Note(), at=LATER)
        with pytest.raises(InvalidArgument, match="could never start"):
            await caller.call(app, "schedule", Note(), at=LATER, expires=LATER)
        with pytest.raises(InvalidArgument, match="expires at"):
            await caller.call(app, "reschedule", action.id, at=expires)
        await caller.commit()
        assert await caller.execute(COUNT) == 1
        assert {found.id: found.expires_at for found in await app.find()} == {
            action.id: expires,
            plain.id: None,
        }
        assert await caller.call(app, "get", action.id) == replace(action, created=False)

    async def test_a_savepoint_of_the_caller_takes_its_actions_with_it(
        self, app: Duetime, caller: Caller
    ) -> None:
        kept = await caller.call(app, "schedule", Note("kept"), at=LATER)
        await caller.execute("SAVEPOINT mine")
        await caller.call(app, "schedule", Note("gone"), at=LATER)
        await caller.call(app, "schedule", Note("gone"), at=LATER, key="k")
        await caller.execute("ROLLBACK TO SAVEPOINT mine")
        await caller.commit()
        assert [action.id for action in await app.find()] == [kept.id]

    async def test_without_a_transaction_it_is_committed_at_once(
        self, app: Duetime, idle: Caller
    ) -> None:
        await idle.begin(autocommit=True)
        alone = await idle.call(app, "schedule", Note(), at=LATER)
        keyed = await idle.call(app, "schedule", Note(), at=LATER, key="k")
        many = await idle.call(app, "schedule_many", [(Note(), LATER), (Other(), LATER)])
        found = {action.id for action in await app.find()}
        assert found == {alone.id, keyed.id, *(action.id for action in many)}


class TestChange:
    async def test_a_change_counts_once_the_caller_commits(
        self, app: Duetime, caller: Caller
    ) -> None:
        cancelled, moved = await app.schedule_many([(Note(), LATER), (Note(), LATER)])
        sooner = LATER - timedelta(days=1)
        await caller.call(app, "cancel", cancelled.id, by="ann")
        await caller.call(app, "reschedule", moved.id, at=sooner, by="ann")
        assert (await app.get(cancelled.id)).state is State.scheduled
        await caller.commit()
        after = await app.get(cancelled.id)
        assert (after.state, after.cancelled_by) == (State.cancelled, "ann")
        assert (await app.get(moved.id)).due_at == sooner

    async def test_a_change_rolled_back_never_was(self, app: Duetime, caller: Caller) -> None:
        action = await app.schedule(Note(), at=LATER, correlation_id="c")
        await caller.call(app, "reschedule", action.id, at=LATER - timedelta(days=1))
        await caller.call(app, "cancel_many", correlation_id="c")
        await caller.rollback()
        after = await app.get(action.id)
        assert (after.state, after.due_at, after.modified_at) == (State.scheduled, LATER, None)

    async def test_verbs_find_their_action_by_its_key_as_the_caller_sees_it(
        self, app: Duetime, caller: Caller
    ) -> None:
        mine = await caller.call(app, "schedule", Note(), at=LATER, key="mine")
        cancelled = await caller.call(app, "cancel", kind="note", key="mine")
        again = await caller.call(app, "schedule", Note(), at=LATER, key="mine")
        sooner = LATER - timedelta(days=1)
        moved = await caller.call(app, "reschedule", kind="note", key="mine", at=sooner)
        assert (cancelled.id, moved.id) == (mine.id, again.id)
        assert (await caller.call(app, "get", kind="note", key="mine")).due_at == sooner
        with pytest.raises(ActionNotFound, match="no failed action"):
            await caller.call(app, "retry", kind="note", key="mine")
        await caller.commit()
        assert (await app.get(kind="note", key="mine")).id == again.id

    async def test_a_failed_action_is_retried_with_the_commit(
        self, app: Duetime, caller: Caller
    ) -> None:
        failed = await failed_action(app)
        await caller.call(app, "retry", failed.id)
        await caller.rollback()
        assert (await app.get(failed.id)).state is State.failed
        await caller.close()
        await caller.begin()
        await caller.call(app, "retry_many", kind="doomed")
        await caller.commit()
        assert (await app.get(failed.id)).state is State.scheduled

    async def test_what_is_refused_is_refused_here_too(self, app: Duetime, caller: Caller) -> None:
        failed = await failed_action(app)
        await caller.execute(INSERT)
        with pytest.raises(IllegalState):
            await caller.call(app, "cancel", failed.id)
        await caller.execute(INSERT)
        await caller.commit()
        assert await caller.execute(COUNT) == 2


class TestRead:
    async def test_a_read_sees_what_is_not_committed_yet(
        self, app: Duetime, caller: Caller
    ) -> None:
        action = await caller.call(app, "schedule", Note("mine"), at=LATER, correlation_id="c")
        assert (await caller.call(app, "get", action.id)).payload == Note("mine")
        found = await caller.call(app, "find", correlation_id="c", due_before=LATER + timedelta(1))
        assert [action.id for action in found] == [action.id]
        assert await caller.call(app, "runs", action.id) == []
        assert list(await app.find()) == []
        await caller.rollback()

    async def test_what_is_not_found_leaves_the_transaction_usable(
        self, app: Duetime, caller: Caller
    ) -> None:
        await caller.execute(INSERT)
        with pytest.raises(ActionNotFound):
            await caller.call(app, "get", uuid4())
        await caller.commit()
        assert await caller.execute(COUNT) == 1


class TestWaking:
    async def test_a_worker_starts_it_after_the_commit_and_not_before(
        self, caller_url: str, app: Duetime, caller: Caller
    ) -> None:
        """The worker's next look at the store is an hour away: only a wake can be in time."""
        ran = asyncio.Event()
        other = Duetime(caller_url, poll=3600, sweep=3600, poll_unheard=3600)

        @other.handler(kind="note")
        async def handle(note: Note) -> None:
            ran.set()

        async with other, other.worker():
            await caller.call(app, "schedule", Note())
            assert list(await app.find()) == []
            await caller.commit()
            await asyncio.wait_for(ran.wait(), 10)


async def failed_action(app: Duetime) -> Action:
    @app.handler(kind="doomed", retry=Retry.none())
    async def fail(doomed: Doomed) -> None:
        raise RuntimeError("as it must")

    action = await app.schedule(Doomed())
    async with app.worker():
        return await app.wait(action.id, timeout=10)
