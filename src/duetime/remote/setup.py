"""What a connected app runs on: verbs that ask a server, and the registries of its declarations."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, cast

from duetime.api.actions import ActionVerbs
from duetime.api.arguments import Delay, Parent, TenantArgument, to_action_id
from duetime.api.operation import Operation
from duetime.api.setup import Setup, make_setup
from duetime.config import Settings
from duetime.events.bus import Events
from duetime.model.actions.action import Action
from duetime.model.clock import SystemClock
from duetime.model.ids import TimeOrderedIds
from duetime.model.notifications.subscription import ChannelRules
from duetime.model.tenant import AMBIENT
from duetime.model.validation import seconds
from duetime.registry.handlers import Handlers
from duetime.registry.runtime import AppRuntime
from duetime.remote.clients import HttpClients
from duetime.remote.exchange import Exchanger
from duetime.remote.payloads import RemotePayloads
from duetime.remote.store import RemoteStore
from duetime.remote.verbs import RemoteVerbs
from duetime.store.base import Store
from duetime.store.memory.store import MemoryStore
from duetime.telemetry.meters import Meters


class CheckedActionVerbs(ActionVerbs):
    """The verbs of actions with `wait`, which over HTTP is a verb as the others are."""

    def wait(
        self,
        action: Parent,
        *,
        timeout: Delay | None = None,
        tenant: TenantArgument = AMBIENT,
    ) -> Operation[Action]:
        """Return the action, given by itself or its id, once it has finished; WaitTimeout if it
        does not within `timeout`."""
        if timeout is not None:
            seconds("timeout", timeout)
        return self.get(to_action_id(action), tenant=tenant)


def make_remote_setup(clients: HttpClients, exchanger: Exchanger) -> Setup:
    """Return the verbs that ask the server. Those that check their arguments stand on a store in
    memory, which nothing ever reaches."""
    payloads = RemotePayloads()
    checking = AppRuntime(
        MemoryStore(),
        payloads,
        Handlers(payloads, complete=False),
        Events(),
        Meters(),
        SystemClock(),
        # Which transports and languages there are, the server says.
        channels=ChannelRules(complete=False),
    )
    # Whether a payload is too large, the server says.
    settings = Settings(url=exchanger.address.url, max_payload=sys.maxsize)
    local = make_setup(checking, settings, None)
    actions = CheckedActionVerbs(checking, TimeOrderedIds(), settings.max_payload)
    runtime = replace(checking, store=cast("Store", RemoteStore(clients)))

    def asking(noun: str, verbs: object) -> Any:
        return RemoteVerbs(noun, verbs, runtime, exchanger)

    return Setup(
        runtime,
        settings,
        None,
        actions=asking("", actions),
        jobs=asking("jobs", local.jobs),
        audit=asking("audit", local.audit),
        grants=asking("grants", local.grants),
        api_keys=asking("api_keys", local.api_keys),
        queues=asking("queues", local.queues),
        workers=asking("workers", local.workers),
        notifications=asking("notifications", local.notifications),
    )
