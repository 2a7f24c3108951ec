"""The live parts of pages: when they are sent, and to whom."""

import asyncio
from collections.abc import Callable
from uuid import UUID

import httpx
import pytest

from admin.client import Parcel
from duetime import ANY, Duetime
from duetime.admin.pages.snapshots import MAX_SNAPSHOTS, Snapshots, live_every
from duetime.model.access.sessions import SessionUse
from duetime.model.tenant import Scope
from duetime.store.flow import Flow
from pages.browser import Browser
from pages.readers import reader_of

LIVE = "/live?view=queues"
RIGHTS = ("queues.read", "queues.manage")


async def live(browser: Browser, tag: str | None = None, address: str = LIVE) -> httpx.Response:
    headers = {} if tag is None else {"if-none-match": tag}
    return await browser.client.get(address, headers=headers)


class TestTheRoute:
    async def test_it_answers_again_only_what_has_changed(
        self, memory_app: Duetime, moving: Callable[..., None]
    ) -> None:
        await memory_app.schedule(Parcel(), delay=60, queue="mail")
        async with reader_of(memory_app, *RIGHTS) as browser:
            first = await live(browser)
            assert (first.status_code, 'id="queues"' in first.text) == (200, True)
            assert first.headers["cache-control"] == "private, no-cache"
            moving(2)
            same = await live(browser, first.headers["etag"])
            assert (same.status_code, same.content) == (304, b"")
            assert same.headers["etag"] == first.headers["etag"]
            await memory_app.queues.pause("mail", note="flood")
            moving(2)
            other = await live(browser, first.headers["etag"])
            assert (other.status_code, "flood" in other.text) == (200, True)
            assert "Content-Security-Policy" in other.headers

    async def test_time_alone_changes_nothing(
        self, memory_app: Duetime, moving: Callable[..., None]
    ) -> None:
        """Scripts keep relative times true."""
        await memory_app.queues.pause("mail")
        async with reader_of(memory_app, *RIGHTS) as browser:
            first = await live(browser)
            memory_app.clock.advance(minutes=5)  # type: ignore[attr-defined]
            moving(2)
            assert (await live(browser, first.headers["etag"])).status_code == 304

    async def test_what_is_shown_depends_on_permissions_language_and_zone(
        self, memory_app: Duetime
    ) -> None:
        await memory_app.schedule(Parcel(), delay=60, queue="mail")
        asgi = memory_app.admin()
        async with (
            reader_of(memory_app, *RIGHTS, asgi=asgi) as manager,
            reader_of(memory_app, "queues.read", asgi=asgi) as reader,
        ):
            first = await live(manager)
            other = await live(reader, first.headers["etag"])
            assert (other.status_code, "dialog" in first.text, "dialog" in other.text) == (
                *(200, True, False),
            )
            tag = first.headers["etag"]
            for choice in ("&lang=fr", "&tz=Asia/Tokyo"):
                shown = await live(manager, tag, f"{LIVE}{choice}")
                assert shown.status_code == 200
                tag = shown.headers["etag"]

    async def test_a_right_that_is_taken_away_counts_within_a_second(
        self, memory_app: Duetime, moving: Callable[..., None]
    ) -> None:
        """For pages that are loaded, at once."""
        async with reader_of(memory_app, "queues.read") as browser:
            tag = (await live(browser)).headers["etag"]
            [grant] = await memory_app.grants.list()
            await memory_app.grants.set(grant.role, "queues.read", allowed=False)
            assert (await browser.client.get("/queues")).status_code == 403
            moving()
            assert (await live(browser, tag)).status_code == 403

    async def test_a_session_that_has_ended_counts_within_a_second(
        self, memory_app: Duetime, moving: Callable[..., None]
    ) -> None:
        async with reader_of(memory_app, "queues.read") as browser:
            assert (await live(browser)).status_code == 200
            [key] = await memory_app.api_keys.list()
            await memory_app.api_keys.revoke(key.id)
            assert (await browser.client.get("/queues")).status_code == 303
            moving()
            assert (await live(browser)).status_code == 303

    async def test_asking_what_is_new_does_not_keep_a_session_in_use(
        self, memory_app: Duetime, moving: Callable[..., None]
    ) -> None:
        async with reader_of(memory_app, "queues.read") as browser:
            for _ in range(59):
                memory_app.clock.advance(minutes=1)  # type: ignore[attr-defined]
                moving(60)
                assert (await live(browser)).status_code == 200
            memory_app.clock.advance(minutes=1)  # type: ignore[attr-defined]
            moving(60)
            assert (await live(browser)).status_code == 303

    async def test_many_viewers_read_a_session_once_a_second(
        self, memory_app: Duetime, moving: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reads, use_session = [], memory_app.store.use_session

        def counted(session_id: UUID) -> Flow[SessionUse | None]:
            reads.append(session_id)
            return use_session(session_id)

        async with reader_of(memory_app, "queues.read") as browser:
            monkeypatch.setattr(memory_app.store, "use_session", counted)
            for _ in range(3):
                moving()
                await asyncio.gather(*(live(browser) for _ in range(20)))
        assert len(reads) == 3

    async def test_what_is_no_view(self, browser: Browser, memory_app: Duetime) -> None:
        response = await browser.client.get(LIVE)
        assert response.headers["location"].startswith("/sign-in")
        async with reader_of(memory_app, "queues.read") as reader:
            for address in ("/live", "/live?view=", "/live?view=<script>"):
                assert (await live(reader, address=address)).status_code == 404


class TestSnapshots:
    async def test_readers_of_other_rows_share_nothing(self, app: Duetime) -> None:
        for tenant in ("acme", "other", None):
            await app.schedule(Parcel(), tenant=tenant, correlation_id=f"of {tenant}")
        snapshots = Snapshots(app)
        scopes: list[Scope] = ["acme", "other", None, ANY, "acme"]
        assert [await snapshots.recent(correlations, scope) for scope in scopes] == [
            *(["of acme"], ["of other"], ["of None"]),
            ["of None", "of acme", "of other"],
            ["of acme"],
        ]

    async def test_one_read_serves_all_within_a_second(self, memory_app: Duetime) -> None:
        now, reads = [0.0], []

        async def count(app: Duetime, scope: Scope) -> int:
            reads.append(scope)
            await asyncio.sleep(0)
            return len(reads)

        snapshots = Snapshots(memory_app, lambda: now[0])
        found = await asyncio.gather(*(snapshots.recent(count, None) for _ in range(20)))
        assert found == [1] * 20
        now[0] = 0.999
        assert await snapshots.recent(count, None) == 1
        now[0] = 1.0
        assert await snapshots.recent(count, None) == 2
        assert await snapshots.fresh(count, None) == 3
        assert await snapshots.recent(count, None) == 3

    async def test_what_takes_several_statements_is_read_less_often(
        self, memory_app: Duetime
    ) -> None:
        now, reads = [0.0], []

        @live_every(2.0)
        async def count(app: Duetime, scope: Scope) -> int:
            reads.append(scope)
            return len(reads)

        snapshots = Snapshots(memory_app, lambda: now[0])
        assert await snapshots.recent(count, None) == 1
        now[0] = 1.9
        assert await snapshots.recent(count, None) == 1
        assert await snapshots.fresh(count, None) == 2
        now[0] = 3.9
        assert await snapshots.recent(count, None) == 3

    async def test_a_read_that_fails_leaves_none(self, memory_app: Duetime) -> None:
        failing = [True]

        async def read(app: Duetime, scope: Scope) -> str:
            if failing:
                raise ConnectionError(failing.pop())
            return "well"

        snapshots = Snapshots(memory_app)
        with pytest.raises(ConnectionError):
            await snapshots.recent(read, None)
        assert await snapshots.recent(read, None) == "well"

    async def test_they_are_few(self, memory_app: Duetime) -> None:
        async def echo(app: Duetime, scope: Scope, number: int) -> int:
            reads.append(number)
            return number

        reads: list[int] = []
        snapshots = Snapshots(memory_app, lambda: 0.0)
        for number in range(MAX_SNAPSHOTS + 1):
            await snapshots.recent(echo, None, number)
        await snapshots.recent(echo, None, MAX_SNAPSHOTS)
        await snapshots.recent(echo, None, 0)
        assert reads == [*range(MAX_SNAPSHOTS + 1), 0]


async def correlations(app: Duetime, scope: Scope) -> list[str]:
    return sorted(str(action.correlation_id) for action in await app.find(tenant=scope))
