"""Turns events into notifications, and reports ill health of the cluster as events."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from duetime.logs import get_log
from duetime.model.actions.claim import SweepResult, alive_micros
from duetime.model.clock import SECOND, micros_of, monotonic
from duetime.model.health.queues import queues_of
from duetime.model.lane import EVENTS_LANE
from duetime.model.notifications.declared import declared_subscription
from duetime.model.notifications.episodes import Episode
from duetime.model.notifications.health import HealthFacts, episodes_of
from duetime.model.notifications.subscription import (
    DECLARED_FOR,
    StoredSubscription,
    SubscriptionTerms,
)
from duetime.model.notifications.topics import EPISODES, TopicName
from duetime.model.tenant import ANY
from duetime.registry.runtime import AppRuntime
from duetime.store.flow import Wake
from duetime.worker.service import UNTIL_WOKEN, Service
from duetime.worker.settings import WorkerSettings

log = get_log("duetime.worker")

# The events that one transaction gathers.
GATHER_SIZE = 1000
# In a storm of events, gatherings take place so often.
GATHER_PAUSE_SECONDS = 1.0
# Events of a minute may be gathered so much later than its end: after the next sweep.
LAG_SECONDS = 2.0
HEALTH_TOPICS: frozenset[TopicName] = EPISODES | {"worker-lost"}
# A worker that was seen within this time is known to the store; see `episodes_of`.
SEEN_WITHIN = 3600 * SECOND
DECLARE_SECONDS = DECLARED_FOR / SECOND / 5


class Notifier:
    """Tells the outbox which topics are wanted, stores what code subscribes to, and gathers events:
    soon after this process has added some, and after sweeps that found others. The oldest worker of
    a store also looks for episodes, if anybody wants to hear of them: one process at a time."""

    def __init__(
        self,
        runtime: AppRuntime,
        settings: WorkerSettings,
    ) -> None:
        self._store = runtime.store
        self._interest = runtime.interest
        self._declared = runtime.subscribed
        self._app = settings.subscribing_app or settings.app
        self._lag = micros_of(settings.sweep + LAG_SECONDS)
        self._alive = alive_micros(settings.sweep)
        # The version of the subscriptions that a sweep found, and that which is known.
        self._found_version, self._known_version = 0, -1
        self._events_wait = self._health_wanted = False
        # No worker was found by the last check, which is no news yet: one may be starting.
        self._found_none = False
        self._next_gathering = self._next_declaration = 0.0
        self.service = Service("notify", self._step)

    async def start(self) -> None:
        """Learn which topics are wanted, before anything runs or is rescued that they may be
        about."""
        await self._declare_if_due()
        await self._learn_if_changed()

    def sweep_finished(self, swept: SweepResult) -> None:
        self._found_version = swept.subscriptions_version
        self._events_wait |= swept.events_wait
        self._health_wanted = swept.oldest and not HEALTH_TOPICS.isdisjoint(
            self._interest.topics or ()
        )
        self.service.wake()

    def woken(self, wakes: Sequence[Wake]) -> list[Wake]:
        """Note that this process has added events; return the other wakes."""
        others = [wake for wake in wakes if wake.lane != EVENTS_LANE]
        if len(others) < len(wakes):
            self._events_wait = True
            self.service.wake()
        return others

    async def _step(self) -> float:
        await self._declare_if_due()
        await self._learn_if_changed()
        if self._health_wanted:
            self._health_wanted = False
            await self._check_health()
        if self._events_wait and monotonic() >= self._next_gathering:
            await self._gather_soon()
        return max(self._next_gathering - monotonic(), 0.0) if self._events_wait else UNTIL_WOKEN

    async def _declare_if_due(self) -> None:
        if not self._declared or monotonic() < self._next_declaration:
            return
        own = [self._subscription(terms) for terms in self._declared]
        await self._store.perform(self._store.declare_subscriptions(own))
        self._next_declaration = monotonic() + DECLARE_SECONDS
        # The store's version is not known: read them once more.
        self._known_version = -1

    def _subscription(self, terms: SubscriptionTerms) -> StoredSubscription:
        return declared_subscription(self._app, terms, secrets.token_urlsafe(24))

    async def _learn_if_changed(self) -> None:
        if self._found_version == self._known_version:
            return
        version = self._found_version
        found = await self._store.perform(self._store.subscriptions(ANY))
        wanted = (each.terms.topics for each in found if each.ended_at is None)
        self._interest.topics = frozenset(topic for topics in wanted for topic in topics)
        self._known_version = version

    async def _check_health(self) -> None:
        queues = await self._store.perform(self._store.queues(self._alive))
        seen = await self._store.perform(self._store.workers(SEEN_WITHIN))
        facts = HealthFacts(now=queues.now, queues=queues_of(queues), seen=seen, alive=self._alive)
        present = self._confirmed(episodes_of(facts))
        await self._store.perform(self._store.change_episodes(present))

    def _confirmed(self, found: Sequence[Episode]) -> list[Episode]:
        """Return the episodes without `no-worker`, unless the check before found none either."""
        found_none = any(episode.topic == "no-worker" for episode in found)
        confirmed = found_none and self._found_none
        self._found_none = found_none
        return [episode for episode in found if confirmed or episode.topic != "no-worker"]

    async def _gather_soon(self) -> None:
        """Gather what waits. If another process is at it, the next sweep tells what is left."""
        self._events_wait = False
        if await self._gather() == GATHER_SIZE:
            self._events_wait = True
        else:
            self._next_gathering = monotonic() + GATHER_PAUSE_SECONDS

    async def gather(self) -> bool:
        """Gather everything that waits, if anything is subscribed to; return whether anything did:
        for tests."""
        gathered = 0
        while self._interest.topics and (taken := await self._gather()):
            gathered += taken
        return gathered > 0

    async def _gather(self) -> int:
        """Return how many events were gathered."""
        flow = self._store.gather_events(lag=self._lag, limit=GATHER_SIZE)
        return (await self._store.perform(flow)).taken
