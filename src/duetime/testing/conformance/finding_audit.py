"""`audit`: entries found by subject, actor, verb, time and tenant, a page at a time."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from duetime.model.act import Act
from duetime.model.audit import StoredAuditEntry
from duetime.model.jobs.change import FoundJob, JobChange
from duetime.model.tenant import ANY
from duetime.testing.conformance.probe import SECOND, Probe
from duetime.testing.conformance.suite import Suite


async def three_acts(probe: Probe) -> list[UUID]:
    """Acts of two tenants and three actors, a second apart, and the actions they are about."""
    first, second, third = [await probe.add(tenant=tenant) for tenant in (None, "a", "a")]
    await probe.reschedule(first.id, delay=0, by="ann")
    probe.pass_time(SECOND)
    await probe.reschedule(second.id, delay=0, by="bob")
    probe.pass_time(SECOND)
    await probe.cancel(second.id, by="ann")
    await probe.cancel(third.id, by="eve")
    return [first.id, second.id, third.id]


def seen(entries: list[StoredAuditEntry]) -> list[tuple[str, str]]:
    return [(entry.verb, entry.by) for entry in entries]


class FindingAudit(Suite):
    async def test_everything_is_found_newest_first(self, probe: Probe) -> None:
        assert await probe.find_audit() == []
        await three_acts(probe)
        assert seen(await probe.find_audit()) == [
            ("cancel", "eve"),
            ("cancel", "ann"),
            ("reschedule", "bob"),
            ("reschedule", "ann"),
        ]

    @pytest.mark.parametrize(
        ("wanted", "expected"),
        [
            ({"by": "ann"}, [("cancel", "ann"), ("reschedule", "ann")]),
            ({"verb": "cancel"}, [("cancel", "eve"), ("cancel", "ann")]),
            ({"verb": "cancel", "by": "ann"}, [("cancel", "ann")]),
            ({"tenant": None}, [("reschedule", "ann")]),
            ({"tenant": "a", "by": "ann"}, [("cancel", "ann")]),
            ({"tenant": "b"}, []),
            ({"verb": "retry"}, []),
            ({"by": "nobody"}, []),
        ],
    )
    async def test_fields_narrow_what_is_found(
        self, probe: Probe, wanted: dict[str, Any], expected: list[tuple[str, str]]
    ) -> None:
        await three_acts(probe)
        assert seen(await probe.find_audit(**wanted)) == expected

    async def test_since_is_included_and_before_is_not(self, probe: Probe) -> None:
        start = probe.now
        await three_acts(probe)
        middle = start + SECOND
        assert seen(await probe.find_audit(since=middle, before=middle + SECOND)) == [
            ("reschedule", "bob")
        ]
        assert len(await probe.find_audit(since=middle)) == 3
        assert seen(await probe.find_audit(before=middle)) == [("reschedule", "ann")]
        assert await probe.find_audit(since=middle, before=middle) == []

    async def test_a_subject_is_found_within_its_tenant(self, probe: Probe) -> None:
        _, second, _ = await three_acts(probe)
        subject = str(second)
        assert len(await probe.find_audit(subject_id=subject)) == 2
        assert len(await probe.find_audit(subject_id=subject, tenant="a")) == 2
        assert await probe.find_audit(subject_id=subject, tenant=None) == []
        assert seen(await probe.find_audit(subject_id=subject, verb="cancel")) == [
            ("cancel", "ann")
        ]

    async def test_jobs_are_found_by_name(self, probe: Probe) -> None:
        job = probe.job()

        def put(found: FoundJob) -> JobChange:
            return JobChange(job=job, verb="put", act=Act("ann"))

        await probe.edit(job.name, decide=put)
        [entry] = await probe.find_audit(subject_id=job.name)
        assert (entry.subject, entry.verb) == ("job", "put")
        assert job.definition.payload not in str(entry)

    async def test_pages_follow_each_other_without_gap_or_repetition(self, probe: Probe) -> None:
        """Some entries share their instant; new ones do not disturb the pages after them."""
        record = await probe.add()
        for count in range(7):
            await probe.reschedule(record.id, delay=0, by=f"user-{count}")
            if count % 3 == 0:
                probe.pass_time(1)
        everything = await probe.find_audit()
        for wanted in ({}, {"subject_id": str(record.id)}, {"verb": "reschedule", "tenant": None}):
            paged: list[StoredAuditEntry] = []
            while page := await probe.find_audit(limit=2, after=paged[-1:], **wanted):
                paged += page
            assert paged == everything
        first = await probe.find_audit(limit=2)
        await probe.cancel(record.id)
        assert await probe.find_audit(limit=2, after=first[-1:]) == everything[2:4]

    async def test_note_and_source_of_the_act_are_kept(self, probe: Probe) -> None:
        record = await probe.add()
        act = Act("ann", note="it's late", source="api")
        await probe.do(probe.store.cancel(record.id, None, act, running=False))
        [entry] = await probe.find_audit()
        assert (entry.by, entry.note, entry.source) == ("ann", "it's late", "api")

    async def test_without_a_note_there_is_none(self, probe: Probe) -> None:
        await three_acts(probe)
        entries = await probe.find_audit(tenant=ANY)
        assert {(entry.note, entry.source) for entry in entries} == {(None, "python")}
