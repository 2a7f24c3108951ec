"""Calls give one result, or one error, where the store is and over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from duetime import Duetime
from duetime.errors import DuetimeError
from duetime.remote.verbs import CARRIED_VERBS
from duetime.testing import FakeClock
from remote.conftest import Served
from remote.scenario import Call, Plain, make_app, raised, scenario


def find(app: Any, name: str) -> Callable[..., Any]:
    for part in name.split("."):
        app = getattr(app, part)
    return app  # type: ignore[no-any-return]


def call_blocking(app: Duetime, each: Call) -> Any:
    return find(app.sync, each.verb)(*each.args, **each.kwargs or {})


def call_async(app: Duetime, each: Call) -> Any:
    return RUNNER.run(find(app, each.verb)(*each.args, **each.kwargs or {}))


RUNNER = asyncio.Runner()


@pytest.fixture(scope="module", autouse=True)
def one_loop() -> Iterator[None]:
    yield
    RUNNER.close()


def play(
    app: Duetime, server: Duetime, make: Callable[[Duetime, Call], Any], plain: Plain
) -> list[tuple[str, Any]]:
    """Make each call of the scenario, and return what it gave."""
    calls = scenario(server.clock.now())
    result: Any = None
    played: list[tuple[str, Any]] = []
    while True:
        try:
            each = calls.send(result)
        except StopIteration:
            return played
        try:
            drain = each.verb == "drain"
            result = server.sync.testing.drain() if drain else make(app, each)
        except DuetimeError as error:
            result = raised(error)
        played.append((f"{each.verb} {each.args}", plain.of(result)))


@pytest.fixture
def local(clock: FakeClock) -> Any:
    app = make_app(clock)
    yield app
    app.sync.close()


@pytest.mark.parametrize("make", [call_blocking, call_async])
def test_verbs_do_the_same_over_http(
    local: Duetime, served: Served, remote: Duetime, make: Callable[[Duetime, Call], Any]
) -> None:
    own = local.sync.api_keys.create("root", ["root"], None)
    with local.acting(by=f"key:{own.id}"):
        here = play(local, local, make, Plain(own.id))
    there = play(remote, served.app, make, Plain(served.key_id))
    for expected, found in zip(here, there, strict=True):
        assert found[1] == expected[1], expected[0]


def test_every_carried_verb_is_compared(clock: FakeClock) -> None:
    app = make_app(clock)
    calls, called, result = scenario(clock.now()), set(), None
    with suppress(StopIteration):
        while True:
            each = calls.send(result)
            called.add(each.verb)
            try:
                drain = each.verb == "drain"
                result = app.sync.testing.drain() if drain else call_blocking(app, each)
            except DuetimeError as error:
                result = error
    app.sync.close()
    carried = {
        f"{noun}.{verb}" if noun else verb
        for noun, verbs in CARRIED_VERBS.items()
        for verb in verbs
    }
    assert carried - called == COMPARED_ELSEWHERE


# What ran by time depends on a worker; test_journeys compares these.
COMPARED_ELSEWHERE = {"series", "timeline"}
