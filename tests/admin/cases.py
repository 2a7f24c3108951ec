"""A valid request to every route of the API, about what stands in the store for a tenant."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx

from admin.client import Parcel
from duetime import Duetime, Fail
from duetime.admin.declarations import RouteDeclaration, declaration_of
from duetime.admin.router import all_endpoints

DECLARED: dict[tuple[str, str], RouteDeclaration] = {
    (route.method, route.path): route for route in map(declaration_of, all_endpoints())
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subjects:
    """What requests name: an action in each state, jobs, a grant, a key, a subscription and a
    notification. Those of a tenant; or as here, names of what never was."""

    scheduled: str = field(default_factory=lambda: str(uuid4()))
    cancelled: str = field(default_factory=lambda: str(uuid4()))
    failed: str = field(default_factory=lambda: str(uuid4()))
    # A run of the failed action, and an occurrence of the job.
    run: str = field(default_factory=lambda: str(uuid4()))
    occurrence: str = field(default_factory=lambda: str(uuid4()))
    job: str = field(default_factory=lambda: f"shop-{uuid4().hex[:8]}")
    removed: str = field(default_factory=lambda: f"shop-{uuid4().hex[:8]}")
    grant: str = field(default_factory=lambda: str(uuid4()))
    api_key: str = field(default_factory=lambda: str(uuid4()))
    subscription: str = field(default_factory=lambda: str(uuid4()))
    notification: str = field(default_factory=lambda: str(uuid4()))

    def put_into(self, text: str) -> str:
        """Return the text with the name of a subject in place of each `<scheduled>` and so on."""
        return re.sub(r"<(\w+)>", lambda found: str(getattr(self, found[1])), text)

    def all(self) -> list[str]:
        return [getattr(self, name) for name in self.__slots__]


class Broken(Parcel):
    """Of a kind whose handler fails."""


def declare_broken(app: Duetime) -> None:
    @app.handler(kind="broken")
    async def fail(parcel: Broken) -> Fail:
        return Fail("no bridge")


class Stock:
    """The subjects of a tenant for one request after the other: new ones after one that may have
    changed them."""

    def __init__(self, app: Duetime, tenant: str | None) -> None:
        self._app = app
        self._tenant = tenant
        self._unchanged: Subjects | None = None

    async def subjects(self, case: "Case") -> Subjects:
        if not case.named:
            return Subjects()
        subjects = self._unchanged or await make_subjects(self._app, self._tenant)
        self._unchanged = subjects if case.method == "GET" else None
        return subjects


async def make_subjects(app: Duetime, tenant: str | None) -> Subjects:
    """Store one of each. `declare_broken` was called for the app."""
    names = Subjects()
    failed = await app.schedule(Broken(), tenant=tenant)
    await app.testing.drain()
    scheduled = await app.schedule(Parcel(), delay=3600, tenant=tenant)
    cancelled = await app.schedule(Parcel(), delay=3600, tenant=tenant)
    await app.cancel(cancelled.id, tenant=tenant)
    for name in (names.job, names.removed):
        await app.jobs.put(name, "30 2 * * *", payload=Parcel(), tenant=tenant)
    await app.jobs.remove(names.removed, tenant=tenant)
    [run] = await app.runs(failed.id, tenant=tenant)
    subscription = await app.notifications.add("job-failing", in_app=True, tenant=tenant)
    notification = await app.notifications.test(subscription.id, tenant=tenant)
    return Subjects(
        scheduled=str(scheduled.id),
        cancelled=str(cancelled.id),
        failed=str(failed.id),
        run=str(run.id),
        occurrence=str((await app.jobs.trigger(names.job, tenant=tenant)).id),
        job=names.job,
        removed=names.removed,
        grant=str((await app.grants.set(f"role-{uuid4()}", "actions.read", tenant)).id),
        api_key=str((await app.api_keys.create("till", ["support"], tenant)).id),
        subscription=str(subscription.id),
        notification=str(notification.id),
    )


@dataclass(frozen=True, slots=True)
class Case:
    """A request, answered with `status`; and with `absent` if the caller does not see what it
    names."""

    method: str
    url: str
    status: int = 200
    absent: int = 404
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    # Beside the permission of the route.
    also_needs: tuple[str, ...] = ()

    def __str__(self) -> str:
        body = "" if self.body is None else f" {json.dumps(self.body)}"
        return f"{self.method} {self.url.removeprefix('/api')}{body}"

    @property
    def path(self) -> str:
        """The template of the route."""
        path = self.url.partition("?")[0]
        if path.startswith("/api/queues/"):
            return path.replace("<job>", "{name:path}")
        return re.sub(r"<\w+>", "{id}", re.sub("<job>|<removed>", "{name}", path))

    @property
    def route(self) -> RouteDeclaration:
        return DECLARED[self.method, self.path]

    @property
    def makes_child(self) -> bool:
        return self.method == "POST" and "after" in json.dumps(self.body)

    @property
    def named(self) -> set[str]:
        """Which subjects the request names."""
        return {*re.findall(r"<(\w+)>", f"{self.url} {json.dumps(self.body)}")}

    async def send(
        self, client: httpx.AsyncClient, subjects: Subjects, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        body = None if self.body is None else json.loads(subjects.put_into(json.dumps(self.body)))
        url = subjects.put_into(self.url)
        return await client.request(
            self.method, url, json=body, headers=self.headers | (headers or {})
        )


def parcel(**given: Any) -> dict[str, Any]:
    return {"kind": "parcel", "payload": {}} | given


def _service() -> Iterator[Case]:
    for path in ("health", "ready", "me", "stats", "kinds", "queues", "workers", "transitions"):
        yield Case("GET", f"/api/{path}")
    yield Case("GET", "/api/series?metric=executed&by=kind")
    yield Case("GET", "/api/timeline?start=2029-12-01T00:00:00Z&end=2030-12-01T00:00:00Z")
    yield Case("GET", "/metrics")
    yield Case("GET", "/api/transitions/pending")
    yield Case("GET", "/api/transitions/parked")
    yield Case("POST", "/api/transitions/sweep", 202)
    yield Case("POST", "/api/transitions/parked/retry", 202, body={})
    yield Case("POST", "/api/queues/<job>/pause", 204)
    yield Case("POST", "/api/queues/<job>/resume", 204)
    yield Case("POST", "/api/recurrences/preview", body={"recurrence": "0 6 * * *"})
    yield Case("GET", "/api/series?metric=executed")
    yield Case("GET", "/api/timeline?start=2030-01-01T00:00:00Z&end=2030-01-02T00:00:00Z")
    for path in ("audit", "audit/export"):
        for subject in ("<scheduled>", "<job>"):
            yield Case("GET", f"/api/{path}?subject={subject}", absent=200)


def _actions() -> Iterator[Case]:
    for path in ("", "/groups", "/export"):
        for asked in ("after=<scheduled>", "q=<scheduled>", "job=<job>"):
            yield Case("GET", f"/api/actions{path}?{asked}", absent=200)
    for path in ("", "/runs", "/runs?before=<run>", "/why"):
        yield Case("GET", f"/api/actions/<failed>{path}")
    yield Case("DELETE", "/api/actions/<scheduled>?note=x", 204)
    yield Case("PUT", "/api/actions/<scheduled>/reschedule", body={"delay": 60})
    yield Case("POST", "/api/actions/<failed>/retry", 202)
    yield Case("POST", "/api/actions/<cancelled>/repeat", 201)
    yield Case("POST", "/api/actions", 201, body=parcel(delay=60))
    child = parcel(after="<scheduled>")
    yield Case("POST", "/api/actions", 201, body=child)
    yield Case("POST", "/api/actions/many", 201, body={"actions": [parcel(), child]})


BULKS: list[tuple[str, str, dict[str, Any]]] = [
    ("actions.cancel", "<scheduled>", {"verb": "cancel"}),
    ("actions.retry", "<failed>", {"verb": "retry"}),
    ("actions.reschedule", "<scheduled>", {"verb": "reschedule", "at": "2131-01-01T00:00:00Z"}),
    ("actions.reschedule", "<scheduled>", {"verb": "shift", "seconds": 60}),
]


def _bulks() -> Iterator[Case]:
    for needs, subject, body in BULKS:
        for chosen in ({"ids": [subject]}, {"filter": {"q": subject}}):
            for dry_run in (True, False):
                whole = body | chosen | {"dry_run": dry_run}
                yield Case("POST", "/api/actions/bulk", absent=200, body=whole, also_needs=(needs,))


def _jobs() -> Iterator[Case]:
    job = parcel(recurrence="30 2 * * *", tz="UTC")
    span = {"start": "2029-12-01T00:00:00Z", "end": "2029-12-02T00:00:00Z"}
    for query in ("q=<job>", "removed=true&q=<removed>"):
        yield Case("GET", f"/api/jobs?{query}", absent=200)
    for path in ("", "/runs", "/runs?before=<occurrence>", "/preview"):
        yield Case("GET", f"/api/jobs/<job>{path}")
    high = job | {"priority": "high"}
    yield Case("PUT", "/api/jobs/<job>", 200, 412, high, {"if-match": "*"})
    yield Case("DELETE", "/api/jobs/<job>", 204)
    yield Case("POST", "/api/jobs/<removed>/restore", 204)
    for verb, status in (("pause", 204), ("resume", 204), ("trigger", 202)):
        yield Case("POST", f"/api/jobs/<job>/{verb}", status)
    unchanged = {"if-match": "*"}
    yield Case("POST", "/api/jobs/<job>/pause", 204, headers=unchanged)
    yield Case("DELETE", "/api/jobs/<job>", 204, headers=unchanged)
    yield Case("POST", "/api/jobs/<job>/backfill", 200, body=span)
    yield Case("POST", "/api/jobs/<job>/backfill", 202, body=span | {"dry_run": False})
    for verb in ("pause", "resume"):
        body = {"verb": verb, "names": ["<job>"]}
        yield Case("POST", "/api/jobs/bulk", absent=200, body=body)


def _access() -> Iterator[Case]:
    yield Case("GET", "/api/grants")
    yield Case("POST", "/api/grants", 201, body={"role": "x", "permission": "admin"})
    # Nobody takes what they do not have themselves.
    yield Case("DELETE", "/api/grants/<grant>", 204, also_needs=("actions.read",))
    yield Case("GET", "/api/api-keys")
    yield Case("POST", "/api/api-keys", 201, body={"name": "x", "roles": ["x"]})
    yield Case("DELETE", "/api/api-keys/<api_key>", 204)


def _notifications() -> Iterator[Case]:
    yield Case("GET", "/api/subscriptions")
    yield Case("POST", "/api/subscriptions", 201, body=SUBSCRIPTION)
    path = "/api/subscriptions/<subscription>"
    yield Case("GET", path)
    yield Case("PATCH", path, body={"topics": ["*"], "minimum": "critical", "kinds": ["parcel"]})
    yield Case("DELETE", path, 204)
    yield Case("POST", f"{path}/mute", 204, body={"until": "2131-01-01T00:00:00Z"})
    yield Case("POST", f"{path}/test", 202)
    yield Case("GET", "/api/notifications")
    yield Case("GET", "/api/notifications?unread=true")
    yield Case("GET", "/api/notifications/unread")
    chosen = {"ids": ["<notification>"]}
    yield Case("POST", "/api/notifications/read", 204, absent=204, body=chosen)


SUBSCRIPTION = {
    "topics": ["job-failing", "action-failed"],
    "in_app": True,
    "jobs": ["shop-*"],
    "zone": "Europe/Paris",
    "quiet": "22:00-07:00",
}
CASES = [*_service(), *_actions(), *_bulks(), *_jobs(), *_access(), *_notifications()]
