"""`audit`: every administrative change, recorded in its own transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import pytest

from duetime.errors import ActionNotFound, DuplicateKey, IllegalState
from duetime.model.act import Act
from duetime.model.actions.state_changes import audit_snapshot
from duetime.model.state import State
from duetime.model.tenant import ANY
from duetime.testing.conformance.broken import Broken, broken
from duetime.testing.conformance.probe import SECOND, Probe, finish
from duetime.testing.conformance.suite import Suite

ACTS: dict[str, Callable[[Probe, UUID], Awaitable[object]]] = {
    "cancel": lambda probe, item: probe.cancel(item),
    "ask to stop": lambda probe, item: probe.cancel(item, running=True),
    "reschedule": lambda probe, item: probe.reschedule(item, delay=SECOND),
    "retry": lambda probe, item: probe.retry(item),
}


class Auditing(Suite):
    async def test_a_subject_without_changes_has_no_entries(self, probe: Probe) -> None:
        claim = await probe.running()
        await probe.renew(claim)
        await probe.end(finish(claim))
        assert await probe.audit(claim.id) == []
        assert await probe.audit(uuid4()) == []

    async def test_cancel_is_audited(self, probe: Probe) -> None:
        record = await probe.add(tenant="a")
        probe.pass_time(SECOND)
        await probe.cancel(record.id, by="bob")
        [entry] = await probe.audit(record.id)
        assert (entry.at, entry.by, entry.tenant) == (probe.now, "bob", "a")
        assert (entry.verb, entry.subject, entry.subject_id) == (
            "cancel",
            "action",
            str(record.id),
        )
        assert entry.before["state"] == "scheduled"
        assert entry.after["state"] == "cancelled"

    async def test_a_stop_request_to_a_running_action_is_audited(self, probe: Probe) -> None:
        claim = await probe.running(tenant="a")
        await probe.cancel(claim.id, by="bob", running=True)
        [entry] = await probe.audit(claim.id)
        assert (entry.at, entry.by, entry.tenant) == (probe.now, "bob", "a")
        assert (entry.verb, entry.subject_id) == ("cancel", str(claim.id))
        assert entry.before != entry.after

    async def test_a_stop_request_is_audited_once_for_each_actor(self, probe: Probe) -> None:
        """Asking again changes nothing; another actor becomes the one who asked."""
        claim = await probe.running()
        for actor in ("bob", "bob", "eve", "eve"):
            assert (await probe.cancel(claim.id, by=actor, running=True)).state is State.running
        entries = await probe.audit(claim.id)
        assert [(entry.by, entry.before["stop_by"]) for entry in entries] == [
            ("eve", "bob"),
            ("bob", None),
        ]
        assert (await probe.renew(claim)).renewed == {claim.id: "eve"}

    async def test_reschedule_is_audited(self, probe: Probe) -> None:
        record = await probe.add()
        probe.pass_time(SECOND)
        after = await probe.reschedule(record.id, delay=SECOND, by="bob")
        [entry] = await probe.audit(record.id)
        assert (entry.verb, entry.by, entry.at) == ("reschedule", "bob", probe.now)
        assert (entry.before["due_at"], entry.after["due_at"]) == (record.due_at, after.due_at)

    async def test_retry_is_audited(self, probe: Probe) -> None:
        record = await probe.finished(State.failed)
        await probe.retry(record.id, by="bob")
        [entry] = await probe.audit(record.id)
        assert (entry.verb, entry.by, entry.at) == ("retry", "bob", probe.now)
        assert (entry.before["state"], entry.after["state"]) == ("failed", "scheduled")

    async def test_a_replacement_is_audited(self, probe: Probe) -> None:
        holder = await probe.add(key="k", tenant="a", by="ann", delay=SECOND)
        probe.pass_time(1)
        new = probe.new(
            key="k",
            tenant="a",
            by="bob",
            due_at=probe.now + 9,
            queue="billing",
            priority=3,
            correlation_id="c",
            payload='{"to": "secret", "cc": "other"}',
        )
        await probe.add_many([new], "replace")
        [entry] = await probe.audit(holder.id)
        assert (entry.verb, entry.by, entry.tenant) == ("replace", "bob", "a")
        assert (entry.at, entry.subject_id) == (probe.now, str(holder.id))
        before, after = dict(entry.before), dict(entry.after)
        assert before.pop("payload") != after.pop("payload")
        assert after.pop("payload_changed") == ["cc", "to"]
        assert before == {
            "state": "scheduled",
            "due_at": holder.due_at,
            "queue": "default",
            "priority": "normal",
            "correlation_id": None,
        }
        assert after == {
            "state": "scheduled",
            "due_at": probe.now + 9,
            "queue": "billing",
            "priority": "critical",
            "correlation_id": "c",
        }
        assert "secret" not in str(entry)
        assert "ann" not in str(entry)

    async def test_each_replacement_in_a_call_is_audited_by_its_actor(self, probe: Probe) -> None:
        first = await probe.add(key="k")
        second = await probe.add(key="l", kind="sms")
        news = [
            probe.new(),
            probe.new(key="k", by="bob", payload="[1]"),
            probe.new(key="l", kind="sms", by="eve"),
            probe.new(key="k", by="dan", payload="[2]"),
        ]
        added = await probe.add_many(news, "replace")
        assert [entry.by for entry in await probe.audit(first.id)] == ["dan", "bob"]
        [entry] = await probe.audit(second.id)
        assert (entry.by, "payload" in entry.after) == ("eve", False)
        assert await probe.audit(added[0].record.id) == []
        newest, older = await probe.audit(first.id)
        assert newest.before["payload"] == older.after["payload"]
        assert "payload_changed" not in newest.after

    async def test_a_replaced_parent_is_audited(self, probe: Probe) -> None:
        old, new = await probe.add(delay=SECOND), await probe.add(delay=SECOND)
        child = await probe.child(old.id, key="k")
        await probe.add_many(
            [probe.new(key="k", due_at=None, delay=0, after=new.id, on="failed")], "replace"
        )
        [entry] = await probe.audit(child.id)
        assert (entry.before["after"], entry.before["on"]) == (str(old.id), "succeeded")
        assert (entry.after["after"], entry.after["on"]) == (str(new.id), "failed")

    async def test_keys_that_replace_nothing_leave_no_entry(self, probe: Probe) -> None:
        running = await probe.running(key="busy", kind="sms")
        record = await probe.add(key="k")
        await probe.add_many([probe.new(key="fresh"), probe.new(key="k")], "return")
        await probe.add_many([probe.new(key="new"), probe.new()], "replace")
        with pytest.raises(IllegalState):
            await probe.add_many([probe.new(key="k"), probe.new(key="busy", kind="sms")], "replace")
        assert await probe.audit(record.id) == await probe.audit(running.id) == []
        assert await probe.find_audit() == []

    async def test_a_rolled_back_replacement_leaves_no_entry(self, probe: Probe) -> None:
        record = await probe.add(key="k")
        with pytest.raises(Broken):
            await probe.do(broken(probe.store.add([probe.new(key="k", payload="2")], "replace")))
        assert await probe.audit(record.id) == []
        assert await probe.get(record.id) == record

    async def test_each_of_many_is_audited(self, probe: Probe) -> None:
        waiting = [await probe.add(delay=SECOND, tenant=tenant) for tenant in (None, "a")]
        failed = [await probe.finished(State.failed, tenant=tenant) for tenant in (None, "a")]
        await probe.cancel_many("bob", tenant=ANY)
        await probe.retry_many("eve", tenant=ANY)
        for verb, by, records in (("cancel", "bob", waiting), ("retry", "eve", failed)):
            for record in records:
                [entry] = await probe.audit(record.id)
                assert (entry.verb, entry.by, entry.tenant) == (verb, by, record.tenant)

    async def test_the_newest_entry_comes_first(self, probe: Probe) -> None:
        record = await probe.add()
        for i in range(5):
            await probe.reschedule(record.id, record.due_at, by=f"user-{i}")
        probe.pass_time(1)
        await probe.cancel(record.id, by="bob")
        entries = await probe.audit(record.id)
        expected = ["bob", *(f"user-{i}" for i in reversed(range(5)))]
        assert [entry.by for entry in entries] == expected
        assert len({entry.id for entry in entries}) == 6
        assert await probe.audit(record.id, limit=2) == entries[:2]

    async def test_entries_are_about_one_subject(self, probe: Probe) -> None:
        first, second = await probe.add(), await probe.add()
        await probe.cancel(first.id)
        assert await probe.audit(second.id) == []

    @pytest.mark.parametrize(
        ("act", "state"),
        [
            ("cancel", State.running),
            ("cancel", State.cancelled),
            ("ask to stop", State.succeeded),
            ("reschedule", State.running),
            ("reschedule", State.failed),
            ("retry", State.scheduled),
            ("retry", State.running),
            ("retry", State.succeeded),
        ],
    )
    async def test_an_illegal_move_leaves_no_entry(
        self, probe: Probe, act: str, state: State
    ) -> None:
        record = await probe.in_state(state)
        before = await probe.audit(record.id)
        with pytest.raises(IllegalState):
            await ACTS[act](probe, record.id)
        assert await probe.audit(record.id) == before

    async def test_a_refused_key_leaves_no_entry(self, probe: Probe) -> None:
        failed = await probe.finished(State.failed, key="k")
        await probe.add(key="k")
        with pytest.raises(DuplicateKey):
            await probe.retry(failed.id)
        assert await probe.audit(failed.id) == []

    async def test_an_attempt_by_another_tenant_leaves_no_entry(self, probe: Probe) -> None:
        record = await probe.add(tenant="a")
        tries: list[Callable[[], Awaitable[object]]] = [
            lambda: probe.cancel(record.id, "b"),
            lambda: probe.cancel(record.id, None, running=True),
            lambda: probe.reschedule(record.id, delay=0, tenant="b"),
            lambda: probe.retry(record.id, "b"),
        ]
        for attempt in tries:
            with pytest.raises(ActionNotFound):
                await attempt()
        assert await probe.audit(record.id) == []

    async def test_a_schedule_has_one_entry_however_often_it_is_sent(self, probe: Probe) -> None:
        first, second = await probe.add(tenant="a", by="ann"), await probe.add(by="bob")
        act = Act("eve", note="by hand", source="cli", address="203.0.113.7")
        for _ in range(2):
            await probe.do(probe.store.audit_schedules([first, second], act))
        [entry] = await probe.audit(first.id)
        assert (entry.id, entry.at, entry.by) == (first.id, first.created_at, "ann")
        assert (entry.verb, entry.subject, entry.tenant) == ("schedule", "action", "a")
        assert (entry.before, entry.after) == ({}, audit_snapshot(first))
        assert (entry.note, entry.source, entry.address) == ("by hand", "cli", "203.0.113.7")
        assert [entry.by for entry in await probe.audit(second.id)] == ["bob"]

    async def test_a_rolled_back_change_leaves_no_entry(self, probe: Probe) -> None:
        """An error inside the transaction rolls back the entry too."""
        record = await probe.add()
        cancel = probe.store.cancel(record.id, None, Act("bob"), running=False)
        with pytest.raises(Broken):
            await probe.do(broken(cancel))
        assert await probe.audit(record.id) == []
        assert await probe.get(record.id) == record
