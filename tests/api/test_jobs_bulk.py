"""Many jobs are paused and resumed at once: each audited, and each name answered."""

from __future__ import annotations

from typing import Any

import pytest

from api.apps import Note, real_app
from api.hourly_job import at, clock
from duetime import ANY, Duetime, JobPaused, JobState
from duetime.errors import InvalidArgument, NaiveDatetime
from duetime.testing import FakeClock

__all__ = ["clock", "real_app"]

NAMES = ["shop-a", "shop-b", "shop-c"]


async def work(payload: Note) -> None: ...


async def put_jobs(app: Duetime, *names: str, tenant: str | None = None) -> None:
    if app.runtime.handlers.get("note") is None:
        app.handler(kind="note")(work)
    for name in names:
        await app.jobs.put(name, "0 * * * *", payload=Note(), tenant=tenant)


async def enabled(app: Duetime) -> list[str]:
    return [job.name for job in await app.jobs.list(tenant=ANY) if job.enabled]


class TestPause:
    async def test_each_job_named_is_paused(self, app: Duetime, clock: FakeClock) -> None:
        await put_jobs(app, *NAMES)
        done = await app.jobs.bulk("pause", ["shop-c", "shop-a"], by="ann", note="stock-take")
        assert (done.changed, done.unchanged, done.not_found) == (("shop-c", "shop-a"), (), ())
        job = await app.jobs.get("shop-a")
        assert (job.state, job.paused_by, job.pause_note) == (JobState.paused, "ann", "stock-take")
        assert await enabled(app) == ["shop-b"]

    async def test_it_ends_at_until(self, app: Duetime, clock: FakeClock) -> None:
        await put_jobs(app, *NAMES)
        await app.jobs.bulk("pause", NAMES, until=at(3))
        assert (await app.jobs.get("shop-b")).paused_until == at(3)
        clock.set(at(3))
        assert await enabled(app) == NAMES

    async def test_each_is_audited_by_itself(self, app: Duetime) -> None:
        await put_jobs(app, *NAMES)
        await app.jobs.bulk("pause", NAMES, by="ann", note="stock-take")
        for name in NAMES:
            [entry, _] = await app.audit.find(subject=name)
            assert (entry.verb, entry.by, entry.note, entry.source) == (
                *("pause", "ann", "stock-take"),
                "python",
            )
            assert (entry.before["paused"], entry.after["paused"]) == (False, True)

    async def test_what_is_paused_so_already_stays_unchanged(self, app: Duetime) -> None:
        await put_jobs(app, *NAMES)
        await app.jobs.pause("shop-a", by="ann")
        done = await app.jobs.bulk("pause", NAMES, by="ann")
        assert (done.changed, done.unchanged) == (("shop-b", "shop-c"), ("shop-a",))
        assert (await app.jobs.get("shop-a")).version == 2

    async def test_occurrences_that_wait_are_cancelled(
        self, app: Duetime, clock: FakeClock
    ) -> None:
        app.handler(kind="note")(work)
        for name in NAMES:
            await app.jobs.put(name, "0 * * * *", payload=Note(), jitter=3600)
        await app.testing.advance(hours=1)
        waiting = {str(a.id) for a in await app.testing.scheduled()}
        await app.jobs.bulk("pause", NAMES, by="ann")
        assert waiting
        assert not await app.testing.scheduled()

    async def test_each_pause_is_an_event(self, app: Duetime) -> None:
        seen: list[tuple[str, str]] = []
        app.on(JobPaused, lambda event: seen.append((event.job, event.by)))
        await put_jobs(app, *NAMES)
        await app.jobs.bulk("pause", NAMES[:2], by="ann")
        assert sorted(seen) == [("shop-a", "ann"), ("shop-b", "ann")]


class TestResume:
    async def test_each_job_named_is_resumed(self, app: Duetime, clock: FakeClock) -> None:
        await put_jobs(app, *NAMES)
        await app.jobs.bulk("pause", NAMES)
        done = await app.jobs.bulk("resume", [*NAMES[:2], "shop-a"], by="bob", note="done")
        assert (done.changed, done.unchanged) == (("shop-a", "shop-b"), ())
        assert await enabled(app) == NAMES[:2]
        again = await app.jobs.bulk("resume", NAMES)
        assert (again.changed, again.unchanged) == (("shop-c",), ("shop-a", "shop-b"))


