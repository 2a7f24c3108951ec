"""Buckets of durations, and quantiles computed from them."""

import random
from collections import Counter

import pytest

from duetime.model.clock import micros_of
from duetime.model.health.buckets import (
    BOUNDS_SECONDS,
    LONGEST_BUCKET,
    UNMEASURED,
    bucket_of,
    quantile,
)


def test_the_bounds_go_from_half_a_millisecond_to_an_hour() -> None:
    assert (BOUNDS_SECONDS[0], BOUNDS_SECONDS[-1]) == (0.0005, 3600)
    assert list(BOUNDS_SECONDS) == sorted({*BOUNDS_SECONDS})


@pytest.mark.parametrize(
    ("seconds", "bucket"),
    [
        (-1, 0.0005),
        (0, 0.0005),
        (0.0005, 0.0005),
        (0.000501, 0.001),
        (0.7, 1),
        (1, 1),
        (3600, 3600),
    ],
)
def test_a_bucket_includes_its_upper_bound(seconds: float, bucket: float) -> None:
    assert bucket_of(micros_of(seconds)) == micros_of(bucket)


def test_what_is_longer_than_an_hour_has_a_bucket_too() -> None:
    assert bucket_of(micros_of(3600) + 1) == LONGEST_BUCKET
    assert bucket_of(10**18) == LONGEST_BUCKET


def test_nothing_measured_has_no_quantile() -> None:
    assert quantile({}, 0.5) is None
    assert quantile({UNMEASURED: 9}, 0.99) is None
    assert quantile({1000: 0}, 0.5) is None


def test_a_quantile_is_interpolated_within_its_bucket() -> None:
    """All runs took between 0.5 s and 1 s: half of them, as far as is known, up to 0.75 s."""
    assert quantile({micros_of(1): 100}, 0.5) == 0.75
    assert quantile({micros_of(1): 100}, 1) == 1.0
    assert quantile({micros_of(0.0005): 100}, 0.5) == 0.00025


def test_beyond_the_last_bound_the_lower_bound_is_all_that_is_known() -> None:
    assert quantile({LONGEST_BUCKET: 5}, 0.5) == 3600


def test_unmeasured_runs_do_not_shift_it() -> None:
    counts = {micros_of(1): 100}
    assert quantile(counts | {UNMEASURED: 10_000}, 0.5) == quantile(counts, 0.5)


@pytest.mark.parametrize("fraction", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("seed", range(20))
def test_it_lies_in_the_bucket_of_the_true_quantile(seed: int, fraction: float) -> None:
    dice = random.Random(seed)
    durations = sorted(micros_of(dice.lognormvariate(0, 2)) for _ in range(dice.randint(1, 500)))
    counts = Counter(map(bucket_of, durations))
    computed = quantile(counts, fraction)
    assert computed is not None
    exact = durations[max(-(-int(fraction * 10**6) * len(durations) // 10**6), 1) - 1]
    assert bucket_of(round(computed * 1e6)) == bucket_of(exact)
