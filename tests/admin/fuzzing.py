"""Requests that Schemathesis makes up from the OpenAPI document, and what is wrong with the
answers."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import schemathesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule
from schemathesis.engine import events, from_schema
from schemathesis.generation.stateful.state_machine import StepInput
from starlette.requests import Request

from admin.client import ADMINISTRATOR, Parcel, make_app
from duetime import Identity
from duetime.testing import FakeClock

HEADERS = {"Authorization": "Bearer let-me-in"}
JOBS = ("shop-daily", "shop-report", "shop-removed")
PHASES = ("examples", "coverage", "fuzzing", "stateful")
Document = dict[str, Any]

# Checks that the API breaks on purpose: that a kind is known, or that two fields exclude each
# other, no schema says; and what was cancelled or removed can still be read.
NOT_PROMISED = ("positive_data_acceptance", "use_after_free", "ensure_resource_availability")
# What may be answered to a request that breaks the schema.
REFUSALS = [401, 403, 404, 405, 409, 412, 413, 415, 422, 428]

# Values that mean something. What is made up from the types alone is nearly always refused, so that
# no request would ever find what another has made.
KIND = {"enum": ["parcel"], "type": "string"}
PAYLOAD = {
    "type": "object",
    "properties": {"order": {"type": "integer"}, "text": {"type": "string"}},
}
RULE = {"enum": ["*/5 * * * *", "30 2 * * *", {"every": 90}]}
ZONE = {"enum": ["UTC", "Europe/Paris", None]}
TOPICS = {"type": "array", "items": {"enum": ["*", "job-failing", "overdue"]}, "minItems": 1}
CLOCK = {"enum": ["UTC", "Europe/Paris"], "type": "string"}
BODIES: dict[str, Document] = {
    "ScheduleBody": {"kind": KIND, "payload": PAYLOAD},
    "NewActionBody": {"kind": KIND, "payload": PAYLOAD},
    "RepeatBody": {"payload": PAYLOAD},
    "JobBody": {"kind": KIND, "payload": PAYLOAD, "recurrence": RULE, "tz": ZONE},
    "PreviewBody": {"recurrence": RULE, "tz": ZONE},
    "NewSubscriptionBody": {"topics": TOPICS, "in_app": {"const": True}, "zone": CLOCK},
    "SubscriptionChangeBody": {"topics": TOPICS, "zone": CLOCK},
}
PARAMETERS: dict[str, Document] = {
    "name": {"enum": [*JOBS, "shop-new"], "type": "string"},
    "if-match": {"enum": ["*", '"1"'], "type": "string"},
}
# Without them, most actions would wait for a parent that never was, and requests for actions that
# nothing runs.
LEFT_OUT = ("after", "on", "expires", "starts_at", "ends_at", "misfire", "timeout", "wait")


class Fuzzed:
    """An app whose API is sent made-up requests, as an administrator."""

    def __init__(self, url: str) -> None:
        self.app = make_app(url, clock=FakeClock())
        self._asgi: Any = self.app.admin(identify=identify, admin_roles=ADMINISTRATOR.roles)
        self._wipe = Path(urlsplit(url).path).name or None

    def close(self) -> None:
        self.app.sync.close()

    def fill(self) -> None:
        """Begin anew with what requests can find: actions in several states, jobs, a grant, a
        key, a subscription and a notification."""
        sync = self.app.sync
        sync.testing.reset(wipe=self._wipe)
        for number in range(3):
            sync.schedule(Parcel(number), delay=60 * number)
        sync.cancel(sync.schedule(Parcel(), delay=60).id)
        sync.testing.drain()
        for name in JOBS:
            sync.jobs.put(name, "30 2 * * *", payload=Parcel())
        sync.jobs.remove(JOBS[-1])
        sync.grants.set("support", "actions.read")
        sync.api_keys.create("till", ["support"])
        sync.notifications.test(sync.notifications.add("*", in_app=True).id)

    def follow_links(self, scenarios: int, *, derandomize: bool, seed: int = 0) -> set[str]:
        """Send requests that use what earlier answers brought, from a filled store in each
        scenario. Raises what is wrong with an answer. Returns the operations that were called."""
        machine = state_machine(self, self._schema())
        if not derandomize:
            machine._hypothesis_internal_use_seed = seed
        machine.run(
            settings=settings(
                max_examples=scenarios,
                stateful_step_count=20,
                derandomize=derandomize,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
        )
        called: set[str] = machine.called
        return called

    def wrong_answers(self, phase: str, *, seed: int = 0, examples: int = 1) -> Iterator[str]:
        """Send requests to one operation after the other: in the phase `coverage` those at and
        beyond the limits of each value, in `fuzzing` random ones."""
        self.fill()
        for event in from_schema(self._schema(phase, seed, examples)).execute():
            if isinstance(event, events.ScenarioFinished):
                yield from _failures(event)
            elif isinstance(event, events.NonFatalError):
                yield f"{event.label}: {event.value}"
            elif isinstance(event, events.FatalError):
                raise event.exception

    def _schema(self, phase: str = "stateful", seed: int = 0, examples: int = 1) -> Any:
        place = "/api/openapi.json"
        document = schemathesis.openapi.from_asgi(place, self._asgi, headers=HEADERS).raw_schema
        configuration = schemathesis.Config.from_dict(
            {
                "seed": seed,
                "headers": HEADERS,
                "continue-on-failure": True,
                "generation": {"max-examples": examples},
                "phases": {name: {"enabled": name == phase} for name in PHASES},
                "checks": {
                    # In random requests, numbers in queries pass for a violation: they are texts.
                    "negative_data_rejection": {
                        "enabled": phase == "coverage",
                        "expected-statuses": REFUSALS,
                    },
                    # The machine adds its credential to each request, also to those of this check.
                    "ignored_auth": {"enabled": phase != "stateful"},
                    **{name: {"enabled": False} for name in NOT_PROMISED},
                },
            }
        )
        schema = schemathesis.openapi.from_dict(narrowed(document), config=configuration)
        schema.app = self._asgi
        return schema


def state_machine(fuzzed: Fuzzed, schema: Any) -> Any:
    """Return a machine whose steps are the links that Schemathesis finds in the document, and
    requests to any operation."""
    operations = sorted(
        (found.ok() for found in schema.get_all_operations()),
        key=lambda operation: operation.label,
        # Hypothesis prefers what comes first, and what has a body is more worth a try.
        reverse=True,
    )
    Linked: Any = schema.as_state_machine()

    class Machine(Linked):  # type: ignore[misc]
        called: set[str] = set()

        def setup(self) -> None:
            fuzzed.fill()

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"headers": HEADERS}

        def after_call(self, response: Any, case: Any) -> None:
            self.called.add(case.operation.label)

        @rule(case=st.one_of([operation.as_strategy() for operation in operations]))
        def any_operation(self, case: Any) -> None:
            self._step(StepInput.initial(case))

    return Machine


def identify(request: Request) -> Identity | None:
    given = request.headers.get("authorization")
    return ADMINISTRATOR if given == HEADERS["Authorization"] else None


def narrowed(document: Document) -> Document:
    """Return the document with fewer values in some parameters and fields of bodies."""
    document = json.loads(json.dumps(document))
    for name, values in BODIES.items():
        properties = document["components"]["schemas"][name]["properties"]
        properties.update(values)
        for left_out in LEFT_OUT:
            properties.pop(left_out, None)
    for path, operations in document["paths"].items():
        for operation in operations.values() if not path.startswith("/api/queues") else ():
            given = operation.get("parameters", [])
            names = {item["name"].lower() for item in given}
            # A request that repeats a key gets the first answer, whatever version it names.
            both = {"Idempotency-Key"} if {"idempotency-key", "if-match"} <= names else set()
            given[:] = [item for item in given if item["name"] not in {*LEFT_OUT, *both}]
            for item in given:
                item["schema"] = PARAMETERS.get(item["name"], item["schema"])
    return document


def _failures(event: events.ScenarioFinished) -> Iterator[str]:
    for checks in event.recorder.checks.values():
        for check in checks:
            if check.failure_info is not None:
                info = check.failure_info
                yield f"{check.name}: {info.failure}\n{info.code_sample}"


def operations_of(document: Document) -> Sequence[str]:
    return [
        f"{method.upper()} {path}"
        for path, operations in document["paths"].items()
        for method in operations
    ]
