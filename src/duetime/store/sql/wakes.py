"""Whom a commit wakes."""

from __future__ import annotations

from collections.abc import Iterable

from duetime.store.flow import Steps, Wake


def wake(due: Iterable[tuple[str | None, int | None]], now: int) -> Steps[None]:
    """One wake per lane, for the earliest of its (lane, due_at).

    What waits for its parent is not due, so nobody need wake for it.
    """
    earliest: dict[str, int] = {}
    for lane, due_at in due:
        if lane is not None and due_at is not None:
            earliest[lane] = min(due_at, earliest.get(lane, due_at))
    for lane, due_at in earliest.items():
        yield Wake(lane, due_at, now)
