"""Exports: how many may run at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from admin.client import ADMINISTRATOR, OF_TENANT, Parcel, admin_of, client_of, problem, sent_by
from duetime import Duetime, Identity

EXPORTS = ["/api/actions/export", "/api/audit/export"]
every_export = pytest.mark.parametrize("path", EXPORTS)


def scope_of(path: str, sender: Identity) -> dict[str, Any]:
    headers = [(name.encode(), value.encode()) for name, value in sent_by(sender).items()]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
        "client": ("192.0.2.1", 1),
        "server": ("testserver", 80),
    }


class SlowClient:
    """A client of an export, who takes its beginning, and the rest when `rest` is set."""

    def __init__(self) -> None:
        self.status = 0
        self.rest = asyncio.Event()
        self.has_begun = asyncio.Event()

    async def receive(self) -> Any:
        await asyncio.Event().wait()

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.has_begun.set()
            await self.rest.wait()


@asynccontextmanager
async def exporting(asgi: Any, path: str, sender: Identity) -> AsyncIterator[SlowClient]:
    """Within, an export of the sender runs; it is cancelled at the end, if it still runs."""
    client = SlowClient()
    running = asyncio.create_task(asgi(scope_of(path, sender), client.receive, client.send))
    await client.has_begun.wait()
    try:
        yield client
        if client.rest.is_set():
            await running
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


@every_export
async def test_a_third_export_at_once_is_refused(memory_app: Duetime, path: str) -> None:
    asgi = admin_of(memory_app)
    await memory_app.schedule(Parcel(), delay=60)
    async with client_of(asgi) as client:
        async with exporting(asgi, EXPORTS[0], ADMINISTRATOR), exporting(asgi, path, ADMINISTRATOR):
            third = await client.get(path)
            assert (third.status_code, problem(third)) == (429, "rate-limited")
            assert (third.headers["retry-after"], "exports" in third.text) == ("5", True)
            assert (await client.get("/api/actions")).status_code == 200
            other = await client.get(path, headers=sent_by(OF_TENANT))
            assert other.status_code == 200
        # Both clients have gone.
        assert (await client.get(path)).status_code == 200


@every_export
async def test_an_export_that_has_ended_counts_no_more(memory_app: Duetime, path: str) -> None:
    asgi = admin_of(memory_app)
    async with client_of(asgi) as client, exporting(asgi, path, ADMINISTRATOR):
        async with exporting(asgi, path, ADMINISTRATOR) as second:
            assert second.status == 200
            second.rest.set()
        assert (await client.get(path)).status_code == 200


@pytest.mark.parametrize(("path", "wrong"), [*zip(EXPORTS, ["key", "verb"], strict=True)])
async def test_an_export_that_never_began_does_not_count(
    memory_app: Duetime, path: str, wrong: str
) -> None:
    async with client_of(admin_of(memory_app)) as client:
        for _ in range(3):
            refused = await client.get(path, params={wrong: "\0"})
            assert (refused.status_code, problem(refused)) == (422, "invalid-argument")
        assert (await client.get(path)).status_code == 200
