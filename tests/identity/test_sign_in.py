"""One-time links and sessions: opened, used, and over."""

from datetime import timedelta

import pytest

from duetime import ANY, Duetime
from duetime.admin.identity.sign_in import SignIns, make_link
from duetime.errors import NotAuthenticated
from duetime.model.ids import TimeOrderedIds
from duetime.testing import FakeClock
from identity.requests import authenticator, local_request, request


def sign_ins(app: Duetime) -> SignIns:
    roles = frozenset({"root"})
    find = authenticator(app, admin_roles=roles)
    return SignIns(lambda: app.store, TimeOrderedIds(), find, roles)


async def new_link(app: Duetime) -> str:
    return await make_link(app.store, TimeOrderedIds(), "ann")


class TestLinks:
    async def test_a_link_opens_one_session_with_all_rights(self, app: Duetime) -> None:
        signing = sign_ins(app)
        link = await new_link(app)
        session = await signing.by_link(link, local_request())
        access = await signing.access(session, local_request())
        assert access is not None
        assert (access.administrator, access.by.partition(":")[0]) == (True, "link")
        with pytest.raises(NotAuthenticated, match="make a new one"):
            await signing.by_link(link, local_request())

    async def test_elsewhere_neither_link_nor_session_counts(self, memory_app: Duetime) -> None:
        signing = sign_ins(memory_app)
        link = await new_link(memory_app)
        others = [request(("host", "localhost")), local_request(("via", "1.1 proxy"))]
        others += [request(("host", "rebound.example"), peer="127.0.0.1")]
        for facts in others:
            with pytest.raises(NotAuthenticated):
                await signing.by_link(link, facts)
        session = await signing.by_link(link, local_request())
        assert [await signing.access(session, facts) for facts in others] == [None] * 3

    async def test_a_link_is_good_for_ten_minutes(
        self, memory_app: Duetime, clock: FakeClock
    ) -> None:
        signing = sign_ins(memory_app)
        link = await new_link(memory_app)
        clock.advance(minutes=10)
        with pytest.raises(NotAuthenticated):
            await signing.by_link(link, local_request())

    @pytest.mark.parametrize("text", ["", "dtl_", "dtl_1_2", "x"])
    async def test_what_is_no_link(self, memory_app: Duetime, text: str) -> None:
        with pytest.raises(NotAuthenticated):
            await sign_ins(memory_app).by_link(text, local_request())
        assert await sign_ins(memory_app).access(text, local_request()) is None


class TestSessions:
    async def test_a_key_opens_a_session_with_its_rights(self, app: Duetime) -> None:
        await app.grants.set("support", "actions.read")
        made, signing = await app.api_keys.create("k", ["support"], "acme"), sign_ins(app)
        session = await signing.by_key(made.key, request())
        access = await signing.access(session, request())
        assert access is not None
        assert (access.by, access.scope) == (f"key:{made.id}", "acme")
        assert (access.allows("actions.read"), access.administrator) == (True, False)
        [entry] = await app.audit.find(verb="sign-in", tenant=ANY)
        assert (entry.by, entry.source, entry.address) == (access.by, "dashboard", "203.0.113.9")

    async def test_grants_count_at_each_request(self, memory_app: Duetime) -> None:
        made, signing = await memory_app.api_keys.create("k", ["a"]), sign_ins(memory_app)
        session = await signing.by_key(made.key, request())
        seen = []
        for allowed in (True, False):
            await memory_app.grants.set("a", "jobs.edit", allowed=allowed)
            access = await signing.access(session, request())
            seen.append(access is not None and access.allows("jobs.edit"))
        assert seen == [True, False]

    async def test_a_session_is_over_with_its_key(self, app: Duetime, clock: FakeClock) -> None:
        signing = sign_ins(app)
        soon = clock.now() + timedelta(minutes=5)
        revoked, expiring = (
            await app.api_keys.create("k", ["a"]),
            await app.api_keys.create("k", ["a"], expires_at=soon),
        )
        sessions = [await signing.by_key(key.key, request()) for key in (revoked, expiring)]
        await app.api_keys.revoke(revoked.id)
        assert await signing.access(sessions[0], request()) is None
        assert await signing.access(sessions[1], request()) is not None
        clock.advance(minutes=5)
        assert await signing.access(sessions[1], request()) is None

    async def test_it_lasts_twelve_hours_and_an_hour_idle(
        self, app: Duetime, clock: FakeClock
    ) -> None:
        made, signing = await app.api_keys.create("k", ["a"]), sign_ins(app)
        idle, used = [await signing.by_key(made.key, request()) for _ in range(2)]
        for _ in range(13):
            clock.advance(minutes=55)
            assert await signing.access(used, request()) is not None
        assert await signing.access(idle, request()) is None
        clock.advance(minutes=5)
        assert await signing.access(used, request()) is None

    async def test_another_secret_opens_nothing(self, memory_app: Duetime) -> None:
        made, signing = await memory_app.api_keys.create("k", ["a"]), sign_ins(memory_app)
        first, second = [await signing.by_key(made.key, request()) for _ in range(2)]
        start, _, _ = first.rpartition("_")
        forged = f"{start}_{second.rpartition('_')[2]}"
        assert await signing.access(forged, request()) is None
        await signing.sign_out(forged, request())
        assert await signing.access(first, request()) is not None

    async def test_signing_out_ends_it(self, app: Duetime) -> None:
        made, signing = await app.api_keys.create("k", ["a"]), sign_ins(app)
        session = await signing.by_key(made.key, request())
        await signing.sign_out(session, request())
        await signing.sign_out(session, request())
        assert await signing.access(session, request()) is None
        assert len((await app.audit.find(verb="sign-out")).items) == 1

    async def test_a_wrong_key_opens_none(self, memory_app: Duetime) -> None:
        with pytest.raises(NotAuthenticated):
            await sign_ins(memory_app).by_key("dt_wrong", request())
        assert (await memory_app.audit.find()).items == []

    async def test_neither_a_key_nor_a_session_is_taken_for_the_other(
        self, memory_app: Duetime
    ) -> None:
        made, signing = await memory_app.api_keys.create("k", ["a"]), sign_ins(memory_app)
        session = await signing.by_key(made.key, request())
        assert await signing.access(made.key, request()) is None
        with pytest.raises(NotAuthenticated):
            await authenticator(memory_app).access(request(key=session))
