"""Readers who are signed in, with just some permissions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from duetime import Duetime
from duetime.model.access.permissions import GrantableName
from pages.browser import Browser
from pages.places import ROLE, new_key


@asynccontextmanager
async def reader_of(
    app: Duetime, *permissions: str, tenant: str | None = None, asgi: Any = None
) -> AsyncIterator[Browser]:
    """A browser in which somebody has signed in who has these permissions, and no others."""
    role = f"role of {sorted(permissions)}"
    for permission in permissions:
        await app.grants.set(role, cast("GrantableName", permission))
    async with Browser(asgi or app.admin(admin_roles={ROLE})) as browser:
        await browser.sign_in(await new_key(app, role, tenant=tenant))
        yield browser


@asynccontextmanager
async def administrator_of(app: Duetime) -> AsyncIterator[Browser]:
    """A browser in which somebody has signed in who may do everything."""
    async with Browser(app.admin(admin_roles={ROLE})) as browser:
        await browser.sign_in(await new_key(app))
        yield browser


@pytest.fixture
def moving(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes what was read older, by a second if nothing else is said."""
    now = [0.0]
    for reader in (
        "duetime.admin.pages.snapshots.Snapshots",
        "duetime.admin.identity.recent_sessions.RecentSessions",
    ):
        monkeypatch.setattr(f"{reader}.__init__.__defaults__", (lambda: now[0],))

    def move(seconds: float = 1.0) -> None:
        now[0] += seconds

    return move
