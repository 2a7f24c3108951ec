"""An app, its server, and an app that is connected to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

import pytest

from duetime import Duetime
from duetime.testing import FakeClock
from remote.scenario import Parcel, make_app
from remote.serving import serving


@dataclass(frozen=True)
class Served:
    """An app, where it is served, and the key of its administrator."""

    app: Duetime
    url: str
    key: str
    key_id: UUID

    def connect(self, token: str | None = None, **options: float) -> Duetime:
        app = Duetime.connect(self.url, token=token or self.key, **options)
        app.payload(Parcel, kind="parcel")
        return app

    def key_of(self, *permissions: str, tenant: str | None = None) -> str:
        """Return a new key that has these permissions."""
        role = f"with {', '.join(permissions)}"
        for permission in permissions:
            self.app.sync.grants.set(role, permission)  # type: ignore[arg-type]
        return self.app.sync.api_keys.create("of a test", [role], tenant).key


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def served(clock: FakeClock) -> Iterator[Served]:
    app = make_app(clock)
    made = app.sync.api_keys.create("root", ["root"], None)
    with serving(app.admin(admin_roles={"root"}, prefix="/ops")) as address:
        yield Served(app, f"{address}/ops", made.key, made.id)
    app.sync.close()


@pytest.fixture
def remote(served: Served) -> Iterator[Duetime]:
    app = served.connect()
    yield app
    app.sync.close()
