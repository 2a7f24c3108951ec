"""Rules for Hypothesis: of every kind, near clock changes, with unions and exclusions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st

from duetime import Cron, Every, Instants, Recurrence
from duetime.model.recurrence.base import AnyOf, Exclusions, Without

ZONES = ["UTC", "Europe/Paris", "Australia/Lord_Howe", "Asia/Beirut", "America/St_Johns"]
EXPRESSIONS = [
    "0 2 * * *",
    "30 2 * * *",
    "0,30 1-3 * * *",
    "*/20 * * * *",
    "*/30 2 * * *",
    "0 */2 * * *",
    "30 0 * * *",
    "0 0 13 * FRI",
    "0 0 */2 * MON",
    "0 9 * * MON#1",
    "0 0 29 2 *",
    "30 2 25 10 *",
    "*/20 2 25 * *",
    "59 59 23 L * *",
    "*/15 30 2 * * SUN",
    "* * * * * *",
]
# A few weeks around the changes of clocks in spring and autumn 2026.
INSTANTS = st.one_of(
    st.datetimes(datetime(2026, 3, 1), datetime(2026, 4, 15), timezones=st.just(UTC)),  # noqa: DTZ001
    st.datetimes(datetime(2026, 9, 25), datetime(2026, 11, 5), timezones=st.just(UTC)),  # noqa: DTZ001
)
LENGTHS = st.integers(0, 5 * 86_400).map(lambda n: timedelta(seconds=n))

CRONS = st.builds(Cron, st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES))
EVERIES = st.builds(
    Every,
    st.one_of(st.integers(1, 200_000), st.floats(1, 200_000)),
    anchor=INSTANTS,
)
LISTS = st.builds(Instants, st.lists(INSTANTS, min_size=1, max_size=20))
SIMPLE: st.SearchStrategy[Recurrence] = st.one_of(CRONS, EVERIES, LISTS)
EXCLUSIONS = st.builds(
    Exclusions,
    st.frozensets(INSTANTS.map(lambda instant: instant.date()), max_size=30),
    st.frozensets(INSTANTS, max_size=3),
    st.lists(CRONS.filter(lambda rule: rule.expr != "* * * * * *"), max_size=1).map(tuple),
)
RULES: st.SearchStrategy[Recurrence] = st.recursive(
    SIMPLE,
    lambda rules: st.one_of(
        st.lists(rules, min_size=1, max_size=3).map(AnyOf), st.builds(Without, rules, EXCLUSIONS)
    ),
    max_leaves=4,
)
# The first use of a year of a zone is slow, and very slow on a busy machine.
no_deadline = settings(deadline=None)
