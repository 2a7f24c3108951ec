"""duetime: everything that must happen later, in one Python library."""

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
