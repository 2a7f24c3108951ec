"""Every, Instants, unions, exclusions, and the values that callers give as a recurrence."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from duetime import Cron, Every, Instants, Recurrence
from duetime.errors import InvalidArgument, InvalidRecurrence, NaiveDatetime
from duetime.model.recurrence import base as rules
from duetime.model.recurrence.base import AnyOf, Exclusions, Without
from duetime.model.recurrence.parse import to_recurrence
from duetime.model.recurrence.serialize import from_text, to_text

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def test_every_counts_from_the_epoch() -> None:
    assert Every(minutes=5).next(NOON) == NOON + timedelta(minutes=5)
    assert Every(minutes=5).next(NOON + timedelta(seconds=1)) == NOON + timedelta(minutes=5)
    assert Every(weeks=1).next(NOON) == datetime(2026, 5, 7, tzinfo=UTC)  # Thursdays, as in 1970
    assert Every(hours=1, minutes=30) == Every(5400) == Every(timedelta(minutes=90))


def test_every_counts_from_its_anchor_in_both_directions() -> None:
    rule = Every(minutes=7, anchor=NOON)
    assert rule.next(NOON) == NOON + timedelta(minutes=7)
    assert rule.next(NOON - timedelta(minutes=8)) == NOON - timedelta(minutes=7)
    assert rule.latest(NOON - DAY, NOON - timedelta(seconds=1)) == NOON - timedelta(minutes=7)


def test_every_does_not_drift() -> None:
    rule = Every(seconds=1.1, anchor=NOON)
    tick = rule.next(NOON + 1000 * DAY)
    assert tick is not None
    assert (tick - NOON) % timedelta(seconds=1.1) == timedelta()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "shortest interval is one second"),
        ({"seconds": 0.5}, "shortest interval is one second"),
        ({"seconds": timedelta(milliseconds=999)}, "shortest"),
        ({"minutes": -5}, "shortest"),
        ({"minutes": 5, "seconds": -300}, "shortest"),
        ({"days": 400_000}, "1000 years"),
        ({"days": 1e300}, "1000 years"),
        ({"hours": float("nan")}, "hours=nan"),
        ({"hours": float("inf")}, "1000 years"),
        ({"hours": "1"}, "hours='1'"),
        ({"minutes": True}, "minutes=True"),
    ],
)
def test_every_refuses(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRecurrence, match=says):
        Every(**given)


def test_every_refuses_a_naive_anchor() -> None:
    with pytest.raises(NaiveDatetime, match="anchor"):
        Every(minutes=5, anchor=datetime(2026, 1, 1))  # noqa: DTZ001


def test_every_ends_with_the_calendar() -> None:
    assert Every(days=1).next(datetime(9999, 12, 31, 1, tzinfo=UTC)) is None
    assert Every(days=1000).latest(NOON - 3 * DAY, NOON) is None


def test_instants_are_a_list_in_order() -> None:
    rule = Instants([NOON + DAY, NOON, NOON])
    assert rule.ticks == (NOON, NOON + DAY)
    assert rule.next(NOON - DAY) == NOON
    assert rule.next(NOON) == NOON + DAY
    assert rule.next(NOON + DAY) is None
    assert rule.latest(NOON, NOON + 9 * DAY) == NOON + DAY
    assert rule.latest(NOON + DAY, NOON + 9 * DAY) is None


@pytest.mark.parametrize("given", [[], "2026-01-01", 5, ["2026-01-01"], [date(2026, 1, 1)]])
def test_instants_refuse(given: Any) -> None:
    with pytest.raises(InvalidArgument):
        Instants(given)


def test_a_union_ticks_once_where_rules_meet() -> None:
    rule = Cron("0 9 * * MON-FRI", tz="Europe/Paris") | Cron("0 */3 * * *", tz="UTC")
    assert [f"{tick:%H}" for tick in rule.between(NOON - 12 * HOUR, NOON, 10)] == [
        "03", "06", "07", "09", "12",
    ]  # fmt: skip
    assert rule | rule == rule
    assert rule.zones == {"Europe/Paris", "UTC"}


def test_excluded_dates_are_local_dates_of_each_rule() -> None:
    paris = Cron("30 0 * * *", tz="Europe/Paris")
    left = (paris | Cron("30 0 * * *")) - date(2026, 5, 1)
    found = left.between(datetime(2026, 4, 30, tzinfo=UTC), datetime(2026, 5, 2, tzinfo=UTC), 9)
    # 1 May is excluded: in Paris it begins on 30 April at 22:00.
    assert [f"{tick:%dT%H:%M}" for tick in found] == ["30T00:30", "01T22:30"]


def test_instants_rules_and_lists_are_excluded() -> None:
    rule = Cron("0 12 * * *") - [NOON, date(2026, 5, 3), Cron("0 12 5-31 * *")]
    assert rule.between(NOON - DAY, NOON + 40 * DAY, 3) == [
        NOON + DAY,
        NOON + 3 * DAY,
        datetime(2026, 6, 1, 12, tzinfo=UTC),
    ]
    assert rule - date(2026, 5, 2) == rule - [date(2026, 5, 2)]
    assert rule - [] == rule


def test_exclusions_add_up() -> None:
    rule, first, second = Cron("0 12 * * *"), date(2026, 5, 1), date(2026, 5, 2)
    assert rule - first - second == rule - [second, first]


def test_a_clock_that_is_set_back_to_the_day_before_an_excluded_date() -> None:
    # St John's, 2006: at 00:01 on 29 October clocks went back to 23:01 on the 28th.
    rule = Cron("*/5 * * * *", tz="America/St_Johns") - date(2006, 10, 29)
    start = datetime(2006, 10, 29, 2, 29, tzinfo=UTC)
    found = rule.between(start, start + HOUR, 100)
    assert [f"{tick:%H:%M}" for tick in found] == [
        "02:35", "02:40", "02:45", "02:50", "02:55", "03:00", "03:05", "03:10", "03:15", "03:20",
        "03:25",
    ]  # fmt: skip


def test_a_long_holiday_of_a_fast_rule_is_passed_in_one_step_a_day() -> None:
    holidays = [date(2026, 5, 1) + n * DAY for n in range(365)]
    rule = Cron("* * * * * *", tz="Europe/Paris") - holidays
    assert rule.next(NOON) == datetime(2027, 4, 30, 22, tzinfo=UTC)
    assert rule.latest(NOON - 99 * DAY, NOON + 99 * DAY) == datetime(
        2026, 4, 30, 21, 59, 59, tzinfo=UTC
    )


@pytest.mark.parametrize(
    ("rule", "excluded", "after", "tick"),
    [
        (Every(seconds=1), Cron("* * * * * SAT,SUN"), "2030-01-04T23:59:59", "2030-01-07"),
        (Every(seconds=1), Cron("* * * * * MON-FRI"), "2030-01-06T23:59:59", "2030-01-12"),
        (Every(seconds=1), Cron("* * 0-22 * * *"), "2030-01-01", "2030-01-01T23:00:00"),
        (Every(minutes=1), Cron("* * * 1-11 *"), "2030-01-01", "2030-12-01"),
        (Cron("* * * * * *"), Cron("* * * 2-31 * *"), "2030-01-03", "2030-02-01"),
        (Cron("* * * * *"), Cron("* * * * MON-SAT", "Asia/Tokyo"), "2030-01-07", "2030-01-12T15"),
        (Cron("0 30 * * * *"), Cron("* * * 1-11 *"), "2030-01-01", "2030-12-01T00:30:00"),
    ],
)
def test_long_exclusions_are_passed_in_large_steps(
    rule: Recurrence, excluded: Recurrence, after: str, tick: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "MAX_CHECKS_PER_WAKE", 50)
    left, begin, end = rule - excluded, _utc(after), _utc(tick)
    assert left.next(begin) == end
    assert left.latest(begin, end) == end
    assert left.latest(begin, end - timedelta(microseconds=1)) is None


def test_a_wake_continues_the_search_of_the_wake_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two intervals have no common structure: only their ticks can be compared."""
    monkeypatch.setattr(rules, "MAX_CHECKS_PER_WAKE", 500)
    late = datetime(2030, 1, 20, tzinfo=UTC)
    busy = Every(seconds=1) - Instants([late])
    left = Without(Every(seconds=1), Exclusions(rules=(busy,)))
    wakes = [wake] if (wake := left.wake(_utc("2030-01-19T22:00:00"))) else []
    while wakes[-1] != late and (wake := left.wake(wakes[-1])):
        assert wake > wakes[-1]
        wakes.append(wake)
    assert 10 < len(wakes) < 30


