"""Flows as part of the caller's transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast

from duetime.store.flow import Flow, Mode, Statement, Steps, Wake
from duetime.store.sql.drivers import COMMIT, ROLLBACK, Command, Driven, Pinned, statements
from duetime.store.sql.joining.base import Caller, Params, Render, Single, Standing, Step
from duetime.store.sql.statements.loader import Dialect, Loader, Style
from duetime.store.transaction import Joined

T = TypeVar("T")
log = logging.getLogger("duetime.store")

BEGIN: dict[Dialect, Command] = {
    "postgres": Command("BEGIN"),
    # A transaction that reads first and writes later is refused as soon as another has written.
    "sqlite": Command("BEGIN IMMEDIATE"),
}
SAVE, KEEP = Command("SAVEPOINT duetime"), Command("RELEASE SAVEPOINT duetime")
UNDO = Command("ROLLBACK TO SAVEPOINT duetime")


class Host(Protocol):
    """What a store lends to whoever joins it."""

    async def ready_to_join(self) -> None:
        """Our tables are there, as far as that can be done on a connection of ours."""
        ...

    def ready_to_join_blocking(self) -> None: ...

    def admit(self, caller: Caller) -> Driven[Step, None]:
        """ConfigError unless the connection leads to this store."""
        ...

    def loader_for(self, style: Style) -> Loader: ...

    def now_for_callers(self) -> int | None:
        """What to send as `now`; None where the database knows."""
        ...

    pins: Command | None
    """What to set before a flow whose plans are pinned, so that none can go wrong; its answer ends
    with the transaction's mark."""

    last_pins: Command | None
    """The same before the last flow of a transaction of ours, which only its commit may follow."""

    wake: Callable[[Sequence[Wake]], None]
    """They are committed: tell whoever sleeps, here and elsewhere."""

    def notice(self, wakes: Sequence[Wake]) -> Statement | None:
        """What to send within the transaction, if nobody will tell us of its commit."""
        ...


class SqlJoined(Joined):
    """One connection of a caller's, for as long as its transaction lasts."""

    def __init__(self, host: Host, caller: Caller) -> None:
        self._host = host
        self._caller = caller
        self._standing = Standing.open

    async def perform(self, flow: Flow[T]) -> T:
        await self._host.ready_to_join()
        return await self._caller.run(self._steps(flow), self._render())

    def perform_blocking(self, flow: Flow[T]) -> T:
        self._host.ready_to_join_blocking()
        return self._caller.run_blocking(self._steps(flow), self._render())

    def after_commit(self, call: Callable[[], None]) -> bool:
        if self._standing is Standing.alone:
            call()
            return True
        return self._caller.after_commit(call)

    def _steps(self, flow: Flow[T]) -> Driven[Step, T]:
        yield from self._host.admit(self._caller)
        self._standing = self._caller.standing()
        value, wakes = yield from self._pinned_steps(flow)
        if wakes and not self.after_commit(lambda: self._host.wake(wakes)):
            notice = self._host.notice(wakes)
            if notice is not None:
                yield notice
        return value

    def _pinned_steps(self, flow: Flow[T]) -> Driven[Step, tuple[T, list[Wake]]]:
        pins = self._pins(flow)
        if pins is None or flow.mode not in (Mode.hot, Mode.pinned):
            return (yield from bracketed(flow, self._standing, self._caller.dialect))
        if flow.mode is Mode.hot and self._caller.takes_pinned:
            return (yield from self._at_once(pins, statements(flow.start())))
        ((*_, mark),) = cast("Any", (yield pins))
        self._pinned(mark)
        return (yield from bracketed(flow, self._standing, self._caller.dialect))

    def _at_once(
        self, pins: Command, driven: Driven[Statement, tuple[T, list[Wake]]]
    ) -> Driven[Step, tuple[T, list[Wake]]]:
        """A hot flow is one statement; what follows it needs no pins."""
        try:
            (*_, mark), *found = cast("Any", (yield Pinned(pins, next(driven))))
            self._pinned(mark)
            step = driven.send(found)
            while True:
                step = driven.send((yield step))
        except StopIteration as end:
            return cast("tuple[T, list[Wake]]", end.value)

    def _pins(self, flow: Flow[T]) -> Command | None:
        return self._host.pins

    def _pinned(self, mark: object) -> None:
        """What a transaction of ours was marked with comes with the answer."""

    def _render(self) -> Render:
        now = self._host.now_for_callers()

        def render(step: Single) -> tuple[str, Params]:
            if isinstance(step, Command):
                return step.text, None
            return self._host.loader_for(self._caller.style).bound(step, now)

        return render


def bracketed(
    flow: Flow[T], standing: Standing, dialect: Dialect
) -> Driven[Step, tuple[T, list[Wake]]]:
    """All of a flow or nothing, also if the caller goes on after an error."""
    if flow.mode is Mode.read:
        # Nothing to undo; and on SQLite a transaction begun for it would lock all others out.
        return (yield from statements(flow.start()))
    if standing is Standing.alone:
        if flow.mode is Mode.single:
            return (yield from statements(flow.start()))
        return (yield from _between(flow.start(), BEGIN[dialect], COMMIT, [ROLLBACK]))
    if standing is Standing.unopened:
        return (yield from _between(flow.start(), BEGIN[dialect], None, [ROLLBACK]))
    if flow.mode in (Mode.write, Mode.pinned):
        return (yield from _between(flow.start(), SAVE, KEEP, [UNDO, KEEP]))
    return (yield from statements(flow.start()))


def _between(
    steps: Steps[T], before: Command, after: Command | None, undo: list[Command]
) -> Driven[Step, tuple[T, list[Wake]]]:
    yield before
    try:
        result = yield from statements(steps)
    except GeneratorExit:
        raise  # nobody is left to undo it on
    except BaseException:
        # Also if it was interrupted: half a flow must not be committed.
        yield from _undone(undo)
        raise
    if after is not None:
        yield after
    return result


def _undone(undo: list[Command]) -> Driven[Step, None]:
    """If not even that can be done, the connection is broken, and the first error says it."""
    try:
        for command in undo:  # noqa: UP028 - a list takes no answers
            yield command
    except Exception:
        log.debug("could not undo on the caller's connection", exc_info=True)
