"""How much a worker claims: what it can run, and a little ahead of that."""

from duetime.worker.slots import Pool


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
    one.measure(2.0)  # a hundred in a second, smoothed with none before
    assert one.room(0.5, 500) == 25
    assert one.room(0.5, 10) == 10
