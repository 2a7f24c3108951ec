"""Jitter: within its bounds, spread evenly, and the same everywhere."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from duetime.model.jobs.occurrence import jitter_of

from .rules import INSTANTS

TICK = datetime(2026, 5, 1, tzinfo=UTC)
# Other values would move every job that has jitter.
FIRST_MICROS, SECOND_MICROS = 1_893_067, 34_697_297


@given(job=st.text(max_size=30), tick=INSTANTS, jitter=st.floats(0, 1e6))
def test_within_bounds(job: str, tick: datetime, jitter: float) -> None:
    offset = jitter_of(job, tick, jitter)
    assert timedelta() <= offset <= timedelta(seconds=jitter)
    assert offset == timedelta() or offset < timedelta(seconds=jitter)


def test_the_same_in_every_process_and_version() -> None:
    assert jitter_of("billing-close", TICK, 60) == timedelta(microseconds=FIRST_MICROS)
    assert jitter_of("billing-close", TICK + timedelta(days=1), timedelta(minutes=1)) == timedelta(
        microseconds=SECOND_MICROS
    )


def test_jobs_and_ticks_are_spread() -> None:
    offsets = [jitter_of(f"job-{n}", TICK, 100) for n in range(1000)]
    offsets += [jitter_of("job", TICK + timedelta(days=n), 100) for n in range(1000)]
    for tenth in range(10):
        inside = [o for o in offsets if tenth * 10 <= o.total_seconds() < tenth * 10 + 10]
        assert 150 < len(inside) < 250
