"""The app that `Duetime.connect` returns: its verbs ask a server."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any, NoReturn, cast

from duetime.api.async_api import AppNotifications, Jobs
from duetime.api.operation import async_verb, blocking_verb
from duetime.api.registrar import Registrar
from duetime.api.setup import CurrentSetup
from duetime.api.sync_api import SyncDuetime
from duetime.app import Duetime
from duetime.model.tenant import AMBIENT, Ambient
from duetime.model.validation import positive_seconds
from duetime.remote.address import Credential, Token, to_server_address
from duetime.remote.clients import HttpClients
from duetime.remote.exchange import Exchanger
from duetime.remote.payloads import RemotePayloads
from duetime.remote.refusals import (
    REFUSED_DECLARATIONS,
    REFUSED_MEMBERS,
    refuse_by,
    refuse_members,
    refused,
)
from duetime.remote.setup import CheckedActionVerbs, make_remote_setup
from duetime.remote.transitions import (
    RemoteSyncTransitions,
    RemoteTransitions,
    TransitionVerbs,
)


def _no_testing() -> NoReturn:
    raise refused("sync.testing", REFUSED_MEMBERS["testing"])


class RemoteSync(SyncDuetime):
    """`app.sync` of a connected app."""

    def __init__(self, setup: CurrentSetup, transition_verbs: TransitionVerbs) -> None:
        super().__init__(setup, lambda: self.transitions, _no_testing)
        self._transition_verbs = transition_verbs

    wait = blocking_verb(CheckedActionVerbs.wait)

    @property
    def transitions(self) -> Any:
        return RemoteSyncTransitions(self._transition_verbs)


class RemoteNotifications(AppNotifications):
    """`app.notifications` of a connected app."""


refuse_members(RemoteNotifications, REFUSED_DECLARATIONS, "notifications.")


class RemoteDuetime(Duetime):
    """An app whose store is behind a server. It schedules, reads and changes; handlers run
    elsewhere."""

    def __init__(self, url: str, token: Token | None, timeout: float | timedelta) -> None:
        address, limit = to_server_address(url), positive_seconds("timeout", timeout)
        exchanger = Exchanger(address, limit)
        setup = make_remote_setup(HttpClients(address, Credential(token)), exchanger)
        runtime = setup.runtime
        self._setup = CurrentSetup(setup)
        payloads = cast("RemotePayloads", runtime.payloads)
        self._transition_verbs = TransitionVerbs(runtime, payloads, exchanger)
        # As a router has them: what is declared here names kinds, and runs elsewhere.
        self._registrar = Registrar(
            payloads=runtime.payloads,
            handlers=runtime.handlers,
            jobs=runtime.jobs,
            events=runtime.events,
        )
        self.jobs = Jobs(self._setup)
        self.notifications = RemoteNotifications(self._setup)
        self.sync = RemoteSync(self._setup, self._transition_verbs)

    wait = async_verb(CheckedActionVerbs.wait)

    @property
    def transitions(self) -> Any:
        return RemoteTransitions(self._transition_verbs)

    def acting(
        self, *, tenant: str | Ambient | None = AMBIENT, by: str | None = None
    ) -> AbstractContextManager[None]:
        """Default tenant of every verb inside the `with`."""
        refuse_by(by)
        return super().acting(tenant=tenant)


refuse_members(RemoteDuetime, REFUSED_MEMBERS)
