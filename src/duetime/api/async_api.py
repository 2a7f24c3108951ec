"""The verbs of an app as coroutines."""

from __future__ import annotations

from duetime.api.jobs import JobVerbs
from duetime.api.operation import async_verb
from duetime.registry.runtime import AppRuntime


class Jobs:
    """`app.jobs`: the verbs of recurring jobs."""

    def __init__(self, verbs: JobVerbs, runtime: AppRuntime) -> None:
        self._verbs = verbs
        self.runtime = runtime

    list = async_verb(JobVerbs.list)
    get = async_verb(JobVerbs.get)
    put = async_verb(JobVerbs.put)
    remove = async_verb(JobVerbs.remove)
    restore = async_verb(JobVerbs.restore)
    pause = async_verb(JobVerbs.pause)
    resume = async_verb(JobVerbs.resume)
    trigger = async_verb(JobVerbs.trigger)
    runs = async_verb(JobVerbs.runs)
    preview = async_verb(JobVerbs.preview)
    backfill = async_verb(JobVerbs.backfill)
