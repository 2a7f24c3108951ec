"""Lets an app run on another store and clock for the length of a test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from duetime.api.setup import CurrentSetup, Setup, make_setup
from duetime.errors import ConfigError, shown
from duetime.model.clock import Clock
from duetime.model.store_url import mask_password
from duetime.store.base import Store
from duetime.store_factory import open_store

if TYPE_CHECKING:
    from duetime.app import Duetime

MEMORY_URL = "memory://"
# For SQLAlchemy these are databases in memory, which end with their connection.
TEMPORARY_SQLITE_URLS = ("sqlite://", "sqlite:///:memory:")


class Override(AbstractContextManager["Duetime"], AbstractAsyncContextManager["Duetime"]):
    """`app.testing.override(...)`: enters once, by `with` or `async with`, and gives the app."""

    def __init__(
        self,
        app: Duetime,
        current: CurrentSetup,
        clock: Clock | None,
        url: str | None,
        store: Store | None,
        sessions: Callable[[], Any] | None,
    ) -> None:
        _check(clock, url, store, sessions)
        self._app = app
        self._current = current
        self._clock = clock
        self._url = url
        self._store = store
        self._sessions = sessions
        self._setup: Setup | None = None
        self._folder: str | None = None

    def __enter__(self) -> Duetime:
        if self._setup is not None:
            raise ConfigError("this override was entered before: call app.testing.override() again")
        refuse_running(self._current, "app.testing.override()")
        try:
            self._setup = self._open()
        except BaseException:
            self._remove_folder()
            raise
        self._current.push(self._setup)
        return self._app

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._restore()
        finally:
            self._entered().runtime.store.close()
            self._remove_folder()

    async def __aenter__(self) -> Duetime:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._restore()
        finally:
            await self._entered().runtime.store.aclose()
            self._remove_folder()

    # -- entering --------------------------------------------------------------------

    def _open(self) -> Setup:
        own = self._current.own
        clock = self._clock or self._current.now.runtime.clock
        url = None if self._store is not None else self._url_to_open()
        settings = own.settings
        if url is not None:
            # A store of a test starts without tables, and only PostgreSQL has schemas.
            schema = settings.schema if url.startswith("postgres") else None
            settings = replace(settings, url=url, migrate=True, schema=schema)
        store = self._store or open_store(settings, clock)
        runtime = replace(own.runtime, store=store, clock=clock, sessions=self._sessions)
        return make_setup(runtime, settings, url)

    def _url_to_open(self) -> str:
        if self._url in TEMPORARY_SQLITE_URLS:
            self._folder = tempfile.mkdtemp(prefix="duetime-")
            return f"sqlite:///{self._folder}/test.db"
        if self._url is not None:
            return self._url
        return MEMORY_URL if self._sessions is None else _url_of(self._sessions)

    # -- leaving ---------------------------------------------------------------------

    def _restore(self) -> None:
        self._current.pop(self._entered())
        refuse_running(self._current, "leaving app.testing.override()")

    def _entered(self) -> Setup:
        assert self._setup is not None
        return self._setup

    def _remove_folder(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder)


def refuse_running(current: CurrentSetup, what: str) -> None:
    """Raise ConfigError while a worker runs: it goes on with the store and clock that it has."""
    running = sorted(type(service).__name__ for service in current.own.runtime.running)
    if running:
        raise ConfigError(
            f"{what} while the app runs {', '.join(running)}: stop that first; start workers and "
            "transition runners inside the override, and end them inside it"
        )


def _check(
    clock: Clock | None,
    url: str | None,
    store: Store | None,
    sessions: Callable[[], Any] | None,
) -> None:
    if clock is not None and not isinstance(clock, Clock):
        raise ConfigError(
            f"clock={shown(clock)} is not a clock: give an instance, such as FakeClock()"
        )
    if isinstance(clock, type):
        raise ConfigError(f"clock={shown(clock)} is a class: give an instance, {clock.__name__}()")
    if url is not None and not isinstance(url, str):
        raise ConfigError(f"url={shown(url)} is not a URL: give text, such as 'sqlite://'")
    if store is not None and not isinstance(store, Store):
        raise ConfigError(f"store={shown(store)} is not a store: give a Store, or url='...'")
    if url is not None and store is not None:
        raise ConfigError("override() takes url= or store=, not both: each names the store")
    if sessions is not None and not callable(sessions):
        raise ConfigError(
            f"sessions={shown(sessions)} makes no sessions: give sessionmaker(engine) or "
            "async_sessionmaker(engine)"
        )


def _url_of(sessions: Any) -> str:
    """Return the URL of the store in the database of these sessions."""
    url = getattr(getattr(sessions, "kw", {}).get("bind"), "url", None)
    if url is None:
        raise ConfigError(
            f"sessions={shown(sessions)} does not say which database it is for: give url= too, or "
            "a sessionmaker(engine) or async_sessionmaker(engine)"
        )
    backend, rest = url.get_backend_name(), url.render_as_string(hide_password=False)
    if backend == "sqlite" and url.database in (None, "", ":memory:"):
        raise ConfigError(
            f"sessions= are for {mask_password(rest)}, a database in memory that other connections "
            "cannot see: create the engine with a file, such as sqlite:///{tmp_path}/test.db"
        )
    return f"{backend}://{rest.partition('://')[2]}"
