"""What an app needs to deliver notifications. Importing this loads no transport."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from duetime.config import Settings
from duetime.model.notifications.delivery import NOTIFY_KIND, NOTIFY_QUEUE
from duetime.model.notifications.subscription import ChannelRules
from duetime.registry.handlers import Handlers
from duetime.registry.jobs import DeclaredJobs
from duetime.registry.runtime import AppRuntime

if TYPE_CHECKING:
    from duetime.notifications.config import Notifications
    from duetime.worker.settings import WorkerSettings
    from duetime.worker.worker import Worker

# The slots of deliveries in each worker.
DELIVERY_SLOTS = 2


def delivery_config(settings: Settings, given: Notifications | None) -> Notifications | None:
    """Return how an app delivers notifications; None if it has no transport, and need load none."""
    if given is None and not (settings.email or settings.webhook_secret or _has_hosts(settings)):
        return None
    from duetime.notifications.config import notifications_of

    return notifications_of(settings, given)


def _has_hosts(settings: Settings) -> bool:
    return bool(settings.webhook_allow_hosts)


class DeliversNotifications:
    """An app whose workers send notifications, if it has a transport."""

    # How it delivers; None if it has no transport.
    _delivering: Notifications | None
    handler: Callable[..., Any]
    worker_settings: Callable[..., WorkerSettings]

    @property
    @abstractmethod
    def runtime(self) -> AppRuntime: ...

    @property
    @abstractmethod
    def settings(self) -> Settings: ...

    def _configure_delivery(self, settings: Settings, given: Notifications | None) -> ChannelRules:
        """Keep how the app delivers; return what a subscription may ask for."""
        self._delivering = delivery_config(settings, given)
        return ChannelRules() if self._delivering is None else self._delivering.rules

    def notifier(self) -> Worker:
        """A worker that runs none of the app's handlers: it gathers and sends notifications, also
        while no other worker lives. `duetime serve --no-worker` runs one."""
        from duetime.worker.worker import Worker

        handlers = Handlers(self.runtime.payloads)
        if self._delivering is not None:
            self._declare_delivery(self._delivering)
            handlers.take(NOTIFY_KIND, self.runtime.handlers)
        settings = replace(
            self.worker_settings(DELIVERY_SLOTS, [NOTIFY_QUEUE]),
            app=f"{self.settings.name} notifications",
            subscribing_app=self.settings.name,
        )
        return Worker(replace(self.runtime, jobs=DeclaredJobs(), handlers=handlers), settings)

    def _with_delivery(self, settings: WorkerSettings) -> WorkerSettings:
        """Return the settings of a worker that also sends notifications, if the app can."""
        if self._delivering is None:
            return settings
        self._declare_delivery(self._delivering)
        return replace(settings, delivery_slots=DELIVERY_SLOTS)

    def _declare_delivery(self, config: Notifications) -> None:
        """Declare the handler that sends notifications, once."""
        if self.runtime.handlers.get(NOTIFY_KIND) is not None:
            return
        from duetime.notifications.sender import SEND_RETRY, SEND_TIMEOUT_SECONDS, make_sender

        send = make_sender(lambda: self.runtime, config, self.settings.base_url)
        declare = self.handler(
            kind=NOTIFY_KIND, queue=NOTIFY_QUEUE, retry=SEND_RETRY, timeout=SEND_TIMEOUT_SECONDS
        )
        declare(send)
