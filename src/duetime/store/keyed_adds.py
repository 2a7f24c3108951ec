"""Adds actions with keys. A key that an expired action holds is free: nothing may be lost to an
action that can never start."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from duetime.errors import DuplicateKey
from duetime.model.actions.action import Added, Record
from duetime.model.actions.new_actions import InsertedBatch
from duetime.model.state import State
from duetime.store.base import Store
from duetime.store.contract.expiry import ExpiredActions
from duetime.store.flow import Flow, Mode, Steps


@dataclass(frozen=True, slots=True)
class KeyedAdd:
    """What was added or found, and the expired actions that were cancelled to free their keys."""

    added: Sequence[Added]
    expired: Sequence[Record]


NOTHING_HELD = ExpiredActions((), changed=False)


def add_with_keys(store: Store, add: Flow[Sequence[Added]]) -> Flow[KeyedAdd]:
    """Return the flow that adds actions, and adds them again after expired ones that held their
    keys were cancelled. Those that were added before are recognised by their ids."""
    replay = add.replay or add
    resent = Flow(lambda: _steps(store, replay, replay), Mode.write, add.resend)
    return Flow(lambda: _steps(store, add, replay), Mode.write, add.resend, resent)


def _steps(
    store: Store, add: Flow[Sequence[Added]], again: Flow[Sequence[Added]]
) -> Steps[KeyedAdd]:
    expired: list[Record] = []
    while True:
        added, refused = yield from _added_or_refused(add)
        holders = _holders(added) if refused is None else {refused.action_id}
        done = (yield from store.cancel_expired(holders).start()) if holders else NOTHING_HELD
        if refused is not None and not done.cancelled:
            raise refused
        if not done.cancelled and not done.changed:
            return KeyedAdd(added, expired)
        expired += done.cancelled
        add = again


def _added_or_refused(
    add: Flow[Sequence[Added]],
) -> Steps[tuple[Sequence[Added], DuplicateKey | None]]:
    try:
        return (yield from add.start()), None
    except DuplicateKey as refused:
        return (), refused


def _holders(added: Sequence[Added]) -> Collection[UUID]:
    """Return the ids of the actions, found under their keys, that may have expired."""
    if isinstance(added, InsertedBatch):
        return ()
    found = (item.record for item in added if not item.created)
    return {r.id for r in found if r.expires_at is not None and r.state is State.scheduled}
