"""Every error that duetime raises. Each names the offending value and the remedy.

DuetimeError
├── ActionNotFound
├── JobNotFound
├── ApiKeyNotFound
├── SubscriptionNotFound
├── GrantNotFound
├── UnreadableJob         another version of duetime wrote the job
├── IllegalState          names the state found
│   ├── StaleVersion      names the version found
│   └── ActionExpired     names the instant
├── DuplicateKey          names the action that holds the key
├── UnknownKind           names the nearest known kind
├── InvalidPayload
├── InvalidArgument       a value that no verb accepts
│   ├── NaiveDatetime
│   └── InvalidRecurrence names field, value and what is allowed there
├── LeaseLost             a stale holder's write was refused
├── WaitTimeout           the action is not finished yet
├── SweepFailed           names the rows that could not be changed
├── WorkerInterrupted     a handler cancelled the worker's tasks
├── NotAuthenticated      the request names no identity
├── PermissionDenied      names the permission that is missing
├── RateLimited           says after how many seconds to try again
├── ConfigError           names the nearest valid option
│   └── JobNameTaken
└── StoreUnavailable      the store did not answer, or the outcome is unknown
    └── UnreadableRow     a stored row cannot be read
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from difflib import get_close_matches
from uuid import UUID


class DuetimeError(Exception):
    """Root of all errors of duetime."""


class ActionNotFound(DuetimeError):
    """No action with that id, or with that kind and key, is visible to this tenant."""

    def __init__(
        self,
        action_id: UUID | None = None,
        *,
        kind: str | None = None,
        key: str | None = None,
        among: str = "any",
    ) -> None:
        states = "" if among == "any" else f"{among} "
        named = f"{action_id}" if key is None else f"of kind {kind!r} with key {key!r}"
        ended = ", has finished" if among == "unfinished" else ""
        super().__init__(
            f"no {states}action {named}: it was never scheduled{ended}, was pruned after its "
            "retention, or belongs to another tenant (pass tenant=, or tenant=ANY to look across "
            "tenants)"
        )
        self.action_id = action_id
        self.kind = kind
        self.key = key


class IllegalState(DuetimeError):
    """The action is in a state that does not allow the verb; nothing was changed."""

    def __init__(self, verb: str, action_id: UUID, state: str, allowed: Iterable[str]) -> None:
        self.allowed = tuple(allowed)
        wanted = " or ".join(self.allowed)
        super().__init__(
            f"cannot {verb} action {action_id}: it is {state}, and {verb} needs it {wanted}"
        )
        self.verb = verb
        self.action_id = action_id
        self.state = state


class JobNotFound(DuetimeError):
    """No job with that name is visible to this tenant."""

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        guess = did_you_mean(name, {*known} - {name})
        super().__init__(
            f"no job {name!r}{guess}: it was never put, no worker that declares it has run yet, it "
            "was removed (app.jobs.restore brings it back), or it belongs to another tenant (pass "
            "tenant=)"
        )
        self.name = name


class ApiKeyNotFound(DuetimeError):
    """No API key with that id."""

    def __init__(self, key_id: UUID) -> None:
        super().__init__(
            f"no API key {key_id}: it was never created, or was revoked; app.api_keys.list() shows "
            "those that there are"
        )
        self.key_id = key_id


class SubscriptionNotFound(DuetimeError):
    """No subscription to notifications with that id."""

    def __init__(self, subscription_id: UUID) -> None:
        super().__init__(
            f"no subscription {subscription_id}: it was never made, or was removed; "
            "app.notifications.subscriptions() shows those that there are"
        )
        self.subscription_id = subscription_id


class GrantNotFound(DuetimeError):
    """No grant with that id."""

    def __init__(self, grant_id: UUID) -> None:
        super().__init__(
            f"no grant {grant_id}: it was never set, or was removed; app.grants.list() shows those "
            "that there are"
        )
        self.grant_id = grant_id


class NotAuthenticated(DuetimeError):
    """The request names no identity: nothing, or a credential that is not valid."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"not authenticated: {reason}")
        self.reason = reason


class PermissionDenied(DuetimeError):
    """The identity lacks a permission; nothing was changed."""

    def __init__(self, permission: str, tenant: str | None = None) -> None:
        rows = "" if tenant is None else f" for tenant {shown(tenant)}"
        super().__init__(
            f"permission {permission} is missing{rows}: ask an administrator to grant it to one of "
            "your roles"
        )
        self.permission = permission
        self.tenant = tenant


class RateLimited(DuetimeError):
    """Too many requests failed, or run at once; this one was not looked at."""

    def __init__(self, retry_after: float, reason: str = "too many failed attempts") -> None:
        super().__init__(f"{reason}: try again after {retry_after:.0f} s")
        self.retry_after = retry_after


