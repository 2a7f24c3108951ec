"""How much a worker claims: what it can run, and a little ahead of that."""

from typing import Any, cast

from duetime.worker.claiming.slots import Pool


def pool(slots: int) -> Pool:
    made = Pool(slots, lambda queue: True)
    made.measure(1.0)
    return made


def test_nothing_is_claimed_behind_handlers_that_have_only_started() -> None:
    one = pool(1)
    assert one.room(0.5, 500) == 1
    one.started()
    one.measure(1.1)
    assert one.room(0.5, 500) == 0


def test_as_many_as_end_in_a_window_are_claimed_ahead() -> None:
    one = pool(1)
    for _ in range(100):
        one.started()
        one.ended()
    one.started()
    one.measure(3.0)  # fifty a second
    assert one.room(0.5, 500) == 24
    assert one.room(0.5, 10) == 10


def test_a_moment_is_smoothed_with_what_was_before_it() -> None:
    one = pool(1)
    for _ in range(100):
        one.started()
        one.ended()
    one.started()
    one.measure(1.1)  # a thousand a second, after none
    assert 249 <= one.room(0.5, 500) <= 250


def busy(slots: int, ends: int) -> Pool:
    """All slots taken, and so many ended in the last two seconds, after none before."""
    one = pool(slots)
    for _ in range(ends):
        one.started()
        one.ended()
    for _ in range(slots):
        one.started()
    one.measure(3.0)
    return one


def test_behind_slow_handlers_nothing_is_claimed() -> None:
    """Runs of a second that began together end together: what was claimed half a second ahead
    would wait a whole one, while another worker has nothing to do."""
    assert busy(100, 790).room(0.5, 500) == 0
    assert busy(100, 804).room(0.5, 500) == 200


def test_claims_are_for_half_of_what_may_be_held_and_never_for_a_few() -> None:
    one = busy(100, 8000)
    assert one.room(0.5, 500) == 500
    ready = cast("Any", one.ready)
    ready.extend(range(501))
    assert one.room(0.5, 500) == 0
    ready.pop()
    assert one.room(0.5, 500) == 500


def test_what_ran_long_ago_says_nothing_of_what_is_run_now() -> None:
    one = busy(10, 8000)
    assert one.room(0.5, 500) == 500
    one.measure(3.9)
    assert one.room(0.5, 500) == 0


def test_what_was_claimed_behind_work_that_became_slow_is_soon_too_much() -> None:
    """Runs of just under a second: one measure tells enough."""
    one = busy(4, 20_000)
    assert one.bearable(0.5) > 10_000
    for _ in range(4):
        one.ended()
        one.started()
    one.measure(3.9)
    assert one.bearable(0.5) < 50
