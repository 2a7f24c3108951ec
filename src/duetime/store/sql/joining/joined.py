"""Performing flows inside a caller's transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast

from duetime.logs import get_log
from duetime.store.flow import Flow, Mode, Statement, Steps, Wake
from duetime.store.sql.drivers import (
    COMMIT,
    ROLLBACK,
    Command,
    Driven,
    StatementWithSettings,
    statements,
)
from duetime.store.sql.joining.base import Caller, Params, Render, Single, Step, TransactionMode
from duetime.store.sql.statements.loader import Dialect, ParamStyle, StatementLoader
from duetime.store.transaction import JoinedStore

T = TypeVar("T")
log = get_log("duetime.store")

BEGIN: dict[Dialect, Command] = {
    "postgres": Command("BEGIN"),
    # A transaction that reads first and writes later fails if another one has written meanwhile.
    "sqlite": Command("BEGIN IMMEDIATE"),
}
SAVEPOINT, RELEASE = Command("SAVEPOINT duetime"), Command("RELEASE SAVEPOINT duetime")
ROLLBACK_TO = Command("ROLLBACK TO SAVEPOINT duetime")


class JoinHost(Protocol):
    """A store's side of joining: checks, statements and settings for a caller's transaction."""

    async def ready_to_join(self) -> None:
        """Make sure that our tables exist, as far as our own connections can do that."""
        ...

    def ready_to_join_blocking(self) -> None: ...

    def admit(self, caller: Caller) -> Driven[Step, None]:
        """Raise ConfigError unless the connection leads to this store."""
        ...

    def loader_for(self, style: ParamStyle) -> StatementLoader: ...

    def now_for_callers(self) -> int | None:
        """Return the value to send as `now`; None if the database's own clock is used."""
        ...

    plan_settings: Command | None
    """Settings before a flow with pinned plans; the last column of their answer is the
    transaction's mark."""

    final_plan_settings: Command | None
    """Settings before the final flow of a handler's transaction, which only the commit follows."""

    wake: Callable[[Sequence[Wake]], None]
    """Deliver committed wakes to the listeners of this process and of others."""

    def notice(self, wakes: Sequence[Wake]) -> Statement | None:
        """Return a statement to send within a transaction whose commit is not reported to us."""
        ...


class SqlJoinedStore(JoinedStore):
    """The store, reached through a caller's connection while its transaction lasts."""

    def __init__(self, host: JoinHost, caller: Caller) -> None:
        self._host = host
        self._caller = caller
        self._mode = TransactionMode.open

    async def perform(self, flow: Flow[T]) -> T:
        await self._host.ready_to_join()
        return await self._caller.run(self._steps(flow), self._render())

    def perform_blocking(self, flow: Flow[T]) -> T:
        self._host.ready_to_join_blocking()
        return self._caller.run_blocking(self._steps(flow), self._render())

    def after_commit(self, call: Callable[[], None]) -> bool:
        if self._mode is TransactionMode.autocommit:
            call()
            return True
        return self._caller.after_commit(call)

    def _steps(self, flow: Flow[T]) -> Driven[Step, T]:
        yield from self._host.admit(self._caller)
        self._mode = self._caller.transaction_mode()
        value, wakes = yield from self._steps_with_settings(flow)
        if wakes and not self.after_commit(lambda: self._host.wake(wakes)):
            notice = self._host.notice(wakes)
            if notice is not None:
                yield notice
        return value

    def _steps_with_settings(self, flow: Flow[T]) -> Driven[Step, tuple[T, list[Wake]]]:
        settings = self._settings_for(flow)
        if settings is None or flow.mode not in (Mode.hot, Mode.pinned):
            return (yield from atomic_steps(flow, self._mode, self._caller.dialect))
        if flow.mode is Mode.hot and self._caller.pipelines_settings:
            return (yield from self._in_one_message(settings, statements(flow.start())))
        ((*_, mark),) = cast("Any", (yield settings))
        self._check_mark(mark)
        return (yield from atomic_steps(flow, self._mode, self._caller.dialect))

    def _in_one_message(
        self, settings: Command, driven: Driven[Statement, tuple[T, list[Wake]]]
    ) -> Driven[Step, tuple[T, list[Wake]]]:
        """Send the settings with the flow's first statement: a hot flow has only one that needs
        them."""
        try:
            (*_, mark), *rows = cast("Any", (yield StatementWithSettings(settings, next(driven))))
            self._check_mark(mark)
            step = driven.send(rows)
            while True:
                step = driven.send((yield step))
        except StopIteration as end:
            return cast("tuple[T, list[Wake]]", end.value)

    def _settings_for(self, flow: Flow[T]) -> Command | None:
        return self._host.plan_settings

    def _check_mark(self, mark: object) -> None:
        """Check the mark that came with the settings' answer; overridden for handlers."""

    def _render(self) -> Render:
        now = self._host.now_for_callers()

        def render(step: Single) -> tuple[str, Params]:
            if isinstance(step, Command):
                return step.text, None
            return self._host.loader_for(self._caller.style).bind(step, now)

        return render


def atomic_steps(
    flow: Flow[T], mode: TransactionMode, dialect: Dialect
) -> Driven[Step, tuple[T, list[Wake]]]:
    """Steps that apply all of a flow or nothing, even if the caller goes on after an error."""
    if flow.mode.reads_only:
        # There is nothing to undo, and on SQLite a BEGIN IMMEDIATE would lock other writers out.
        return (yield from statements(flow.start()))
    if mode is TransactionMode.autocommit:
        if flow.mode is Mode.single:
            return (yield from statements(flow.start()))
        return (yield from _wrapped(flow.start(), BEGIN[dialect], COMMIT, [ROLLBACK]))
    if mode is TransactionMode.not_begun:
        return (yield from _wrapped(flow.start(), BEGIN[dialect], None, [ROLLBACK]))
    if flow.mode in (Mode.write, Mode.pinned):
        return (yield from _wrapped(flow.start(), SAVEPOINT, RELEASE, [ROLLBACK_TO, RELEASE]))
    return (yield from statements(flow.start()))


def _wrapped(
    steps: Steps[T], before: Command, after: Command | None, undo: list[Command]
) -> Driven[Step, tuple[T, list[Wake]]]:
    yield before
    try:
        result = yield from statements(steps)
    except GeneratorExit:
        raise  # the driver is gone: no further step would run
    except BaseException:
        # Also after an interruption: half a flow must not be committed.
        yield from _undo(undo)
        raise
    if after is not None:
        yield after
    return result


def _undo(undo: list[Command]) -> Driven[Step, None]:
    """Undo; if that fails too, the connection is broken, and the first error is raised."""
    try:
        for command in undo:  # noqa: UP028 - a list cannot receive answers
            yield command
    except Exception:
        log.debug("could not undo on the caller's connection", exc_info=True)