class UnreadableJob(DuetimeError):
    """This version cannot read the job; nothing was written."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"job {name!r} was written by another version of duetime or damaged, and this one "
            "cannot read it: upgrade this process, use the version that wrote it, or delete its "
            "row of duetime_jobs, so that the next worker seeds the job anew"
        )
        self.name = name


class StaleVersion(IllegalState):
    """The job was changed since it was read; nothing was written."""

    def __init__(self, name: str, given: int, found: int) -> None:
        DuetimeError.__init__(
            self,
            f"job {name!r} is at version {found}, and this edit is of version {given}: read the "
            "job again and repeat the edit",
        )
        self.verb = "edit"
        self.name = name
        self.given = given
        self.found = found
        self.state = f"version {found}"


class ActionExpired(IllegalState):
    """The action has expired, so that no run of it may start any more; nothing was changed."""

    def __init__(self, verb: str, action_id: UUID, state: str, expired_at: str) -> None:
        DuetimeError.__init__(
            self,
            f"cannot {verb} action {action_id}: it expired at {expired_at}, and no run may start "
            "after that; schedule another action with a later expires=",
        )
        self.verb = verb
        self.action_id = action_id
        self.state = state
        self.expired_at = expired_at


class DuplicateKey(DuetimeError):
    """An unfinished action already holds this key."""

    def __init__(self, key: str, kind: str, action_id: UUID) -> None:
        super().__init__(
            f"key {key!r} of kind {kind!r} is held by unfinished action {action_id}: "
            'pass if_exists="return" to get that action or "replace" to change it'
        )
        self.key = key
        self.kind = kind
        self.action_id = action_id


class UnknownKind(DuetimeError):
    """No payload type is registered for this kind or class."""

    def __init__(self, what: str, known: Iterable[str], remedy: str | None = None) -> None:
        remedy = remedy or (
            "declare it with @app.handler(kind=...) or app.payload(Type, kind=...), or include the "
            "router that declares it"
        )
        guess = did_you_mean(what, known)
        super().__init__(f"{what} is not registered with this app{guess}; {remedy}")
        self.kind = what


class InvalidPayload(DuetimeError):
    """The data does not fit the payload type of its kind."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(f"payload of kind {kind!r} is not valid: {reason}")
        self.kind = kind
        self.reason = reason


class InvalidArgument(DuetimeError, ValueError):
    """A value that no verb accepts; nothing was written."""

    def __init__(self, argument: str, value: object, remedy: str) -> None:
        super().__init__(f"{argument}={shown(value)} is not valid: {remedy}")
        self.argument = argument
        self.value = value
        self.remedy = remedy


NO_TIME_ZONE = "it has no time zone; use datetime.now(UTC) or .replace(tzinfo=...)"


class NaiveDatetime(InvalidArgument):
    """A datetime without a time zone, which does not name an instant."""

    def __init__(self, argument: str, value: object) -> None:
        super().__init__(argument, value, NO_TIME_ZONE)


class InvalidRecurrence(InvalidArgument):
    """A rule that is malformed, or that would never fire.

    For a cron expression, `field` and `part` name the invalid place, `allowed` the valid values.
    """

    def __init__(
        self,
        argument: str,
        value: object,
        remedy: str,
        *,
        field: str | None = None,
        part: str | None = None,
        allowed: str | None = None,
    ) -> None:
        super().__init__(argument, value, remedy)
        self.field = field
        self.part = part
        self.allowed = allowed


class LeaseLost(DuetimeError):
    """Another worker may run the action now; this worker's write changed nothing."""

    def __init__(self, action_id: UUID) -> None:
        super().__init__(
            f"the lease of action {action_id} was lost: the outcome of this run was not recorded, "
            "because the action was rescued and may run elsewhere"
        )
        self.action_id = action_id


class WaitTimeout(DuetimeError, TimeoutError):
    """The action did not finish in time. It continues, unless `lacking` says what prevents that."""

    def __init__(
        self, action_id: UUID, timeout: float, state: str, lacking: str | None = None
    ) -> None:
        outlook = "; it continues, wait again" if lacking is None else f", and {lacking}"
        super().__init__(f"action {action_id} is still {state} after {timeout:g} s{outlook}")
        self.action_id = action_id
        self.state = state
        self.lacking = lacking


class SweepFailed(DuetimeError):
    """A sweep of transitions met errors; its other changes are committed."""

    def __init__(self, errors: Sequence[str], report: object) -> None:
        more = f", and {len(errors) - 3} more" if len(errors) > 3 else ""
        super().__init__(
            f"{len(errors)} error{'s' if len(errors) > 1 else ''} in a sweep: "
            f"{'; '.join(errors[:3])}{more}; "
            "failed rows will be retried; fix the causes listed above"
        )
        self.errors = list(errors)
        self.report = report


class WorkerInterrupted(DuetimeError):
    """A worker's tasks were cancelled, as by one of its handlers; it has stopped in order."""

    def __init__(self, worker: str, reason: str) -> None:
        super().__init__(f"worker {worker} was interrupted and has stopped: {reason}")
        self.worker = worker


class ConfigError(DuetimeError):
    """The app, its options or its declarations do not fit together."""


class JobNameTaken(ConfigError):
    """Another job has that name; nothing was written. `how` says which one, if the caller may
    know."""

    def __init__(self, name: str, how: str | None = None) -> None:
        super().__init__(
            f"job name {name!r} is taken: names of jobs are global, across tenants and apps; "
            "choose another one"
            if how is None
            else f"job {name!r} is {how}: change it there, or choose another name"
        )
        self.name = name
        self.how = how


class StoreUnavailable(DuetimeError):
    """The store did not answer. Nothing is lost: what was committed stays committed."""


class UnreadableRow(StoreUnavailable):
    """A stored row cannot be read: written by other means, or lost by the disk. Workers find it and
    fail its action, so that the call may succeed if it is made again."""


MAX_WORD_LENGTH = 200


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint with the nearest known word; empty if none is near."""
    near = nearest(word, known)
    return "" if near is None else f" (did you mean {near!r}?)"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the nearest known word, if one is near. Nothing is near a text that is long: comparing
    it with all time zones takes a second for a megabyte."""
    if len(word) > MAX_WORD_LENGTH:
        return None
    near = get_close_matches(word, [str(name) for name in known], n=1, cutoff=0.6)
    return near[0] if near else None


def shown(value: object, limit: int = 80) -> str:
    """Return the repr of a value for a message, cut to one line; an instant in ISO 8601."""
    try:
        text = value.isoformat() if isinstance(value, datetime) else repr(value)
    except Exception:  # noqa: BLE001 - the error that names the value must be raised, not this one
        text = f"<{type(value).__name__} without a repr>"
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
