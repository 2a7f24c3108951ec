"""The verbs of jobs, written once: each checks its arguments and plans one flow.

`app.jobs` awaits the plans, `app.sync.jobs` waits for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

from duetime.api.arguments import QUEUE, TenantArgument, to_actor, to_scope
from duetime.api.job_arguments import (
    ALERT_AFTER,
    JobArguments,
    RecurrenceArgument,
    to_definition,
    to_range,
)
from duetime.api.operation import Operation
from duetime.config import Settings
from duetime.errors import ConfigError, InvalidArgument, JobNotFound, UnreadableJob
from duetime.events.types import Event, cancellations, job_events
from duetime.model.actions.action import Action, Page, Record
from duetime.model.clock import from_micros, to_micros
from duetime.model.filter import page_limit
from duetime.model.ids import NewId
from duetime.model.jobs.change import Change, Decide, Edited, Found
from duetime.model.jobs.edit import backfilled, paused, put, removed, restored, resumed, triggered
from duetime.model.jobs.job import Overlap, rule_of
from duetime.model.jobs.misfire import Misfire
from duetime.model.jobs.occurrence import Occurrence, as_occurrence, happened
from duetime.model.jobs.selectors import JobFilter, Named
from duetime.model.jobs.ticks import missed, ticked
from duetime.model.jobs.view import Job, JobView, as_job
from duetime.model.lane import Priority
from duetime.model.tenant import AMBIENT, ANY, SYSTEM, Ambient, Scope, current_tenant
from duetime.model.validation import check_count, check_name, check_optional, instant
from duetime.registry.runtime import Parts
from duetime.store.flow import Flow, Mode, Steps
from duetime.store.settlement import Cascade, cascade

Ticks = list[int]
Instants = list[datetime]
Records = list[Record]
Occurrences = list[Occurrence]
# An edit, and what it settled.
Done = tuple[Edited, Cascade]

NOTE = 500
MOST_RUNS = 200
MOST_PREVIEW = 1000
NOTHING: Done = Edited([], None, 0), Cascade([], [])
END_OF_TIME = datetime.max.replace(tzinfo=UTC)


class JobClient:
    """Plans the verbs of jobs for one app."""

    def __init__(self, parts: Parts, new_id: NewId, settings: Settings) -> None:
        self._store = parts.store
        self._payloads = parts.payloads
        self._declared = parts.jobs
        self._new_id = new_id
        self._app = settings.name
        self._max_payload = settings.max_payload
        self._tick = partial(ticked, new_id=new_id, misfire_after=settings.misfire_after)

    # -- reading ---------------------------------------------------------------------

    def list(
        self,
        *,
        removed: bool = False,
        limit: int = 50,
        cursor: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Page[Job]]:
        """Jobs by name; `removed=True` shows those that were removed too."""
        most = page_limit(limit)
        after = "" if cursor is None else check_name("cursor", cursor, 200)
        wanted = JobFilter(tenant=to_scope(tenant), after=after, limit=most + 1, removed=removed)

        def page(views: list[JobView]) -> Page[Job]:
            shown = [self._shown(view) for view in views[:most]]
            return Page(shown, shown[-1].name if len(views) > most else None)

        return Operation(self._store.jobs(wanted), page, connection=connection)

    def get(
        self, name: str, *, tenant: TenantArgument = AMBIENT, connection: object = None
    ) -> Operation[Job]:
        """The job. JobNotFound if there is none, or it was removed."""
        scope = to_scope(tenant)
        flow = Flow(lambda: self._found(name, scope), Mode.read)
        return Operation(flow, self._shown, connection=connection)

    def runs(
        self,
        name: str,
        *,
        limit: int = 20,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Occurrences]:
        """One entry for each tick or trigger, skipped ones included, the newest first."""
        most, scope = check_count("limit", limit, MOST_RUNS), to_scope(tenant)

        def steps() -> Steps[Records]:
            yield from self._found(name, scope, removed=True)
            return (yield from self._store.occurrences(name, most).start())

        return Operation(
            Flow(steps, Mode.read),
            lambda records: [as_occurrence(one) for one in records],
            connection=connection,
        )

    def preview(
        self,
        name: str,
        count: int = 5,
        *,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Instants]:
        """The next ticks, as if it were neither paused nor retired."""
        wanted, scope = check_count("count", count, MOST_PREVIEW), to_scope(tenant)

        def ticks(view: JobView) -> Instants:
            return rule_of(view.job).between(from_micros(view.now), END_OF_TIME, wanted)

        flow = Flow(lambda: self._found(name, scope), Mode.read)
        return Operation(flow, ticks, connection=connection)

    # -- changing --------------------------------------------------------------------

    def put(
        self,
        name: str,
        recurrence: RecurrenceArgument,
        *,
        payload: object,
        tz: str | None = None,
        misfire: str | Misfire = "once",
        overlap: Overlap | str = Overlap.skip,
        jitter: float | timedelta = 0,
        alert_after: int = ALERT_AFTER,
        priority: Priority | str = Priority.normal,
        queue: str | None = None,
        tenant: str | Ambient | None = AMBIENT,
        by: str | None = None,
        version: int | None = None,
        connection: object = None,
    ) -> Operation[Job]:
        """Make a job at run time, or change one that was made so. It schedules `payload`, whose
        kind must have a handler. With `version`, the edit is refused with StaleVersion unless
        the job is still at it; 0 means that there must be none yet."""
        entry, text = self._payloads.encode(payload, self._max_payload)
        given = JobArguments(
            name=name,
            recurrence=recurrence,
            tz=tz,
            misfire=misfire,
            overlap=overlap,
            jitter=jitter,
            alert_after=alert_after,
            priority=priority,
            tenant=current_tenant() if tenant is AMBIENT else tenant,
        )
        to_queue = entry.queue if queue is None else check_name("queue", queue, QUEUE)
        wanted, actor = to_definition(given, entry, text, to_queue, None), to_actor(by)
        self._refuse_declared(wanted.name)
        return self._edit(
            wanted.name,
            lambda found: put(found, wanted, self._app, actor, version, self._tick),
            connection,
            resend=version is None,
        )

    def pause(
        self,
        name: str,
        *,
        by: str | None = None,
        note: str | None = None,
        until: datetime | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Job]:
        """Let no tick come, until it is resumed or `until` has come; what waits is cancelled,
        what runs or was triggered goes on. Ticks that fall in a pause are not made up."""
        actor, scope = to_actor(by), to_scope(tenant)
        end = None if until is None else to_micros(instant("until", until))
        told = check_optional("note", note, NOTE)

        def decide(found: Found) -> Change | None:
            if end is not None and end <= found.now:
                raise InvalidArgument("until", until, "it has passed; give an instant to come")
            return paused(found, scope, actor, told, end, self._tick)

        return self._edit(name, decide, connection)

    def resume(
        self,
        name: str,
        *,
        by: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Job]:
        """Let its ticks come again, from now on; one that is not paused stays as it is."""
        actor, scope = to_actor(by), to_scope(tenant)
        return self._edit(name, lambda found: resumed(found, scope, actor), connection)

    def trigger(
        self,
        name: str,
        *,
        by: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Action]:
        """Run it once now, also while it is paused; if an occurrence is unfinished, and they
        must not overlap, as soon as that has ended. Returns the action."""
        actor, scope = to_actor(by), to_scope(tenant)

        def decide(found: Found) -> Change | None:
            return triggered(found, scope, actor, self._new_id)

        def action(done: Done) -> Action:
            [made] = done[0].changes[0].occurrences
            record = happened(made, done[0].now)
            settled = {one.id: one for one in done[1].settled}
            return self._payloads.action(settled.get(record.id, record))

        return Operation(
            Flow(lambda: self._change(name, decide), Mode.write),
            action,
            tell=_told,
            connection=connection,
        )

    def remove(
        self,
        name: str,
        *,
        by: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[None]:
        """Take it away: what waits is cancelled, what runs comes to its end, history stays. One
        that code declares stays removed until it is restored."""
        actor, scope = to_actor(by), to_scope(tenant)

        def decide(found: Found) -> Change | None:
            return removed(found, scope, actor, self._tick)

        return Operation(
            Flow(lambda: self._change(name, decide), Mode.write),
            lambda _: None,
            tell=_told,
            connection=connection,
        )

    def restore(
        self,
        name: str,
        *,
        by: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Job]:
        """Bring a removed job back, as it was; one that is there stays as it is."""
        actor, scope = to_actor(by), to_scope(tenant)
        return self._edit(name, lambda found: restored(found, scope, actor), connection)

    def backfill(
        self,
        name: str,
        start: datetime,
        end: datetime,
        *,
        dry_run: bool = True,
        by: str | None = None,
        tenant: TenantArgument = AMBIENT,
        connection: object = None,
    ) -> Operation[Instants]:
        """The ticks from `start` until before `end` that no occurrence was made of; without
        `dry_run` they are made, and run one after another unless they may overlap."""
        actor, scope = to_actor(by), to_scope(tenant)
        first, last = to_range(start, end)

        def steps() -> Steps[tuple[Ticks, Done]]:
            view = yield from self._found(name, scope)
            known = yield from self._store.ticks(name, to_micros(first), to_micros(last)).start()
            ticks = {to_micros(tick) for tick in missed(view, first, last)}
            missing = sorted(ticks - {*known})
            if dry_run:
                return missing, NOTHING

            def decide(found: Found) -> Change | None:
                return backfilled(found, scope, missing, actor, self._new_id)

            return missing, (yield from self._change(name, decide))

        return Operation(
            Flow(steps, Mode.read if dry_run else Mode.write),
            lambda done: [from_micros(tick) for tick in done[0]],
            tell=None if dry_run else lambda done: _told(done[1]),
            connection=connection,
        )

    # -- their steps -----------------------------------------------------------------

    def _edit(
        self, name: str, decide: Decide, connection: object, *, resend: bool = True
    ) -> Operation[Job]:
        """Change one job, and show how it is then."""

        def steps() -> Steps[tuple[Done, JobView]]:
            done = yield from self._change(name, decide)
            (view,) = yield from self._store.jobs(_anywhere(name)).start()
            return done, view

        return Operation(
            Flow(steps, Mode.write, resend=resend),
            lambda done: self._shown(done[1]),
            tell=lambda done: _told(done[0]),
            connection=connection,
        )

    def _change(self, name: str, decide: Decide) -> Steps[Done]:
        """What it was, and what follows for others. One that cannot be read is told to be so,
        rather than left as it is."""
        edited = yield from self._store.edit_jobs(_named(name), decide).start()
        if edited.unread:
            raise UnreadableJob(name)
        return edited, (yield from cascade(self._store, _parents(edited)).start())

    def _found(self, name: str, tenant: Scope, *, removed: bool = False) -> Steps[JobView]:
        wanted = JobFilter(tenant=tenant, name=name, removed=removed)
        found = yield from self._store.jobs(wanted).start()
        if not found:
            raise JobNotFound(name, self._declared.names())
        return found[0]

    def _shown(self, view: JobView) -> Job:
        definition = view.job.definition
        payload = self._payloads.shown(
            definition.kind, definition.payload_version, definition.payload
        )
        return as_job(view, payload)

    def _refuse_declared(self, name: str) -> None:
        if self._declared.get(name) is not None:
            raise ConfigError(
                f"job {name!r} is declared in code: change it there, or choose another name"
            )


def _named(name: str) -> Named:
    return Named((check_name("name", name, 200),))


def _anywhere(name: str) -> JobFilter:
    return JobFilter(tenant=ANY, name=name, removed=True)


def _parents(edited: Edited) -> Sequence[UUID]:
    """Occurrences that were cancelled, or that new ones wait for, and that may just have ended."""
    gone = [record.id for one in edited.changes for record in one.cancelled]
    made = {new.action.id: new.action for one in edited.changes for new in one.occurrences}
    awaited = [one.after for one in made.values() if one.after and one.after not in made]
    return [*gone, *awaited]


def _told(done: Done) -> Sequence[Event]:
    edited, settling = done
    told: list[Event] = []
    for one in edited.changes:
        told += job_events(one.before, one.after, one.after.modified_by or SYSTEM)
        told += cancellations(one.cancelled)
    return told + cancellations([], settling.settled)
