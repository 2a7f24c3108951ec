"""Pages of other origins that call the API from a browser: refused unless their origin is named."""

import httpx
import pytest

from admin.client import ADMINISTRATOR, USER, admin_of, client_of, make_app, problem
from duetime import Duetime

OPS, EVIL = "https://ops.example", "https://evil.example"


def preflight(origin: str, method: str = "PUT", headers: str = "authorization") -> dict[str, str]:
    return {
        "origin": origin,
        "access-control-request-method": method,
        "access-control-request-headers": headers,
    }


def allowed(response: httpx.Response) -> list[str]:
    return [name for name in response.headers if name.startswith("access-control-")]


async def test_it_is_closed_unless_an_origin_is_named(memory_app: Duetime) -> None:
    async with client_of(admin_of(memory_app), sender=None) as client:
        asked = await client.options("/api/jobs/shop-daily", headers=preflight(OPS))
        assert (asked.status_code, problem(asked)) == (401, "not-authenticated")
        assert allowed(asked) == []
        read = await client.get("/api/me", headers={"origin": OPS, USER: ADMINISTRATOR.user})
        assert (read.status_code, allowed(read)) == (200, [])


@pytest.fixture
def named() -> Duetime:
    return make_app(cors_origins=f"{OPS}, http://localhost:3000")


@pytest.mark.parametrize("origin", [OPS, "http://localhost:3000"])
async def test_a_named_origin_may_call(named: Duetime, origin: str) -> None:
    async with client_of(admin_of(named), sender=None) as client:
        wanted = "authorization,content-type,idempotency-key,if-match"
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            asked = await client.options(
                "/api/jobs/shop-daily", headers=preflight(origin, method, wanted)
            )
            assert asked.status_code == 200, asked.text
            assert asked.headers["access-control-allow-origin"] == origin
            assert "access-control-allow-credentials" not in asked.headers
        read = await client.get("/api/me", headers={"origin": origin, USER: ADMINISTRATOR.user})
        assert read.headers["access-control-allow-origin"] == origin
        assert "ETag" in read.headers["access-control-expose-headers"]
        assert read.headers["vary"] == "Origin"
        refused = await client.get("/api/me", headers={"origin": origin})
        assert (refused.status_code, problem(refused)) == (401, "not-authenticated")


@pytest.mark.parametrize(
    "headers",
    [
        preflight(EVIL),
        preflight("null"),
        preflight("https://ops.example.evil.example"),
        preflight("http://ops.example"),
        preflight(f"{OPS}:8443"),
        preflight(OPS, "PROPFIND"),
        preflight(OPS, headers="x-other"),
    ],
)
async def test_others_may_not(named: Duetime, headers: dict[str, str]) -> None:
    async with client_of(admin_of(named), sender=None) as client:
        asked = await client.options("/api/jobs/shop-daily", headers=headers)
        assert asked.status_code == 400
        if headers["origin"] != OPS:
            assert "access-control-allow-origin" not in asked.headers


async def test_a_named_origin_does_not_use_cookies(named: Duetime) -> None:
    """The host's session would come along with them, whatever page sent the request."""
    async with client_of(admin_of(named)) as client:
        headers = {"origin": OPS, "cookie": "session=1", "sec-fetch-site": "cross-site"}
        response = await client.post("/api/actions", json={}, headers=headers)
        assert (response.status_code, problem(response)) == (403, "cross-site-request")
        assert "access-control-allow-credentials" not in response.headers
