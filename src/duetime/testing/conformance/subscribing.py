"""Subscriptions to notifications: stored, changed, declared by code, ended."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from duetime.errors import InvalidArgument, SubscriptionNotFound
from duetime.model.notifications.declared import declared_subscription
from duetime.model.notifications.mailing import CONFIRMATION_WINDOW, MAX_CONFIRMATIONS
from duetime.model.notifications.subscription import (
    DECLARED_FOR,
    IN_APP,
    MAX_SUBSCRIPTIONS,
    StoredSubscription,
    SubscriptionTerms,
    confirmed,
    ended,
)
from duetime.model.notifications.topics import CONFIRM_TOPIC, TEST_TOPIC
from duetime.model.tenant import ANY
from duetime.store.flow import Flow
from duetime.testing.conformance.granting import ANN
from duetime.testing.conformance.probe import SECOND, Probe
from duetime.testing.conformance.suite import Suite


def new_terms(**given: Any) -> SubscriptionTerms:
    return SubscriptionTerms(**{"topics": ("action-failed",), "channel": IN_APP} | given)


def unstored(**given: Any) -> StoredSubscription:
    fields: dict[str, Any] = {"created_at": 0, "created_by": "", "modified_at": 0}
    fields |= {"modified_by": "", "secret": "whsec"}
    return StoredSubscription(
        id=uuid4(),
        terms=new_terms(**given),
        app=None,
        **fields,
    )


async def subscribe(probe: Probe, **given: Any) -> StoredSubscription:
    return await probe.do(probe.store.add_subscription(unstored(**given), ANN))


async def all_of(probe: Probe) -> list[StoredSubscription]:
    return await probe.do(probe.store.subscriptions(ANY))


async def version(probe: Probe) -> int:
    return (await probe.sweep()).subscriptions_version


class Subscribing(Suite):
    async def test_a_subscription_is_stored_with_its_time_and_actor(self, probe: Probe) -> None:
        probe.pass_time(SECOND)
        stored = await subscribe(
            probe, jobs=("billing-*",), zone="Europe/Paris", quiet="22:00-07:00"
        )
        assert (stored.created_at, stored.created_by, stored.confirmed_at) == (
            *(probe.now, "ann"),
            probe.now,
        )
        assert await probe.do(probe.store.subscription(stored.id, None)) == stored
        assert await all_of(probe) == [stored]

    async def test_a_subscription_is_seen_in_its_scope(self, probe: Probe) -> None:
        ours, of_none = await subscribe(probe, tenant="a"), await subscribe(probe)
        of_all = await subscribe(probe, everywhere=True)
        for scope, expected in (("a", ours), (None, of_none)):
            assert await probe.do(probe.store.subscriptions(scope)) == [expected]
        assert await probe.do(probe.store.subscriptions("b")) == []
        assert len(await all_of(probe)) == 3
        for hidden in (of_none, of_all):
            with pytest.raises(SubscriptionNotFound, match=str(hidden.id)):
                await probe.do(probe.store.subscription(hidden.id, "a"))

    async def test_each_change_is_audited_and_changes_the_version(self, probe: Probe) -> None:
        stored = await subscribe(probe, tenant="a")
        versions = [await version(probe)]
        edit = probe.store.edit_subscription(
            stored.id, "a", ANN, "end", lambda each, now: ended(each, "asked", now)
        )
        changed = await probe.do(edit)
        versions.append(await version(probe))
        assert (changed.end_reason, changed.ended_at, changed.modified_by) == (
            *("asked", probe.now),
            "ann",
        )
        await probe.do(probe.store.remove_subscription(stored.id, ANY, ANN))
        versions.append(await version(probe))
        assert versions == sorted(set(versions))
        entries = await probe.audit(str(stored.id))
        assert [entry.verb for entry in entries] == ["remove", "end", "subscribe"]
        assert {(entry.by, entry.tenant, entry.subject) for entry in entries} == {
            ("ann", "a", "subscription")
        }
        assert await all_of(probe) == []

    async def test_an_edit_that_changes_nothing_leaves_no_entry(self, probe: Probe) -> None:
        stored = await subscribe(probe)
        before = await version(probe)
        edit = probe.store.edit_subscription(stored.id, None, ANN, "mute", lambda each, now: each)
        assert await probe.do(edit) == stored
        assert (await version(probe), len(await probe.audit(str(stored.id)))) == (before, 1)

    async def test_another_scope_changes_and_removes_nothing(self, probe: Probe) -> None:
        stored = await subscribe(probe, tenant="a")
        flows: tuple[Flow[Any], ...] = (
            probe.store.edit_subscription(stored.id, "b", ANN, "end", lambda each, now: each),
            probe.store.remove_subscription(stored.id, "b", ANN),
            probe.store.send_single(stored.id, "b", TEST_TOPIC, ANN),
        )
        for flow in flows:
            with pytest.raises(SubscriptionNotFound):
                await probe.do(flow)
        assert await probe.do(probe.store.subscriptions("a")) == [stored]

    async def test_an_address_is_asked_to_confirm(self, probe: Probe) -> None:
        stored = await subscribe(probe, channel="email", address="ann@example.org")
        assert stored.confirmed_at is None
        [action] = await probe.find(kinds=("duetime.notify",))
        assert (action.queue, action.tenant, action.due_at) == ("duetime", None, probe.now)
        edit = probe.store.edit_subscription(
            stored.id, None, ANN, "confirm", lambda each, now: confirmed(each, now)
        )
        after: StoredSubscription = await probe.do(edit)
        assert after.confirmed_at == probe.now

    async def test_messages_that_are_asked_for_at_one_instant_are_two(self, probe: Probe) -> None:
        stored = await subscribe(probe)
        sent = [
            await probe.do(probe.store.send_single(stored.id, None, TEST_TOPIC, ANN))
            for _ in range(2)
        ]
        assert len({each.id for each in sent}) == 2

    async def test_confirmations_are_limited_by_the_day(self, probe: Probe) -> None:
        [first, *_] = [
            await subscribe(probe, channel="email", address=f"{n}@example.org")
            for n in range(MAX_CONFIRMATIONS)
        ]
        with pytest.raises(InvalidArgument, match="confirm within a day"):
            await subscribe(probe, channel="email", address="one-more@example.org")
        with pytest.raises(InvalidArgument, match="confirm within a day"):
            await probe.do(probe.store.send_single(first.id, None, CONFIRM_TOPIC, ANN))
        await subscribe(probe, channel="email", address="x@example.org", tenant="other")
        probe.pass_time(CONFIRMATION_WINDOW + SECOND)
        await subscribe(probe, channel="email", address="one-more@example.org")

    async def test_subscriptions_of_a_scope_are_limited(self, probe: Probe) -> None:
        for _ in range(MAX_SUBSCRIPTIONS):
            await subscribe(probe, tenant="a")
        with pytest.raises(InvalidArgument, match="remove some"):
            await subscribe(probe, tenant="a")
        await subscribe(probe, tenant="b")
        # A tenant must not be able to keep others from subscribing.
        await subscribe(probe, everywhere=True)
        await subscribe(probe)

    async def test_declared_ones_are_stored_once_and_kept_as_people_left_them(
        self, probe: Probe
    ) -> None:
        declared = declared_subscription("shop", new_terms(everywhere=True), "secret")
        await probe.do(probe.store.declare_subscriptions([declared]))
        first = await version(probe)
        edit = probe.store.edit_subscription(
            declared.id, ANY, ANN, "end", lambda each, now: ended(each, "asked", now)
        )
        await probe.do(edit)
        probe.pass_time(SECOND)
        of_another_process = declared_subscription("shop", declared.terms, "other")
        await probe.do(probe.store.declare_subscriptions([of_another_process]))
        [stored] = await all_of(probe)
        assert (stored.end_reason, stored.secret, stored.seen_at) == ("asked", "secret", probe.now)
        assert await version(probe) == first + 1

    async def test_what_code_declares_no_more_is_gone_after_a_while(self, probe: Probe) -> None:
        old = declared_subscription("shop", new_terms(), "s")
        new = declared_subscription("shop", new_terms(topics=("overdue",)), "s")
        theirs = declared_subscription("other", new_terms(), "s")
        await probe.do(probe.store.declare_subscriptions([old, theirs]))
        await probe.do(probe.store.declare_subscriptions([new]))
        assert len(await all_of(probe)) == 3
        probe.pass_time(DECLARED_FOR)
        await probe.do(probe.store.declare_subscriptions([new]))
        left = {each.id for each in await all_of(probe)}
        assert left == {new.id, theirs.id}
