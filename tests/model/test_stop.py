"""Why a run is asked to stop: which of several reasons counts."""

import itertools
import threading
from typing import Any, get_args
from uuid import UUID

import pytest

from duetime import Context
from duetime.errors import InvalidArgument
from duetime.model.actions.stop import (
    STRONGEST_FIRST,
    StopReason,
    StopRequest,
    strongest_request,
)
from duetime.registry.context import Stop


def test_every_reason_has_its_place() -> None:
    assert sorted(STRONGEST_FIRST) == sorted(get_args(StopReason))


@pytest.mark.parametrize("order", [*itertools.permutations(STRONGEST_FIRST)], ids="-".join)
def test_the_strongest_reason_counts_whatever_came_first(order: tuple[StopReason, ...]) -> None:
    stop = Stop()
    for reason in order:
        stop.ask(reason, "ann" if reason == "cancelled" else None)
    assert stop.request == StopRequest("cancelled", "ann")


@pytest.mark.parametrize(
    ("earlier", "later", "counts"),
    [
        ("shutdown", "timeout", "timeout"),
        ("timeout", "shutdown", "timeout"),
        ("timeout", "lost", "lost"),
        ("lost", "shutdown", "lost"),
        ("cancelled", "lost", "cancelled"),
    ],
)
def test_one_of_two_reasons(earlier: StopReason, later: StopReason, counts: str) -> None:
    assert strongest_request(StopRequest(earlier), StopRequest(later)).reason == counts


def test_the_last_of_two_actors_counts() -> None:
    stop = Stop()
    for actor in ("ann", "bob"):
        stop.ask("cancelled", actor)
    assert stop.request == StopRequest("cancelled", "bob")


@pytest.mark.parametrize("reason", STRONGEST_FIRST)
def test_a_context_has_the_reason(reason: StopReason) -> None:
    ctx = Context(action_id=UUID(int=1))
    assert (ctx.cancelled, ctx.stop_reason) == (False, None)
    ctx.stop.ask(reason)
    assert (ctx.cancelled, ctx.stop_reason) == (True, reason)


@pytest.mark.parametrize("reason", ["shutdwon", "", None, 3, True, ["lost"]])
def test_another_reason_is_refused(reason: Any) -> None:
    stop = Stop()
    with pytest.raises(InvalidArgument, match="give one of cancelled, lost, timeout, shutdown"):
        stop.ask(reason)
    assert stop.reason is None


def test_a_cancellation_is_never_hidden_by_a_request_of_another_thread() -> None:
    """The heartbeat's thread asks while the event loop asks, too."""
    for _ in range(300):
        stop, start = Stop(), threading.Barrier(2)

        def shut_down(stop: Stop = stop, start: threading.Barrier = start) -> None:
            start.wait()
            stop.ask("shutdown")

        thread = threading.Thread(target=shut_down)
        thread.start()
        start.wait()
        stop.ask("cancelled", "ann")
        thread.join()
        assert stop.request == StopRequest("cancelled", "ann")
