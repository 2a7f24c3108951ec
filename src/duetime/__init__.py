"""duetime: everything that must happen later, in one Python library.

Names are imported on first access, so that importing `Cron` or `duetime.testing`, or running a
`duetime` command, does not load the whole package.

(For pytest, which warns if a package with a plugin was imported before it: PYTEST_DONT_REWRITE.)
"""

from importlib import import_module
from typing import TYPE_CHECKING

from duetime import errors as errors

if TYPE_CHECKING:
    from duetime.admin.identity.oidc import Oidc
    from duetime.api.protocols import JobReader, JobWriter
    from duetime.api.requests import Request
    from duetime.api.router import Router
    from duetime.app import Duetime
    from duetime.events.types import (
        ActionCancelled,
        ActionFailed,
        ActionRescheduled,
        ActionSucceeded,
        JobFailing,
        JobPaused,
        JobRecovered,
        JobResumed,
        TransitionApplied,
    )
    from duetime.model.access.api_keys import ApiKey, CreatedApiKey
    from duetime.model.access.grants import Authority, Grant
    from duetime.model.access.identity import Identity
    from duetime.model.actions.action import Action, Page, Run
    from duetime.model.actions.retry import Retry
    from duetime.model.actions.signals import Cancel, Fail, Release, RetryAfter, Snooze
    from duetime.model.audit import AuditEntry
    from duetime.model.bulk import BulkResult
    from duetime.model.clock import Clock
    from duetime.model.erasure import ErasureResult
    from duetime.model.health.queues import PausedQueue, Queue
    from duetime.model.health.series import Line, Point, Series
    from duetime.model.health.stats import LivingWorker, Parked, Stats
    from duetime.model.health.worker import SlotUse
    from duetime.model.jobs.bulk import JobBulk
    from duetime.model.jobs.job import Overlap
    from duetime.model.jobs.misfire import Misfire
    from duetime.model.jobs.occurrence import Occurrence
    from duetime.model.jobs.stats import JobStats
    from duetime.model.jobs.view import Job, JobState
    from duetime.model.lane import Priority
    from duetime.model.payloads.secrets import Secret
    from duetime.model.reason import Reason
    from duetime.model.recurrence.base import Recurrence
    from duetime.model.recurrence.cron import Cron
    from duetime.model.recurrence.every import Every
    from duetime.model.recurrence.instants import Instants
    from duetime.model.state import Outcome, State
    from duetime.model.tenant import ANY, current_tenant
    from duetime.model.timeline import ComingTicks, Timeline, TimelineAction
    from duetime.registry.context import Context
    from duetime.registry.injection import Depends
    from duetime.registry.middleware import CallNext
    from duetime.remote.payloads import PlainPayload

__all__ = [
    "ANY",
    "Action",
    "ActionCancelled",
    "ActionFailed",
    "ActionRescheduled",
    "ActionSucceeded",
    "ApiKey",
    "AuditEntry",
    "Authority",
    "BulkResult",
    "CallNext",
    "Cancel",
    "Clock",
    "ComingTicks",
    "Context",
    "CreatedApiKey",
    "Cron",
    "Depends",
    "Duetime",
    "ErasureResult",
    "Every",
    "Fail",
    "Grant",
    "Identity",
    "Instants",
    "Job",
    "JobBulk",
    "JobFailing",
    "JobPaused",
    "JobReader",
    "JobRecovered",
    "JobResumed",
    "JobState",
    "JobStats",
    "JobWriter",
    "Line",
    "LivingWorker",
    "Misfire",
    "Occurrence",
    "Oidc",
    "Outcome",
    "Overlap",
    "Page",
    "Parked",
    "PausedQueue",
    "PlainPayload",
    "Point",
    "Priority",
    "Queue",
    "Reason",
    "Recurrence",
    "Release",
    "Request",
    "Retry",
    "RetryAfter",
    "Router",
    "Run",
    "Secret",
    "Series",
    "SlotUse",
    "Snooze",
    "State",
    "Stats",
    "Timeline",
    "TimelineAction",
    "TransitionApplied",
    "current_tenant",
]

_HOMES = {
    "duetime.admin.identity.oidc": ["Oidc"],
    "duetime.app": ["Duetime"],
    "duetime.api.requests": ["Request"],
    "duetime.api.router": ["Router"],
    "duetime.events.types": [
        "ActionCancelled",
        "ActionFailed",
        "ActionRescheduled",
        "ActionSucceeded",
        "JobFailing",
        "JobPaused",
        "JobRecovered",
        "JobResumed",
        "TransitionApplied",
    ],
    "duetime.api.protocols": ["JobReader", "JobWriter"],
    "duetime.model.access.api_keys": ["ApiKey", "CreatedApiKey"],
    "duetime.model.access.grants": ["Authority", "Grant"],
    "duetime.model.access.identity": ["Identity"],
    "duetime.model.actions.action": ["Action", "Page", "Run"],
    "duetime.model.audit": ["AuditEntry"],
    "duetime.model.bulk": ["BulkResult"],
    "duetime.model.erasure": ["ErasureResult"],
    "duetime.model.clock": ["Clock"],
    "duetime.model.recurrence.cron": ["Cron"],
    "duetime.model.recurrence.every": ["Every"],
    "duetime.model.recurrence.instants": ["Instants"],
    "duetime.model.jobs.bulk": ["JobBulk"],
    "duetime.model.jobs.job": ["Overlap"],
    "duetime.model.jobs.stats": ["JobStats"],
    "duetime.model.jobs.view": ["Job", "JobState"],
    "duetime.model.lane": ["Priority"],
    "duetime.model.jobs.misfire": ["Misfire"],
    "duetime.model.jobs.occurrence": ["Occurrence"],
    "duetime.model.payloads.secrets": ["Secret"],
    "duetime.model.recurrence.base": ["Recurrence"],
    "duetime.model.actions.retry": ["Retry"],
    "duetime.model.state": ["Outcome", "State"],
    "duetime.model.health.queues": ["PausedQueue", "Queue"],
    "duetime.model.health.series": ["Line", "Point", "Series"],
    "duetime.model.health.stats": ["LivingWorker", "Parked", "Stats"],
    "duetime.model.health.worker": ["SlotUse"],
    "duetime.model.reason": ["Reason"],
    "duetime.model.tenant": ["ANY", "current_tenant"],
    "duetime.model.timeline": ["ComingTicks", "Timeline", "TimelineAction"],
    "duetime.model.actions.signals": ["Cancel", "Fail", "Release", "RetryAfter", "Snooze"],
    "duetime.registry.context": ["Context"],
    "duetime.registry.injection": ["Depends"],
    "duetime.registry.middleware": ["CallNext"],
    "duetime.remote.payloads": ["PlainPayload"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:  # With a module __getattr__, type checkers would accept any name.

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
