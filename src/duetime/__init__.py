"""duetime: everything that must happen later, in one Python library.

A name is imported when it is first asked for: who takes `Cron` from here, or `duetime.testing`, or
a command of `duetime`, does not wait for all the rest.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from duetime import errors as errors

if TYPE_CHECKING:
    from duetime.app import Duetime
    from duetime.arguments import Request
    from duetime.events import (
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
    from duetime.job_protocols import JobReader, JobWriter
    from duetime.model.action import Action, Page, Run
    from duetime.model.clock import Clock
    from duetime.model.cron import Cron
    from duetime.model.every import Every
    from duetime.model.instants import Instants
    from duetime.model.job import Overlap
    from duetime.model.job_stats import JobStats
    from duetime.model.job_view import Job, JobState
    from duetime.model.lane import Priority
    from duetime.model.misfire import Misfire
    from duetime.model.occurrence import Occurrence
    from duetime.model.recurrence import Recurrence
    from duetime.model.retry import Retry
    from duetime.model.state import Outcome, State
    from duetime.model.stats import LivingWorker, Parked, Stats
    from duetime.model.tenant import ANY, current_tenant
    from duetime.model.wish import Cancel, Fail, Snooze
    from duetime.worker.context import Context
    from duetime.worker.injection import Depends

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
    "duetime.arguments": ["Request"],
    "duetime.events": [
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
    "duetime.job_protocols": ["JobReader", "JobWriter"],
    "duetime.model.action": ["Action", "Page", "Run"],
    "duetime.model.clock": ["Clock"],
    "duetime.model.cron": ["Cron"],
    "duetime.model.every": ["Every"],
    "duetime.model.instants": ["Instants"],
    "duetime.model.job": ["Overlap"],
    "duetime.model.job_stats": ["JobStats"],
    "duetime.model.job_view": ["Job", "JobState"],
    "duetime.model.lane": ["Priority"],
    "duetime.model.misfire": ["Misfire"],
    "duetime.model.occurrence": ["Occurrence"],
    "duetime.model.recurrence": ["Recurrence"],
    "duetime.model.retry": ["Retry"],
    "duetime.model.state": ["Outcome", "State"],
    "duetime.model.stats": ["LivingWorker", "Parked", "Stats"],
    "duetime.model.tenant": ["ANY", "current_tenant"],
    "duetime.model.wish": ["Cancel", "Fail", "Snooze"],
    "duetime.worker.context": ["Context"],
    "duetime.worker.injection": ["Depends"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:  # Type checkers would take every name for one of ours.

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
