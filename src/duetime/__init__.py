"""duetime: everything that must happen later, in one Python library.

Names are imported on first access, so that importing `Cron` or `duetime.testing`, or running a
`duetime` command, does not load the whole package.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from duetime import errors as errors

if TYPE_CHECKING:
    from duetime.api.protocols import JobReader, JobWriter
    from duetime.api.requests import Request
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
    from duetime.model.actions.action import Action, Page, Run
    from duetime.model.actions.retry import Retry
    from duetime.model.actions.signals import Cancel, Fail, Snooze
    from duetime.model.clock import Clock
    from duetime.model.health.stats import LivingWorker, Parked, Stats
    from duetime.model.jobs.job import Overlap
    from duetime.model.jobs.misfire import Misfire
    from duetime.model.jobs.occurrence import Occurrence
    from duetime.model.jobs.stats import JobStats
    from duetime.model.jobs.view import Job, JobState
    from duetime.model.lane import Priority
    from duetime.model.recurrence.base import Recurrence
    from duetime.model.recurrence.cron import Cron
    from duetime.model.recurrence.every import Every
    from duetime.model.recurrence.instants import Instants
    from duetime.model.state import Outcome, State
    from duetime.model.tenant import ANY, current_tenant
    from duetime.registry.context import Context
    from duetime.registry.injection import Depends

__all__ = [
    "ANY",
    "Action",
    "ActionCancelled",
    "ActionFailed",
    "ActionRescheduled",
    "ActionSucceeded",
    "Cancel",
    "Clock",
    "Context",
    "Cron",
    "Depends",
    "Duetime",
    "Every",
    "Fail",
    "Instants",
    "Job",
    "JobFailing",
    "JobPaused",
    "JobReader",
    "JobRecovered",
    "JobResumed",
    "JobState",
    "JobStats",
    "JobWriter",
    "LivingWorker",
    "Misfire",
    "Occurrence",
    "Outcome",
    "Overlap",
    "Page",
    "Parked",
    "Priority",
    "Recurrence",
    "Request",
    "Retry",
    "Run",
    "Snooze",
    "State",
    "Stats",
    "TransitionApplied",
    "current_tenant",
]

_HOMES = {
    "duetime.app": ["Duetime"],
    "duetime.api.requests": ["Request"],
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
    "duetime.model.actions.action": ["Action", "Page", "Run"],
    "duetime.model.clock": ["Clock"],
    "duetime.model.recurrence.cron": ["Cron"],
    "duetime.model.recurrence.every": ["Every"],
    "duetime.model.recurrence.instants": ["Instants"],
    "duetime.model.jobs.job": ["Overlap"],
    "duetime.model.jobs.stats": ["JobStats"],
    "duetime.model.jobs.view": ["Job", "JobState"],
    "duetime.model.lane": ["Priority"],
    "duetime.model.jobs.misfire": ["Misfire"],
    "duetime.model.jobs.occurrence": ["Occurrence"],
    "duetime.model.recurrence.base": ["Recurrence"],
    "duetime.model.actions.retry": ["Retry"],
    "duetime.model.state": ["Outcome", "State"],
    "duetime.model.health.stats": ["LivingWorker", "Parked", "Stats"],
    "duetime.model.tenant": ["ANY", "current_tenant"],
    "duetime.model.actions.signals": ["Cancel", "Fail", "Snooze"],
    "duetime.registry.context": ["Context"],
    "duetime.registry.injection": ["Depends"],
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
