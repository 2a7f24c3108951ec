"""Problem documents, for every error of duetime."""

from uuid import uuid4

import httpx
import pytest

from admin.client import Parcel, admin_of, client_of, make_app, problem
from duetime import Duetime, errors
from duetime.admin.problems import STATUS_OF_ERROR, problem_of, status_of
from duetime.errors import DuetimeError
from duetime.model.problem import problem_name
from duetime.store.memory.store import MemoryStore

# Errors that no route of the API raises: a fault of the server if they come.
SERVER_FAULTS = {
    *(errors.ConfigError, errors.WorkerInterrupted, errors.SweepFailed, errors.WaitTimeout),
}


def all_errors(base: type[DuetimeError]) -> set[type[DuetimeError]]:
    return {base}.union(*(all_errors(each) for each in base.__subclasses__()))


def test_every_error_has_its_status() -> None:
    ours = {error for error in all_errors(DuetimeError) if error.__module__ == errors.__name__}
    faults = {error for error in ours if status_of(error) == 500}
    assert faults == SERVER_FAULTS | {DuetimeError}
    assert set(STATUS_OF_ERROR) <= ours


@pytest.mark.parametrize(
    ("error", "name"),
    [(errors.ActionNotFound, "action-not-found"), (errors.DuplicateKey, "duplicate-key")],
)
def test_the_type_is_the_errors_name(error: type[DuetimeError], name: str) -> None:
    assert problem_name(error) == name


def test_a_state_is_named() -> None:
    illegal = errors.IllegalState("cancel", uuid4(), "running", ["scheduled"])
    document = problem_of(illegal).document()
    assert document["type"] == "urn:duetime:illegal-state"
    assert (document["status"], document["state"]) == (409, "running")


def test_a_limit_says_when_to_try_again() -> None:
    found = problem_of(errors.RateLimited(12.2))
    assert (found.status, found.headers) == (429, {"Retry-After": "13"})


class BrokenStore(MemoryStore):
    """A store that raises."""

    error: Exception = errors.StoreUnavailable("server db17.internal refused the password")

    async def perform(self, flow: object) -> object:  # type: ignore[override]
        raise self.error


async def broken(error: Exception) -> httpx.Response:
    app = make_app()
    store = BrokenStore()
    store.error = error
    with app.testing.override(store=store):
        async with client_of(admin_of(app)) as client:
            return await client.get("/api/actions")


async def test_a_store_that_is_away_is_tried_again() -> None:
    response = await broken(errors.StoreUnavailable("server db17.internal refused the password"))
    assert (response.status_code, problem(response)) == (503, "store-unavailable")
    assert response.headers["retry-after"] == "5"
    assert "db17" not in response.text


@pytest.mark.parametrize("error", [RuntimeError("secret"), errors.ConfigError("secret")])
async def test_a_fault_shows_nothing_from_inside(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    response = await broken(error)
    assert (response.status_code, problem(response)) == (500, "internal-error")
    assert "secret" not in response.text
    assert "secret" in caplog.text


async def test_payload_errors_point_into_the_body(memory_client: httpx.AsyncClient) -> None:
    body = {"kind": "parcel", "payload": {"order": "x", "text": 1}}
    response = await memory_client.post("/api/actions", json=body)
    assert (response.status_code, problem(response)) == (422, "invalid-payload")
    pointers = [error["pointer"] for error in response.json()["errors"]]
    assert pointers == ["#/payload/order", "#/payload/text"]


async def test_unknown_fields_are_named(memory_client: httpx.AsyncClient) -> None:
    body = {"kind": "parcel", "payload": {}, "when": 1, "a/b~c": 2}
    response = await memory_client.post("/api/actions", json=body)
    assert (response.status_code, problem(response)) == (422, "invalid-argument")
    assert [error["pointer"] for error in response.json()["errors"]] == ["#/when", "#/a~1b~0c"]
    response = await memory_client.get("/api/actions", params={"colour": "red"})
    assert response.status_code == 422
    assert response.json()["errors"][0]["parameter"] == "colour"


async def test_a_key_that_is_held_names_the_conflict(
    memory_app: Duetime, memory_client: httpx.AsyncClient
) -> None:
    await memory_app.schedule(Parcel(), key="k", delay=60)
    body = {"kind": "parcel", "payload": {}, "key": "k", "if_exists": "raise"}
    response = await memory_client.post("/api/actions", json=body)
    assert (response.status_code, problem(response)) == (409, "duplicate-key")
