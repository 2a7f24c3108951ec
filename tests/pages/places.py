"""Apps with pages, and keys and links to sign in with."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from duetime import Duetime
from duetime.admin.identity.sign_in import make_link
from duetime.model.ids import TimeOrderedIds
from pages.browser import LOOPBACK, Browser

ROLE = "operators"


async def new_key(app: Duetime, *roles: str, tenant: str | None = None, **options: Any) -> str:
    made = await app.api_keys.create("a key", roles or [ROLE], tenant, **options)
    return made.key


async def new_link(app: Duetime) -> str:
    return await make_link(app.store, TimeOrderedIds(), "ann")


@pytest.fixture
def memory_asgi(memory_app: Duetime) -> Any:
    """Pages of an app in memory, whose operators may do everything."""
    return memory_app.admin(admin_roles={ROLE})


@pytest.fixture
async def browser(memory_asgi: Any) -> AsyncIterator[Browser]:
    async with Browser(memory_asgi) as browser:
        yield browser


@pytest.fixture
async def local_browser(memory_asgi: Any) -> AsyncIterator[Browser]:
    """A browser on the machine of the app."""
    async with Browser(memory_asgi, LOOPBACK) as browser:
        yield browser