class TestNames:
    async def test_other_tenants_names_are_answered_as_unknown_ones(self, app: Duetime) -> None:
        await put_jobs(app, "shop-a")
        await put_jobs(app, "shop-b", tenant="other")
        done = await app.jobs.bulk("pause", ["shop-a", "shop-b", "shop-nothing"])
        assert (done.changed, done.not_found) == (("shop-a",), ("shop-b", "shop-nothing"))
        assert (await app.jobs.get("shop-b", tenant="other")).enabled
        assert not (await app.audit.find(subject="shop-b", verb="pause", tenant=ANY)).items
        done = await app.jobs.bulk("pause", ["shop-a", "shop-b"], tenant="other")
        assert (done.changed, done.not_found) == (("shop-b",), ("shop-a",))

    async def test_a_removed_job_is_not_found(self, app: Duetime) -> None:
        await put_jobs(app, "shop-a")
        await app.jobs.remove("shop-a")
        assert (await app.jobs.bulk("pause", ["shop-a"])).not_found == ("shop-a",)

    async def test_a_thousand_at_once(self, app: Duetime) -> None:
        await put_jobs(app, "shop-a")
        names = [f"shop-{n}" for n in range(999)] + ["shop-a"]
        done = await app.jobs.bulk("pause", names)
        assert (done.changed, len(done.not_found)) == (("shop-a",), 999)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"verb": "stop"}, "verb"),
    ({"verb": "puase"}, "verb"),
    ({"verb": None}, "verb"),
    ({"verb": ["pause"]}, "verb"),
    ({"names": []}, "names"),
    ({"names": "shop-a"}, "names"),
    ({"names": None}, "names"),
    ({"names": {"shop-a": 1}}, "names"),
    ({"names": ["shop-a", None]}, "names"),
    ({"names": ["shop-a", ""]}, "names"),
    ({"names": ["shop-a", "\x00"]}, "names"),
    ({"names": ["shop-a", "\ud800"]}, "names"),
    ({"names": ["x" * 1000]}, "names"),
    ({"names": ["shop-a"] * 1001}, "names"),
    ({"until": at(-1)}, "until"),
    ({"until": at(0)}, "until"),
    ({"until": "tomorrow"}, "until"),
    ({"verb": "resume", "until": at(1)}, "until"),
    ({"by": ""}, "by"),
    ({"by": 7}, "by"),
    ({"note": "x" * 501}, "note"),
    ({"note": "\x00"}, "note"),
    ({"tenant": ""}, "tenant"),
]


@pytest.mark.parametrize(("bad", "argument"), BAD, ids=lambda v: repr(v)[:40])
async def test_bad_input_changes_nothing(
    app: Duetime, clock: FakeClock, bad: dict[str, Any], argument: str
) -> None:
    await put_jobs(app, *NAMES)
    call: dict[str, Any] = {"verb": "pause", "names": NAMES} | bad
    with pytest.raises(InvalidArgument) as refused:
        await app.jobs.bulk(**call)
    assert refused.value.argument == argument
    assert await enabled(app) == NAMES


async def test_an_instant_without_a_zone_is_refused(app: Duetime, clock: FakeClock) -> None:
    await put_jobs(app, *NAMES)
    with pytest.raises(NaiveDatetime):
        await app.jobs.bulk("pause", NAMES, until=at(1).replace(tzinfo=None))


async def test_an_end_that_has_passed_tells_nothing_of_a_name(
    app: Duetime, clock: FakeClock
) -> None:
    for name in ("shop-nothing", "shop-a"):
        with pytest.raises(InvalidArgument, match="future"):
            await app.jobs.bulk("pause", [name], until=at(-1))


def test_without_await(memory_app: Duetime) -> None:
    memory_app.handler(kind="note")(work)
    memory_app.sync.jobs.put("shop-a", "0 * * * *", payload=Note())
    assert memory_app.sync.jobs.bulk("pause", ["shop-a"]).changed == ("shop-a",)