PARIS_DAYS = [Cron(f"0-59 0-23 {day} * *", tz="Europe/Paris") for day in range(1, 32)]


def test_days_that_are_excluded_by_fixed_times_are_passed_in_one_step_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rules, "MAX_CHECKS_PER_WAKE", 31 * 40)
    minutes = Cron("* * * * *", tz="Europe/Paris")
    left = minutes - PARIS_DAYS[:21]
    assert left.next(_utc("2026-01-01T00:00:00")) == _utc("2026-01-21T23:00:00")
    assert left.latest(_utc("2025-12-01"), _utc("2026-01-15")) == _utc("2025-12-31T22:59:00")


def test_fixed_times_leave_an_interval_its_second_pass() -> None:
    """25 October 2026 in Paris: 02:00 to 03:00 comes twice, at 00:00 and 01:00 in UTC."""
    left = Cron("* * * * *", tz="Europe/Paris") - PARIS_DAYS[24]
    day = left.between(_utc("2026-10-24T21:59:00"), _utc("2026-10-25T22:59:00"), 2000)
    assert day == [_utc("2026-10-25T01:00:00") + n * timedelta(minutes=1) for n in range(60)]
    assert left.latest(_utc("2026-10-24T22:00"), _utc("2026-10-25T22:59")) == day[-1]


