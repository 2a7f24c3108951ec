"""Errors of servers are raised as where the store is; answers of strangers are named as such."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from duetime import Duetime, State, errors
from duetime.admin.problems import STATUS_OF_ERROR, ProblemDocument, problem_of, status_of
from duetime.errors import ConfigError, DuetimeError, StoreUnavailable
from duetime.model.problem import PROBLEM_MEDIA_TYPE
from duetime.remote.address import to_server_address
from duetime.remote.http import HttpResponse
from duetime.remote.problems import completed, error_of
from remote.conftest import Served
from remote.scenario import Parcel
from remote.serving import PROBLEM, answering, response

ID = UUID("01a1f531-eb32-7338-9500-a5fca3f7febb")
LATER = datetime(2030, 1, 1, tzinfo=UTC)

# An error of each class that a server may answer with, and what its call had asked for.
EXAMPLES: list[tuple[DuetimeError, dict[str, Any]]] = [
    (errors.ActionNotFound(ID), {"action_id": ID}),
    (errors.JobNotFound("shop-daily"), {"name": "shop-daily"}),
    (errors.ApiKeyNotFound(ID), {"key_id": str(ID)}),
    (errors.GrantNotFound(ID), {"grant_id": ID}),
    (errors.SubscriptionNotFound(ID), {"id": str(ID)}),
    (errors.NotAuthenticated("the API key is not valid"), {}),
    (errors.PermissionDenied("jobs.read"), {}),
    (errors.RateLimited(12.0), {}),
    (errors.IllegalState("cancel", ID, State.running, ["scheduled"]), {"action_id": ID}),
    (errors.ActionExpired("retry", ID, State.failed, "2030"), {"action_id": ID}),
    (errors.StaleVersion("shop-daily", 1, 2), {"name": "shop-daily"}),
    (errors.UnreadableJob("shop-daily"), {"name": "shop-daily"}),
    (errors.DuplicateKey("k", "parcel", ID), {}),
    (errors.JobNameTaken("shop-daily"), {"name": "shop-daily"}),
    (errors.LeaseLost(ID), {}),
    (errors.UnknownKind("parcle", ["parcel"]), {}),
    (errors.InvalidArgument("limit", 0, "give more"), {"limit": 0}),
    (errors.InvalidArgument("until", LATER, "give an earlier one"), {"until": LATER}),
    (errors.InvalidRecurrence("recurrence", "61", "no", field="minute"), {"recurrence": "61"}),
]
# Their texts are of the server's side, or their attributes cannot be told.
APART = {errors.NaiveDatetime, errors.InvalidPayload, errors.StoreUnavailable, errors.UnreadableRow}


def over_http(error: DuetimeError, arguments: dict[str, Any]) -> DuetimeError:
    return revived(problem_of(error), arguments)


def revived(problem: ProblemDocument, arguments: dict[str, Any]) -> DuetimeError:
    headers = {name.lower(): value for name, value in problem.headers.items()}
    content = json.dumps(problem.document(), default=str).encode()
    answer = HttpResponse(problem.status, {"content-type": PROBLEM_MEDIA_TYPE, **headers}, content)
    return completed(error_of(to_server_address("https://host"), answer), arguments)


@pytest.mark.parametrize(("error", "arguments"), EXAMPLES, ids=lambda each: type(each).__name__)
def test_an_error_is_the_same_over_http(error: DuetimeError, arguments: dict[str, Any]) -> None:
    found = over_http(error, arguments)
    assert (type(found), str(found), vars(found)) == (type(error), str(error), vars(error))


def test_every_error_that_a_server_answers_with_is_tried() -> None:
    def subclasses(base: type[DuetimeError]) -> set[type[DuetimeError]]:
        return {base}.union(*map(subclasses, base.__subclasses__()))

    ours = {error for error in subclasses(DuetimeError) if error.__module__ == errors.__name__}
    answered = {error for error in ours if status_of(error) != 500}
    assert answered - {type(error) for error, _ in EXAMPLES} == APART
    assert set(STATUS_OF_ERROR) <= ours


def test_errors_whose_text_is_of_the_server() -> None:
    invalid = over_http(errors.InvalidPayload("parcel", "order: many"), {})
    assert isinstance(invalid, errors.InvalidPayload)
    assert (invalid.kind, "order: many" in invalid.reason) == ("parcel", True)
    naive = over_http(errors.NaiveDatetime("at", "2030"), {})
    assert (type(naive), naive.argument) == (errors.NaiveDatetime, "at")  # type: ignore[attr-defined]
    assert type(over_http(errors.StoreUnavailable("db7"), {})) is StoreUnavailable


# -- a real server --------------------------------------------------------------------------------


def test_who_is_not_known_is_not_authenticated(served: Served) -> None:
    for token in (None, "dt_wrong", f"{served.key}x", "no key"[:2]):
        app = Duetime.connect(served.url, token=token)
        with pytest.raises(errors.NotAuthenticated, match="not authenticated"):
            app.sync.find()
        app.sync.close()


def test_too_many_failures_say_when_to_try_again(served: Served) -> None:
    app = Duetime.connect(served.url, token="dt_wrong")
    for _ in range(10):
        with pytest.raises(errors.NotAuthenticated):
            app.sync.find()
    with pytest.raises(errors.RateLimited) as limited:
        app.sync.find()
    app.sync.close()
    assert 0 < limited.value.retry_after <= 60


def test_what_is_not_granted_is_denied_by_name(served: Served) -> None:
    app = served.connect(served.key_of("actions.read"))
    assert app.sync.find().items == []
    for call, permission in (
        (lambda: app.sync.schedule(Parcel()), "actions.schedule"),
        (lambda: app.sync.jobs.list(), "jobs.read"),
        (lambda: app.sync.queues.pause("letters"), "queues.manage"),
        (lambda: app.sync.transitions.pending(), "transitions.read"),
        (lambda: app.sync.find(tenant="acme"), "admin"),
    ):
        with pytest.raises(errors.PermissionDenied) as denied:
            call()
        assert denied.value.permission == permission
    app.sync.close()


def test_a_kind_that_the_server_does_not_know(served: Served) -> None:
    app = served.connect()
    app.payload(Other, kind="parcle")
    with pytest.raises(errors.UnknownKind, match="did you mean 'parcel'") as unknown:
        app.sync.schedule(Other())
    assert unknown.value.kind == "parcle"
    app.sync.close()


class Other(Parcel):
    """A payload that only the client knows."""


# -- strangers ------------------------------------------------------------------------------------

JSON, HTML = "application/json", "text/html"
TOO_LARGE = response(413, '{"type": "urn:duetime:body-too-large"}', kind=PROBLEM)
STRANGERS: list[tuple[bytes, type[DuetimeError], str]] = [
    (response(200, "<html>", kind=HTML), ConfigError, "no answer of duetime's API"),
    (response(200, ""), ConfigError, "no answer of duetime's API"),
    (response(200, "{"), ConfigError, "no answer of duetime's API"),
    (response(200, "[" * 100_000), ConfigError, "no answer of duetime's API"),
    (response(200, '{"items": [], "next": null}'), ConfigError, "next_cursor"),
    (response(200, '{"items": [{}], "next_cursor": null}'), ConfigError, "Action has no id"),
    (response(200, '{"items": [7], "next_cursor": null}'), ConfigError, "Action is no object"),
    (response(404, "<html>", kind=HTML), ConfigError, "answered 404 as text/html"),
    (response(404, '{"type": "urn:duetime:not-found"}', kind=PROBLEM), ConfigError, "version"),
    (response(418, '{"type": "urn:duetime:teapot"}', kind=PROBLEM), ConfigError, "answered 418"),
    (response(403, "[]", kind=PROBLEM), ConfigError, "answered 403"),
    (response(401, "<html>", kind=HTML), errors.NotAuthenticated, "not as an API of duetime"),
    (response(500, "<html>", kind=HTML), StoreUnavailable, "answered 500"),
    (TOO_LARGE, errors.InvalidArgument, "send less at once"),
    (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", StoreUnavailable, "did not answer"),
]


@pytest.mark.parametrize(("answer", "error", "text"), STRANGERS)
def test_answers_of_strangers_are_named(
    answer: bytes, error: type[DuetimeError], text: str
) -> None:
    with answering(lambda _: answer) as stub:
        app = Duetime.connect(stub.url, timeout=0.5)
        with pytest.raises(DuetimeError, match=text) as raised:
            app.sync.find()
        app.sync.close()
    assert type(raised.value) is error


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("verb", ["find", "cancel"])
def test_redirects_are_not_followed(status: int, verb: str) -> None:
    with answering(lambda _: response(200, "{}")) as elsewhere:
        location = f"Location: {elsewhere.url}/api/actions"
        with answering(lambda _: response(status, headers=[location])) as stub:
            app = Duetime.connect(stub.url, token="dt_secret")
            with pytest.raises(ConfigError, match=r"redirects to .*, which is not followed"):
                app.sync.find() if verb == "find" else app.sync.cancel(ID)
            app.sync.close()
    assert elsewhere.requests == []
