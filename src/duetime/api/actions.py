"""The verbs of actions, written once: each checks its arguments and returns an Operation.

`async_api.py` and `sync_api.py` perform the operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar, Unpack
from uuid import UUID

from duetime.api.action_meters import ActionMeters
from duetime.api.arguments import (
    MAX_RUNS,
    Delay,
    Parent,
    PayloadT,
    PriorityArgument,
    StateArgument,
    TenantArgument,
    to_act,
    to_filter,
    to_id,
    to_if_exists,
    to_scope,
    to_target,
    to_when,
)
from duetime.api.bulks import BulkVerbs
from duetime.api.erasures import ErasureVerbs
from duetime.api.find_arguments import (
    FindArguments,
    GroupArguments,
    SortArgument,
    to_action_filter,
    to_group_field,
    to_sort,
)
from duetime.api.operation import Operation
from duetime.api.reasons import ReasonVerbs
from duetime.api.repeats import RepeatVerbs
from duetime.api.requests import (
    Pair,
    Request,
    RequestBuilder,
)
from duetime.api.series import SeriesVerbs
from duetime.api.timeline import TimelineVerbs
from duetime.errors import InvalidArgument
from duetime.events.types import cancelled_events, rescheduled_events
from duetime.model.act import Act
from duetime.model.actions.action import (
    Action,
    Added,
    Page,
    Record,
    Run,
    StoredRun,
    as_action,
    as_run,
)
from duetime.model.actions.action_key import ActionKey
from duetime.model.actions.availability import why_unavailable
from duetime.model.actions.chain import On
from duetime.model.actions.claim import alive_micros
from duetime.model.actions.found import Found
from duetime.model.actions.new_actions import IfExists, InsertedBatch, NewActions
from duetime.model.clock import to_micros
from duetime.model.cursor import from_cursor, to_cursor
from duetime.model.filter import page_limit
from duetime.model.groups import GroupField, Groups
from duetime.model.health.stats import MOST_FINISHED, Stats, StoreCounts, clock_offset, stats_of
from duetime.model.ids import TimeOrderedIds
from duetime.model.lane import Priority
from duetime.model.payloads.registry import maybe_json
from duetime.model.state import State
from duetime.model.tenant import AMBIENT, Ambient, Scope
from duetime.model.validation import check_count
from duetime.registry.runtime import AppRuntime
from duetime.store.flow import Flow, Mode, Steps, and_then, then
from duetime.store.keyed_adds import KeyedAdd, add_with_keys
from duetime.store.settlement import (
    Settlement,
    settle_children_of,
    settle_descendants,
    with_settled,
)

T = TypeVar("T")


class ActionVerbs(BulkVerbs, ErasureVerbs, ReasonVerbs, RepeatVerbs, SeriesVerbs, TimelineVerbs):
    """Builds the operations of one app's actions."""

    def __init__(
        self, runtime: AppRuntime, ids: TimeOrderedIds, max_payload: int, *, sweep: float = 10.0
    ) -> None:
        self.runtime = runtime
        self._store = runtime.store
        self._payloads = runtime.payloads
        self._ids, self._max_payload = ids, max_payload
        self._counted = ActionMeters(runtime.meters)
        self._requests = RequestBuilder(runtime.payloads, ids, max_payload)
        self._clock = runtime.clock
        self._alive_for = alive_micros(sweep)

    # -- writing ---------------------------------------------------------------------

    def schedule(
        self,
        payload: PayloadT,
        *,
        at: datetime | None = None,
        delay: Delay | None = None,
        correlation_id: str | None = None,
        key: str | None = None,
        if_exists: IfExists = "return",
        priority: PriorityArgument = Priority.normal,
        queue: str | None = None,
        tenant: str | Ambient | None = AMBIENT,
        by: str | None = None,
        after: Parent | None = None,
        on: On | None = None,
        expires: datetime | None = None,
        note: str | None = None,
        connection: object = None,
    ) -> Operation[Action[PayloadT]]:
        """Schedule a payload for an instant, after a delay, or now.

        With `after`, the new action waits until that action has finished: `delay` counts from
        then, and `at` is the earliest time. If that action does not finish as `on` says
        ("succeeded" by default, "failed", or "finished": either way), the new one is cancelled.

        `key` is unique among the unfinished actions of a tenant and kind: if another action
        holds the key, `if_exists` says whether to "return" or "replace" that action or to
        "raise" DuplicateKey. Returns the action; its `created` says whether it is new.

        No run of the action starts after the instant `expires`: instead, it is cancelled.

        With a `note`, or outside Python, the act has an audit entry.

        `connection` is a session or connection of yours to the same database: the action
        exists if and only if you commit its transaction.
        """
        request = Request(
            payload, at, delay, correlation_id, key, priority, queue, tenant, by, after, on, expires
        )
        new = self._requests.build(request)
        return self._add(new, if_exists, note, connection, lambda actions: actions[0])

    def schedule_many(
        self,
        requests: Iterable[Pair | Request],
        *,
        if_exists: IfExists = "return",
        note: str | None = None,
        connection: object = None,
    ) -> Operation[list[Action]]:
        """Schedule many actions, all or none; returns the actions in the order given.

        Takes `(payload, at)` pairs and `app.request(payload, ...)` values.
        """
        new = self._requests.build_many(requests)
        return self._add(new, if_exists, note, connection, list)

    def _add(
        self,
        new: NewActions,
        if_exists: IfExists,
        note: str | None,
        connection: object,
        to_result: Callable[[list[Action]], T],
    ) -> Operation[T]:
        flow = self._add_flow(new, to_if_exists(if_exists), to_act(None, note))
        if new.has("after") or new.has("key"):
            return self._add_and_settle(new, flow, connection, to_result)
        return Operation(
            flow,
            lambda added: to_result(self._inserted(added, new.payloads)),
            self._counted.added,
            connection=connection,
        )

    def _add_flow(self, new: NewActions, if_exists: IfExists, act: Act) -> Flow[Sequence[Added]]:
        """Return the flow that adds actions. It is audited but for a schedule in Python without a
        note, of which the action says all there is to say."""
        flow = self._store.add(new, if_exists, act)
        if act.source == "python" and act.note is None:
            return flow

        def audited(added: Sequence[Added]) -> Steps[Sequence[Added]]:
            created = [item.record for item in added if item.created]
            yield from self._store.audit_schedules(created, act).start()
            return added

        return then(flow, audited)

    def _add_and_settle(
        self,
        new: NewActions,
        flow: Flow[Sequence[Added]],
        connection: object,
        to_result: Callable[[list[Action]], T],
    ) -> Operation[T]:
        """Add actions whose parents may have ended, or whose keys expired actions may hold."""
        parents = [parent for parent in new.columns["after"] if parent is not None]

        def settle(done: KeyedAdd) -> Flow[Settlement]:
            return settle_descendants(self._store, [*parents, *(r.id for r in done.expired)])

        return Operation(
            and_then(add_with_keys(self._store, flow), settle),
            lambda done: to_result(
                self._inserted(with_settled(done[0].added, done[1]), new.payloads)
            ),
            lambda done: self._counted.added(done[0].added, [*done[0].expired, *done[1].settled]),
            lambda done: cancelled_events([], [*done[0].expired, *done[1].settled]),
            connection,
        )

    def cancel(
        self,
        action_id: UUID | None = None,
        *,
        kind: str | None = None,
        key: str | None = None,
        running: bool = False,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        note: str | None = None,
        connection: object = None,
    ) -> Operation[Action]:
        """Cancel a scheduled action; IllegalState if it is in another state.

        `kind` and `key` name, instead of the id, the unfinished action that holds the key.

        With `running=True` a running handler is asked to stop: its `ctx.stop_reason` becomes
        "cancelled" at its worker's next heartbeat, and the outcome of the run stands.
        """
        target, scope = to_target(action_id, kind, key, "unfinished"), to_scope(tenant)
        act = to_act(by, note)
        flow = self._on(
            target, scope, lambda found: self._store.cancel(found, scope, act, running=running)
        )
        return Operation(
            and_then(flow, lambda record: settle_children_of(self._store, [record])),
            lambda done: self._to_action(done[0]),
            lambda done: self._counted.cancelled([done[0], *done[1].settled]),
            lambda done: cancelled_events([done[0]], done[1].settled),
            connection,
        )

    def reschedule(
        self,
        action_id: UUID | None = None,
        *,
        kind: str | None = None,
        key: str | None = None,
        at: datetime | None = None,
        delay: Delay | None = None,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        note: str | None = None,
        connection: object = None,
    ) -> Operation[Action]:
        """Move a scheduled action to an earlier or later time; it does not run at the old one.

        `kind` and `key` name, instead of the id, the unfinished action that holds the key.
        """
        due_at, pause = to_when(at, delay)
        if at is None and delay is None:
            raise InvalidArgument("at", None, "give the new time: at= or delay=")
        target, scope = to_target(action_id, kind, key, "unfinished"), to_scope(tenant)
        act = to_act(by, note)
        flow = self._on(
            target,
            scope,
            lambda found: self._store.reschedule(found, scope, act, due_at=due_at, delay=pause),
        )
        return Operation(
            flow,
            self._to_action,
            lambda record: self._counted.rescheduled([record]),
            rescheduled_events,
            connection,
        )

    def retry(
        self,
        action_id: UUID | None = None,
        *,
        kind: str | None = None,
        key: str | None = None,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        note: str | None = None,
        connection: object = None,
    ) -> Operation[Action]:
        """Schedule a failed action again, due now, with a fresh retry budget.

        `kind` and `key` name, instead of the id, the newest failed action that had the key.
        """
        target, scope = to_target(action_id, kind, key, "failed"), to_scope(tenant)
        act = to_act(by, note)
        flow = self._on(target, scope, lambda found: self._store.retry(found, scope, act))
        return Operation(
            flow,
            self._to_action,
            lambda record: self._counted.retried([record]),
            connection=connection,
        )

    def cancel_many(
        self,
        *,
        correlation_id: str | None = None,
        kind: str | None = None,
        state: StateArgument | None = None,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        note: str | None = None,
        connection: object = None,
    ) -> Operation[int]:
        """Cancel every scheduled action that matches; returns how many. Running actions are
        left alone. At least one of correlation_id, kind and state must be given."""
        wanted = to_filter(correlation_id, kind, state, tenant, State.scheduled)
        return Operation(
            and_then(
                self._store.cancel_many(wanted, to_act(by, note)),
                lambda cancelled: settle_children_of(self._store, cancelled),
            ),
            lambda done: len(done[0]),
            lambda done: self._counted.cancelled([*done[0], *done[1].settled]),
            lambda done: cancelled_events(done[0], done[1].settled),
            connection,
        )

    def retry_many(
        self,
        *,
        correlation_id: str | None = None,
        kind: str | None = None,
        state: StateArgument | None = None,
        tenant: TenantArgument = AMBIENT,
        by: str | None = None,
        note: str | None = None,
        connection: object = None,
    ) -> Operation[int]:
        """Retry every failed action that matches; returns how many. At least one of
        correlation_id, kind and state must be given."""
        wanted = to_filter(correlation_id, kind, state, tenant, State.failed)
        flow = self._store.retry_many(wanted, to_act(by, note))
        return Operation(flow, len, self._counted.retried, connection=connection)

    # -- reading ---------------------------------------------------------------------

    def get(
        self,
        action_id: UUID | None = None,
        *,
        kind: str | None = None,
        key: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Action]:
        """The action, finished or not; ActionNotFound if this tenant has no such action.

        `kind` and `key` name, instead of the id, the unfinished action that holds the key, or
        else the newest finished one that had it.
        """
        target, scope = to_target(action_id, kind, key, "any"), to_scope(tenant)
        flow = self._on(target, scope, lambda found: self._store.get(found, scope), Mode.read)
        return Operation(flow, self._to_action, connection=connection)

    def find(
        self,
        *,
        sort: SortArgument | None = None,
        limit: int = 50,
        cursor: str | None = None,
        connection: object = None,
        **arguments: Unpack[FindArguments],
    ) -> Operation[Page[Action]]:
        """The actions that match every argument, newest first, a page at a time.

        `sort` is "created_at", "due_at" for unfinished actions, "finished_at" for finished ones, or
        one of these after "-": the latest first. A page may be short, or even empty, where matches
        are far apart: only a `next_cursor` of None is the end.
        """
        wanted = to_action_filter(arguments)
        wanted = replace(wanted, sort=to_sort(sort, wanted.states), limit=page_limit(limit))
        if cursor is not None:
            wanted = replace(wanted, follows=from_cursor(cursor, wanted))

        def page(found: Found) -> Page[Action]:
            items = [self._to_action(record) for record in found]
            return Page(items, None if found.next is None else to_cursor(found.next, wanted))

        return Operation(self._store.find(wanted), page, connection=connection)

    def groups(
        self,
        by: GroupField = "error",
        *,
        connection: object = None,
        **arguments: Unpack[GroupArguments],
    ) -> Operation[Groups]:
        """How many of the actions that match have the same error, kind, queue or state, the most
        first: the newest 10,000 of each state are counted. By "error", failures are grouped by what
        is left of the error without its values."""
        wanted = to_action_filter(arguments)
        flow = self._store.groups(to_group_field(by), wanted)
        return Operation(flow, lambda groups: groups, connection=connection)

    def runs(
        self,
        action_id: UUID,
        *,
        limit: int = MAX_RUNS,
        before: UUID | str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[list[Run]]:
        """The newest runs of the action, oldest first; or those before the run of id `before`."""
        flow = self._store.runs(
            to_id(action_id),
            to_scope(tenant),
            limit=check_count("limit", limit, MAX_RUNS),
            before=None if before is None else to_id(before, "before", "run"),
        )
        return Operation(flow, _runs, connection=connection)

    def stats(self, *, tenant: TenantArgument = AMBIENT) -> Operation[Stats]:
        """Health figures of this tenant's actions, the store's clock and all workers."""
        flow = self._store.stats(to_scope(tenant), alive=self._alive_for, limit=MOST_FINISHED)
        before = to_micros(self._clock.now())
        return Operation(flow, lambda counted: self._stats(counted, before))

    def reason_not_run(self, kind: str) -> Operation[str | None]:
        """Why no live worker can run an action of this kind; None if one can."""
        return Operation(
            self._store.workers(self._alive_for), lambda living: why_unavailable(kind, living)
        )

    def _on(
        self,
        target: UUID | ActionKey,
        tenant: Scope,
        verb: Callable[[UUID], Flow[Record]],
        mode: Mode = Mode.write,
    ) -> Flow[Record]:
        """Return the flow of a verb on an action. For a key, it finds the id in the transaction of
        the verb, which then refuses an action that has changed its state in between."""
        if isinstance(target, UUID):
            return verb(target)
        found = self._store.find_id(target, tenant)
        return then(found, lambda action_id: verb(action_id).start(), mode)

    # -- from records to public values -----------------------------------------------

    def _inserted(self, added: Sequence[Added], payloads: Sequence[object]) -> list[Action]:
        if isinstance(added, InsertedBatch):
            return added.actions()
        pairs = zip(added, payloads, strict=True)
        return [self._inserted_action(action, payload) for action, payload in pairs]

    def _inserted_action(self, added: Added, payload: object) -> Action:
        if not added.created:
            return self._to_action(added.record)
        if added.record.modified_at is not None:
            # A later request of the same call replaced it.
            return replace(self._to_action(added.record), created=True)
        return as_action(added.record, payload, None, None, created=True)

    def _stats(self, counted: StoreCounts, before: int) -> Stats:
        after = to_micros(self._clock.now())
        return stats_of(counted, clock_offset(counted.now, before, after))

    def _to_action(self, record: Record) -> Action:
        return self._payloads.action(record)


def _runs(stored: Sequence[StoredRun]) -> list[Run]:
    return [as_run(run, maybe_json(run.result)) for run in stored]