def test_a_time_moved_out_of_a_gap_excludes_one_tick_only() -> None:
    """29 March 2026 in Paris: all of hour 2 moves to 03:00, which is 01:00 in UTC."""
    left = Cron("* * * * *", tz="Europe/Paris") - Cron("0-59 2 * * *", tz="Europe/Paris")
    assert left.next(_utc("2026-03-29T00:59")) == _utc("2026-03-29T01:01")
    assert left.latest(_utc("2026-03-28"), _utc("2026-03-29T01:00")) == _utc("2026-03-29T00:59")


def test_a_time_moved_out_of_a_gap_is_not_passed_with_its_neighbours() -> None:
    """29 March 2026 in Paris: 02:00:30 moves to 03:00:00, where the excluded rule has no tick."""
    half_minutes = Cron("30 0-59 0-23 * * *", tz="Europe/Paris")
    left = half_minutes - Cron("30 * * * * *")
    assert left.next(_utc("2026-03-29T00:30")) == _utc("2026-03-29T01:00")
    assert left.latest(_utc("2026-03-29"), _utc("2026-03-29T05:00")) == _utc("2026-03-29T01:00")
    left = half_minutes - Cron("0 * * * * *")
    assert left.next(_utc("2026-03-29T00:59:30")) == _utc("2026-03-29T01:00:30")


