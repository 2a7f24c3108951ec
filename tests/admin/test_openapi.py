"""The OpenAPI document: committed, never broken, and what the API really answers."""

import json
import subprocess
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from admin.breaking import breaking_changes
from admin.cases import DECLARED
from admin.client import ADMINISTRATOR, NOBODY, Parcel, admin_of, client_of, make_app, sent_by
from admin.permission_table import NEEDS
from duetime import Duetime
from duetime.admin.declarations import PUBLIC, declaration_of
from duetime.admin.router import all_endpoints
from duetime.model.access.permissions import PERMISSIONS

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "docs" / "reference" / "openapi.json"

Document = dict[str, Any]


async def current() -> Document:
    async with client_of(admin_of(make_app())) as client:
        document: Document = (await client.get("/api/openapi.json")).json()
    return document


def written(document: Document) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


async def test_the_committed_document_is_the_current_one() -> None:
    """`python -m admin.test_openapi`, run in the folder `tests`, writes it anew."""
    assert COMMITTED.read_text("utf-8") == written(await current())


# Of the last commit, and of the one before: once a change is committed, it is the last one itself.
@pytest.mark.parametrize("commit", ["HEAD", "HEAD~1"])
async def test_nothing_that_clients_rely_on_is_broken(commit: str) -> None:
    assert breaking_changes(document_of(commit), await current()) == []


def document_of(commit: str) -> Document:
    name = COMMITTED.relative_to(ROOT).as_posix()
    command = ["git", "-c", "safe.directory=*", "show", f"{commit}:{name}"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True)
    if shown.returncode:
        pytest.skip(f"no commit {commit} holds the document")
    document: Document = json.loads(shown.stdout)
    return document


def operation(document: Document, method: str, path: str) -> Document:
    found: Document = document["paths"][path][method]
    return found


def without_route(document: Document) -> None:
    del document["paths"]["/api/actions"]["get"]


def without_field(document: Document) -> None:
    del document["components"]["schemas"]["Action"]["properties"]["due_at"]


def without_parameter(document: Document) -> None:
    parameters = operation(document, "get", "/api/actions")["parameters"]
    parameters[:] = [item for item in parameters if item["name"] != "kind"]


def with_needed_parameter(document: Document) -> None:
    for item in operation(document, "get", "/api/actions")["parameters"]:
        item["required"] = True


def with_needed_field(document: Document) -> None:
    document["components"]["schemas"]["ScheduleBody"]["required"].append("queue")


def with_fewer_values(document: Document) -> None:
    document["components"]["schemas"]["ScheduleBody"]["properties"]["priority"]["enum"] = ["low"]


def without_status(document: Document) -> None:
    del operation(document, "post", "/api/actions")["responses"]["201"]


BREAKS = [
    *(without_route, without_field, without_parameter, with_needed_parameter, with_needed_field),
    *(with_fewer_values, without_status),
]


@pytest.mark.parametrize("break_it", BREAKS, ids=lambda change: change.__name__)
async def test_a_breaking_change_is_found(break_it: Any) -> None:
    old = await current()
    new = deepcopy(old)
    break_it(new)
    assert breaking_changes(old, new)
    assert breaking_changes(old, old) == []


async def test_every_route_is_documented_with_its_permission() -> None:
    document = await current()
    documented = {
        (method.upper(), path): operation
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    declared = {
        (route.method, route.path.replace(":path", "")): route
        for route in map(declaration_of, all_endpoints())
    }
    assert documented.keys() - declared.keys() == {("GET", "/api/openapi.json")}
    for place, route in declared.items():
        found = documented[place]
        assert found["x-permission"] == route.needs
        assert bool(found.get("security")) == (route.needs != PUBLIC)
        assert found["description"], place
        assert {"500", "503"} <= found["responses"].keys()
        if route.creates:
            assert "Idempotency-Key" in {item["name"] for item in found["parameters"]}


async def test_examples_fit_their_schemas() -> None:
    document = await current()
    checked = 0
    for _, _, body in contents(document):
        if "example" in body:
            validator(document, body["schema"]).validate(body["example"])
            checked += 1
    assert checked >= 5


def contents(document: Document) -> Iterator[tuple[str, str, Document]]:
    for path, operations in document["paths"].items():
        for method, each in operations.items():
            for body in each.get("requestBody", {}).get("content", {}).values():
                yield method, path, body


def validator(document: Document, schema: Document) -> Draft202012Validator:
    whole = {**schema, "components": document["components"]}
    return Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)


async def test_answers_are_as_documented(client: httpx.AsyncClient, app: Duetime) -> None:
    """Of every route that reads, and of what changes a row that is there, to those who may do
    everything, who see no data, and who may do nothing."""
    document = await current()
    await app.schedule(Parcel(), delay=60)
    action = await app.schedule(Parcel(), delay=60)
    await app.jobs.put("shop-daily", "0 6 * * *", payload=Parcel())
    await app.jobs.trigger("shop-daily")
    await app.cancel(action.id)
    async with app.worker():
        for path, operations in document["paths"].items():
            if "get" not in operations:
                continue
            found = path.replace("{id}", str(action.id)).replace("{name}", "shop-daily")
            for sender in (ADMINISTRATOR, NOBODY):
                response = await client.get(found, headers=sent_by(sender))
                check(document, operations["get"], response)


def check(document: Document, operation: Document, response: httpx.Response) -> None:
    described = operation["responses"][str(response.status_code)]
    content = described.get("content", {})
    if not response.content:
        return
    media_type = response.headers["content-type"].partition(";")[0]
    assert media_type in content, (response.url, media_type)
    if media_type.endswith("json"):
        validator(document, content[media_type]["schema"]).validate(response.json())


def test_each_route_needs_what_the_specification_says() -> None:
    declared = {(*place, route.needs) for place, route in DECLARED.items()}
    assert declared == {(*place, needs) for place, needs in NEEDS.items()}
    assert {*NEEDS.values()} - {PUBLIC, "any identity"} <= PERMISSIONS.keys()


if __name__ == "__main__":
    import asyncio

    COMMITTED.write_text(written(asyncio.run(current())), "utf-8")
