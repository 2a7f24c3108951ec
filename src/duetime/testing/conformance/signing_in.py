"""One-time links, sessions of pages, and refused requests."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from duetime.errors import ApiKeyNotFound
from duetime.model.access.identity import Identity
from duetime.model.access.refusal import Refusal
from duetime.model.access.sessions import (
    LINK_LIFETIME,
    SESSION_IDLE,
    SESSION_LIFETIME,
    SessionUse,
    StoredLink,
    StoredSession,
)
from duetime.model.tenant import ANY
from duetime.testing.conformance.api_keys import HASH, add_key
from duetime.testing.conformance.broken import Broken, broken
from duetime.testing.conformance.granting import ANN, give
from duetime.testing.conformance.probe import SECOND, Probe
from duetime.testing.conformance.suite import Suite


async def add_link(probe: Probe) -> StoredLink:
    return await probe.do(probe.store.add_link(StoredLink(uuid4(), 0, 0, HASH), ANN))


def new_session(**given: Any) -> StoredSession:
    fields: dict[str, Any] = {"identity": Identity("key:1", ["support"], "a"), "api_key": None}
    fields |= {"local": False, "created_at": 0, "expires_at": 0, "seen_at": 0}
    return StoredSession(**fields | {"id": uuid4(), "secret_hash": HASH} | given)


async def sign_in(probe: Probe, **given: Any) -> StoredSession:
    return await probe.do(probe.store.add_session(new_session(**given), ANN))


async def use(probe: Probe, session: UUID) -> SessionUse | None:
    return await probe.do(probe.store.use_session(session))


class SigningIn(Suite):
    async def test_a_link_can_be_taken_once(self, probe: Probe) -> None:
        link = await add_link(probe)
        assert (link.created_at, link.expires_at) == (probe.now, probe.now + LINK_LIFETIME)
        assert await probe.do(probe.store.take_link(link.id, HASH)) == link
        assert await probe.do(probe.store.take_link(link.id, HASH)) is None

    async def test_a_wrong_hash_takes_no_link(self, probe: Probe) -> None:
        link = await add_link(probe)
        assert await probe.do(probe.store.take_link(link.id, HASH[::-1])) is None
        assert await probe.do(probe.store.take_link(uuid4(), HASH)) is None
        assert await probe.do(probe.store.take_link(link.id, HASH)) == link

    async def test_a_link_expires_after_ten_minutes(self, probe: Probe) -> None:
        early, late = await add_link(probe), await add_link(probe)
        probe.pass_time(LINK_LIFETIME - 1)
        assert await probe.do(probe.store.take_link(early.id, HASH)) == early
        probe.pass_time(1)
        assert await probe.do(probe.store.take_link(late.id, HASH)) is None

    async def test_a_session_is_read_with_the_grants_of_its_roles(self, probe: Probe) -> None:
        grants = [await give(probe), await give(probe, tenant="a")]
        await give(probe, role="other")
        session = await sign_in(probe, local=True)
        assert (session.created_at, session.seen_at) == (probe.now, probe.now)
        assert session.expires_at == probe.now + SESSION_LIFETIME
        assert await use(probe, session.id) == SessionUse(session, grants, probe.now)
        assert await use(probe, uuid4()) is None
        plain = await sign_in(probe, identity=Identity("link:1"))
        assert await use(probe, plain.id) == SessionUse(plain, [], probe.now)

    async def test_use_keeps_a_session_until_it_was_idle_too_long(self, probe: Probe) -> None:
        session = await sign_in(probe)
        probe.pass_time(SESSION_IDLE - 1)
        await probe.do(probe.store.record_session_use(session.id))
        seen = await use(probe, session.id)
        assert seen is not None
        assert seen.session.seen_at == probe.now
        probe.pass_time(SESSION_IDLE)
        await probe.do(probe.store.record_session_use(session.id))
        assert await use(probe, session.id) == SessionUse(seen.session, [], probe.now)

    async def test_a_session_that_has_ended_is_deleted_by_the_next_one(self, probe: Probe) -> None:
        idle = await sign_in(probe)
        probe.pass_time(SESSION_IDLE - 1)
        fresh = await sign_in(probe)
        assert await use(probe, idle.id) is not None
        probe.pass_time(1)
        await sign_in(probe)
        assert await use(probe, idle.id) is None
        assert await use(probe, fresh.id) is not None

    async def test_a_session_ends_with_its_key(self, probe: Probe) -> None:
        key = await add_key(probe, expires_at=probe.now + SECOND)
        session = await sign_in(probe, api_key=key.id)
        other = await sign_in(probe)
        assert session.expires_at == key.expires_at
        await probe.do(probe.store.revoke_api_key(key.id, ANY, ANN))
        assert await use(probe, session.id) is None
        assert await use(probe, other.id) is not None

    async def test_nobody_signs_in_with_a_key_that_is_gone(self, probe: Probe) -> None:
        key = await add_key(probe, expires_at=probe.now + 1)
        probe.pass_time(1)
        for key_id in (key.id, uuid4()):
            with pytest.raises(ApiKeyNotFound):
                await sign_in(probe, api_key=key_id)
        assert [entry.verb for entry in await probe.find_audit()] == ["create"]

    async def test_a_session_is_ended_once(self, probe: Probe) -> None:
        session, other = await sign_in(probe), await sign_in(probe)
        assert await probe.do(probe.store.end_session(session.id, ANN))
        assert not await probe.do(probe.store.end_session(session.id, ANN))
        assert await use(probe, session.id) is None
        assert await use(probe, other.id) is not None

    async def test_all_sessions_of_a_user_are_ended(self, probe: Probe) -> None:
        first, second = await sign_in(probe), await sign_in(probe)
        other = await sign_in(probe, identity=Identity("key:2"))
        assert await probe.do(probe.store.end_sessions("key:1", ANN)) == 2
        assert await probe.do(probe.store.end_sessions("key:1", ANN)) == 0
        assert [await use(probe, session.id) for session in (first, second)] == [None, None]
        assert await use(probe, other.id) is not None

    async def test_signing_in_and_out_is_audited_without_the_hash(self, probe: Probe) -> None:
        link, session = await add_link(probe), await sign_in(probe)
        await probe.do(probe.store.end_session(session.id, ANN))
        [made] = await probe.audit(str(link.id))
        signed_out, signed_in = await probe.audit(str(session.id))
        assert (made.verb, made.subject, made.by) == ("create", "link", "ann")
        assert (signed_in.verb, signed_in.subject, signed_in.tenant) == ("sign-in", "session", "a")
        assert (signed_out.verb, signed_out.address) == ("sign-out", "10.0.0.7")
        assert signed_in.after["user"] == signed_out.before["user"] == "key:1"
        assert HASH not in f"{made}{signed_in}{signed_out}{session!r}{link!r}"

    async def test_rolled_back_sign_ins_leave_nothing(self, probe: Probe) -> None:
        session = new_session()
        link = StoredLink(uuid4(), 0, 0, HASH)
        adding = probe.store.add_session(session, ANN), probe.store.add_link(link, ANN)
        with pytest.raises(Broken):
            await probe.do(broken(*adding))
        assert await use(probe, session.id) is None
        assert await probe.do(probe.store.take_link(link.id, HASH)) is None
        assert await probe.find_audit() == []

    async def test_a_refusal_is_audited(self, probe: Probe) -> None:
        refusal = Refusal("permission", "DELETE /api/jobs/{name}", "jobs.remove", "a")
        await probe.do(probe.store.add_refusal(refusal, ANN))
        [entry] = await probe.find_audit(verb="refuse")
        assert (entry.subject, entry.subject_id) == ("request", refusal.route)
        assert entry.after == {"reason": "permission", "permission": "jobs.remove"}
        assert (entry.by, entry.tenant, entry.address) == ("ann", "a", "10.0.0.7")

    async def test_the_oldest_entries_are_pruned(self, probe: Probe) -> None:
        for number in range(4):
            await probe.do(probe.store.add_refusal(Refusal("rate", f"r{number}"), ANN))
            probe.pass_time(SECOND)
        assert await probe.do(probe.store.prune_audit(keep=4 * SECOND, limit=10)) == 0
        assert await probe.do(probe.store.prune_audit(keep=SECOND, limit=2)) == 2
        assert [entry.subject_id for entry in await probe.find_audit()] == ["r3", "r2"]
        assert await probe.do(probe.store.prune_audit(keep=SECOND, limit=2)) == 1
        assert [entry.subject_id for entry in await probe.find_audit()] == ["r3"]

    async def test_clear_deletes_links_and_sessions(self, probe: Probe) -> None:
        link, session = await add_link(probe), await sign_in(probe)
        await probe.do(probe.store.clear())
        assert await probe.do(probe.store.take_link(link.id, HASH)) is None
        assert await use(probe, session.id) is None