@pytest.mark.parametrize("joined", [True, False])
def test_many_excluded_rules_share_the_bound_of_one(
    joined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound counts comparisons of a tick with a rule."""
    many: list[Recurrence] = [Every(minutes=1, anchor=NOON + n * DAY / 7000) for n in range(20)]
    busy = [*many, Every(seconds=1)]
    checks = 0

    def latest(rule: Every, after: datetime, until: datetime) -> datetime | None:
        nonlocal checks
        checks += 1
        return original(rule, after, until)

    original = Every.latest
    monkeypatch.setattr(Every, "latest", latest)
    monkeypatch.setattr(rules, "MAX_CHECKS_PER_WAKE", 1000)
    excluded = AnyOf(busy) if joined else busy
    with pytest.raises(InvalidRecurrence, match="leaves no tick"):
        Cron("* * * * * *") - excluded
    assert 5000 < checks <= 11_000


def test_a_union_shares_the_bound_of_one_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is skipped: a tick that another rule has in the meantime comes first."""
    monkeypatch.setattr(rules, "MAX_CHECKS_PER_WAKE", 1000)
    checks = 0

    def latest(rule: Every, after: datetime, until: datetime) -> datetime | None:
        nonlocal checks
        checks += 1
        return original(rule, after, until)

    original = Every.latest
    monkeypatch.setattr(Every, "latest", latest)
    union = AnyOf(Every(seconds=n) for n in range(1, 11))
    with pytest.raises(InvalidRecurrence, match="leaves no tick"):
        union - Every(seconds=1)
    assert 5000 < checks <= 12_000
    late = NOON + timedelta(seconds=1500)
    left = union._without(Exclusions(rules=(Every(seconds=1) - Instants([late]),)))
    assert (left | Instants([NOON + 9 * DAY, late])).next(NOON + timedelta(seconds=1400)) == late


def test_latest_gives_up_after_as_many_excluded_ticks_as_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rules, "MAX_CHECKS_PER_WAKE", 200)
    start, end = NOON, NOON + timedelta(seconds=1000)
    busy = Every(seconds=1) - Instants([start, end])
    left = Without(Every(seconds=1), Exclusions(rules=(busy,)))
    assert left.latest(NOON - DAY, end - timedelta(seconds=1)) == start
    assert left.next(start) == end
    assert left.latest(NOON - DAY, end + timedelta(seconds=1000)) == end
    assert left.latest(NOON - DAY, end + timedelta(seconds=1001)) is None


def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_an_exclusion_of_everything_is_refused() -> None:
    for excluded in (Cron("0 12 * * *"), Cron("* * * * *")):
        with pytest.raises(InvalidRecurrence, match="leaves no tick"):
            Cron("0 12 * * *") - excluded
    with pytest.raises(InvalidRecurrence, match="leaves no tick"):
        Instants([NOON]) - date(2026, 5, 1)
    with pytest.raises(InvalidRecurrence, match="leaves no tick"):
        (Instants([NOON]) | Instants([NOON + HOUR])) - [NOON, NOON + HOUR]
    assert ((Instants([NOON]) | Instants([NOON + HOUR])) - NOON).next(NOON - DAY) == NOON + HOUR


@pytest.mark.parametrize("excluded", ["2026-05-01", 5, None, [5], ["0 2 * * *"]])
def test_other_values_cannot_be_excluded(excluded: Any) -> None:
    with pytest.raises(InvalidRecurrence, match="exclude dates"):
        Cron("0 2 * * *") - excluded


EVERY_KIND = [
    Cron("0 2 * * *", tz="Europe/Paris"),
    Cron("* * * * * *"),
    Every(seconds=1),
    Instants([NOON]),
    Cron("0 2 * * *") | Every(hours=1),
    Cron("0 2 * * *") - date(2026, 12, 25),
    Every(seconds=1) - Cron("0 2 * * *"),
]
EASTERN, WESTERN = timezone(timedelta(hours=5)), timezone(timedelta(hours=-5))


@pytest.mark.parametrize("rule", EVERY_KIND)
def test_the_ends_of_the_calendar_are_not_ticks(rule: Recurrence) -> None:
    for tz in (UTC, EASTERN):
        assert datetime.min.replace(tzinfo=tz) not in rule
    for tz in (UTC, WESTERN):
        assert datetime.max.replace(tzinfo=tz) not in rule
    tick = rule.next(NOON - HOUR)
    assert tick is not None
    assert tick in rule


@pytest.mark.parametrize("rule", EVERY_KIND)
@pytest.mark.parametrize("value", ["2020", None, 5, date(2026, 5, 1)])
def test_only_an_instant_can_be_in_a_rule(rule: Recurrence, value: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"tick=.* is not valid: give an aware datetime"):
        assert value in rule


@pytest.mark.parametrize("rule", EVERY_KIND)
def test_a_naive_datetime_cannot_be_in_a_rule(rule: Recurrence) -> None:
    for naive in (datetime(2026, 5, 1, 12), datetime.min):  # noqa: DTZ001, DTZ901
        with pytest.raises(NaiveDatetime, match="tick="):
            assert naive in rule


