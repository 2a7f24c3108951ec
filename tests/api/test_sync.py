"""app.sync: every verb of the client, blocking, with the same signature."""

import inspect
import threading
from collections.abc import AsyncIterator, Callable

import pytest

from api.apps import Note, Other, with_payloads
from duetime import Duetime, State
from duetime.api.actions import ActionVerbs
from duetime.api.sync_api import SyncDuetime
from duetime.errors import DuplicateKey
from duetime.testing import FakeClock

VERBS = [
    *("schedule", "schedule_many", "cancel", "cancel_many", "reschedule", "retry", "retry_many"),
    *("repeat", "bulk", "erase", "why", "groups"),
    *("get", "find", "runs", "stats", "series", "timeline", "wait"),
]


def public_methods(type_: type[object]) -> set[str]:
    return {name for name, _ in inspect.getmembers(type_, callable) if not name.startswith("_")}


def test_every_verb_exists_as_coroutine_and_as_blocking_method() -> None:
    # `wait` calls `get` and, when the time is up, `reason_not_run`.
    assert public_methods(ActionVerbs) - {"reason_not_run"} | {"wait"} == set(VERBS)
    assert public_methods(SyncDuetime) - {"close"} == set(VERBS)
    assert set(VERBS) <= public_methods(Duetime)


@pytest.mark.parametrize("verb", VERBS)
def test_a_blocking_verb_has_the_signature_of_the_awaited_one(verb: str) -> None:
    awaited, blocking = getattr(Duetime, verb), getattr(SyncDuetime, verb)
    assert parameters(awaited) == parameters(blocking)
    assert awaited.__doc__ == blocking.__doc__
    assert awaited.__doc__


def parameters(verb: Callable[..., object]) -> list[tuple[str, object, object, object]]:
    found = inspect.signature(verb).parameters.values()
    return [(p.name, p.kind, p.default, p.annotation) for p in found]


@pytest.fixture
async def quiet_app(url: str, clock: FakeClock) -> AsyncIterator[Duetime]:
    async with with_payloads(Duetime(url, clock=clock)) as app:
        yield app


def test_the_verbs_do_the_same_without_a_loop(url: str, clock: FakeClock) -> None:
    app = with_payloads(Duetime(url, clock=clock))
    sync = app.sync
    action = sync.schedule(Note("one"), delay=60, key="k", correlation_id="c")
    assert sync.schedule(Note("two"), key="k").created is False
    with pytest.raises(DuplicateKey):
        sync.schedule(Note("two"), key="k", if_exists="raise")
    many = sync.schedule_many([(Other(1), clock.now()), app.request(Other(2), delay=60)])
    assert [a.payload for a in many] == [Other(1), Other(2)]
    assert sync.reschedule(action.id, delay=5).modified_by == "system"
    with app.acting(by="ann"):
        assert sync.cancel(action.id).cancelled_by == "ann"
    assert sync.get(action.id).state is State.cancelled
    assert sync.wait(action.id, timeout=0).state is State.cancelled
    assert sync.cancel_many(kind="other") == 2
    assert sync.retry_many(kind="other") == 0
    assert sync.runs(action.id) == []
    assert len(sync.find()) == 3
    sync.close()
    assert len(sync.find()) == 3
    sync.close()


async def test_many_threads_may_share_an_app(quiet_app: Duetime) -> None:
    """A lock that is kept across a call, or a connection used by two, would show here."""
    together = threading.Barrier(8)

    def work() -> None:
        together.wait(timeout=30)
        for _ in range(10):
            action = quiet_app.sync.schedule(Note(), delay=60)
            quiet_app.sync.cancel(action.id)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(await quiet_app.find(state="cancelled", limit=200)) == 80
