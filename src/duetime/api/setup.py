"""What an app runs on now: its store, its clock and its settings, with the verbs bound to them."""

from __future__ import annotations

from dataclasses import dataclass

from duetime.api.actions import ActionVerbs
from duetime.api.api_keys import ApiKeyVerbs
from duetime.api.audit import AuditVerbs
from duetime.api.grants import GrantVerbs
from duetime.api.jobs import JobVerbs
from duetime.api.notifications import NotificationVerbs
from duetime.api.queues import QueueVerbs
from duetime.api.workers import WorkerVerbs
from duetime.config import Settings
from duetime.errors import ConfigError
from duetime.model.ids import TimeOrderedIds
from duetime.registry.runtime import AppRuntime


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """One runtime of an app with its settings, and the verbs that act on it."""

    runtime: AppRuntime
    settings: Settings
    # None if the app was given a store instead of a URL.
    store_url: str | None
    actions: ActionVerbs
    jobs: JobVerbs
    audit: AuditVerbs
    grants: GrantVerbs
    api_keys: ApiKeyVerbs
    queues: QueueVerbs
    workers: WorkerVerbs
    notifications: NotificationVerbs


def make_setup(runtime: AppRuntime, settings: Settings, store_url: str | None) -> Setup:
    new_id = TimeOrderedIds()
    actions = ActionVerbs(runtime, new_id, settings.max_payload, sweep=settings.sweep)
    jobs = JobVerbs(runtime, new_id, settings)
    return Setup(
        runtime,
        settings,
        store_url,
        actions,
        jobs,
        AuditVerbs(runtime),
        GrantVerbs(runtime, new_id),
        ApiKeyVerbs(runtime, new_id),
        QueueVerbs(runtime, settings.sweep),
        WorkerVerbs(runtime, settings.sweep),
        NotificationVerbs(runtime, new_id),
    )


class CurrentSetup:
    """The one place that says what an app runs on. Every face of the app reads `now` at each call,
    and a worker when it is created. Tests put other setups on top of the app's `own`."""

    def __init__(self, own: Setup) -> None:
        self.own = own
        self.now = own
        self._overrides: list[Setup] = []

    @property
    def overridden(self) -> bool:
        return bool(self._overrides)

    def push(self, setup: Setup) -> None:
        self._overrides.append(setup)
        self.now = setup

    def pop(self, setup: Setup) -> None:
        """Return to what the app ran on before this setup. ConfigError if setups that were put on
        top of it are still there: they end as well."""
        is_last = self.now is setup
        if setup in self._overrides:
            del self._overrides[self._overrides.index(setup) :]
            self.now = self._overrides[-1] if self._overrides else self.own
        if not is_last:
            raise ConfigError(
                "overrides of an app ended in another order than they began: end the last one "
                "first, and let tests that override one app run one after the other"
            )