def test_only_rules_are_joined() -> None:
    with pytest.raises(TypeError):
        Cron("0 2 * * *") | "0 3 * * *"  # type: ignore[operator]


def test_declared() -> None:
    assert to_recurrence("0 2 * * *") == Cron("0 2 * * *")
    assert to_recurrence("0 2 * * *", "Europe/Paris") == Cron("0 2 * * *", tz="Europe/Paris")
    assert to_recurrence(Every(minutes=5), "Europe/Paris") == Every(minutes=5)
    assert to_recurrence([NOON, NOON + DAY]) == Instants([NOON, NOON + DAY])
    assert to_recurrence(["0 2 * * *", Every(hours=1)], "Europe/Paris") == AnyOf(
        [Cron("0 2 * * *", tz="Europe/Paris"), Every(hours=1)]
    )
    assert to_recurrence(("0 2 * * *",)) == Cron("0 2 * * *")
    assert to_recurrence(["0 2 * * *", NOON]) == AnyOf([Cron("0 2 * * *"), Instants([NOON])])


@pytest.mark.parametrize(
    ("value", "tz", "says"),
    [
        (timedelta(minutes=5), None, r"Every\(datetime.timedelta\(seconds=300\)\)"),
        (300, None, r"Every\(seconds=300\)"),
        (NOON, None, "a single instant"),
        (date(2026, 1, 1), None, "a single instant"),
        ([date(2026, 1, 1)], None, "a single instant"),
        (None, None, "give a cron string"),
        ({}, None, "give a cron string"),
        ([], None, "the list is empty"),
        (Cron("0 2 * * *"), "Europe/Paris", "has its own zone, UTC"),
        ("0 2 * * *", "Nowhere", "no IANA zone"),
    ],
)
def test_declared_wrongly(value: object, tz: str | None, says: str) -> None:
    with pytest.raises(InvalidRecurrence, match=says):
        to_recurrence(value, tz)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (Cron("0 2 * * *", tz="Europe/Paris"), "0 2 * * *"),
        (Every(minutes=5), '{"every":300}'),
        (Every(seconds=1.5, anchor=NOON), '{"every":1.5,"anchor":"2026-05-01T12:00:00+00:00"}'),
        (Instants([NOON]), '{"instants":["2026-05-01T12:00:00+00:00"]}'),
        (Cron("0 2 * * *") | Every(hours=1),
            '{"any_of":[{"cron":"0 2 * * *","tz":"UTC"},{"every":3600}]}'),
        (Cron("0 2 * * *") - [date(2026, 12, 26), date(2026, 12, 25)],
            '{"rule":{"cron":"0 2 * * *","tz":"UTC"},'
            '"without":{"dates":["2026-12-25","2026-12-26"]}}'),
    ],
)  # fmt: skip
def test_texts(rule: Recurrence, text: str) -> None:
    assert to_text(rule) == text
    assert from_text(text, rule.tz) == rule


@pytest.mark.parametrize(
    "text",
    ["", "{", "{}", '{"every":0}', '{"every":"x"}', '{"cron":"0 2 * * *"}', '{"any_of":[]}',
     '{"every":300,"pickle":1}', '{"rule":{"every":1},"without":{"what":[]}}', '{"instants":[1]}',
     '{"instants":["2026-01-01"]}', '{"rule":' * 2000],
)  # fmt: skip
def test_foreign_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        from_text(text, "UTC")


def test_words() -> None:
    rule = (Every(minutes=90, anchor=NOON) | Cron("0 2 * * *")) - date(2026, 12, 25)
    assert rule.describe() == (
        "every 90 minutes, counted from 2026-05-01T12:00:00+00:00, except 2026-12-25; and "
        "at 02:00, every day, UTC, except 2026-12-25"
    )
    assert Every(days=2).describe() == "every 2 days"
    assert Every(hours=1).describe() == "every hour"
    assert Every(seconds=1.5).describe() == "every 1.5 seconds"
    many = Instants([NOON + n * DAY for n in range(7)])
    assert many.describe().endswith(" and 2 more")
