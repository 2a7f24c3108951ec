"""How many actions a worker claims: what it can run, and a little ahead of that."""

from typing import Any, cast

from duetime.worker.claiming.slots import Pool


def new_pool(slots: int) -> Pool:
    pool = Pool(slots, lambda queue: True)
    pool.measure(1.0)
    return pool


def test_nothing_is_claimed_behind_handlers_that_have_only_started() -> None:
    pool = new_pool(1)
    assert pool.capacity_for_preclaim(0.5, 500) == 1
    pool.run_started()
    pool.measure(1.1)
    assert pool.capacity_for_preclaim(0.5, 500) == 0


def test_as_many_as_end_in_a_window_are_claimed_ahead() -> None:
    pool = new_pool(1)
    for _ in range(100):
        pool.run_started()
        pool.run_finished()
    pool.run_started()
    pool.measure(3.0)  # fifty a second
    assert pool.capacity_for_preclaim(0.5, 500) == 24
    assert pool.capacity_for_preclaim(0.5, 10) == 10


def test_the_rate_is_smoothed() -> None:
    pool = new_pool(1)
    for _ in range(100):
        pool.run_started()
        pool.run_finished()
    pool.run_started()
    pool.measure(1.1)  # a thousand a second, after none
    assert 249 <= pool.capacity_for_preclaim(0.5, 500) <= 250


def busy(slots: int, ends: int) -> Pool:
    """Return a pool with all slots taken and `ends` runs finished in the last two seconds, after
    none before."""
    pool = new_pool(slots)
    for _ in range(ends):
        pool.run_started()
        pool.run_finished()
    for _ in range(slots):
        pool.run_started()
    pool.measure(3.0)
    return pool


def test_behind_slow_handlers_nothing_is_claimed() -> None:
    """Runs of one second that started together finish together: what was claimed half a second
    ahead would wait a whole second, while another worker is idle."""
    assert busy(100, 790).capacity_for_preclaim(0.5, 500) == 0
    assert busy(100, 804).capacity_for_preclaim(0.5, 500) == 200


def test_claims_are_for_half_of_the_capacity_and_never_for_a_few() -> None:
    pool = busy(100, 8000)
    assert pool.capacity_for_preclaim(0.5, 500) == 500
    ready = cast("Any", pool.ready)
    ready.extend(range(501))
    assert pool.capacity_for_preclaim(0.5, 500) == 0
    ready.pop()
    assert pool.capacity_for_preclaim(0.5, 500) == 500


def test_an_old_rate_does_not_count() -> None:
    pool = busy(10, 8000)
    assert pool.capacity_for_preclaim(0.5, 500) == 500
    pool.measure(3.9)
    assert pool.capacity_for_preclaim(0.5, 500) == 0


def test_what_was_claimed_behind_work_that_became_slow_is_soon_too_much() -> None:
    """Runs of just under a second: one measurement is enough."""
    pool = busy(4, 20_000)
    assert pool.max_ready(0.5) > 10_000
    for _ in range(4):
        pool.run_finished()
        pool.run_started()
    pool.measure(3.9)
    assert pool.max_ready(0.5) < 50
