"""Zones as spans: all clock changes are found, with the local time reached before each."""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from zoneinfo import ZoneInfo, available_timezones

import pytest

from duetime.errors import InvalidRecurrence
from duetime.model.clock import EPOCH
from duetime.model.recurrence.zone import PROBE_INTERVAL, ZONES_OF_ABBREVIATION, Zone, zone

RANDOM = Random(5)
NAMES = sorted(available_timezones() - {"localtime", "Factory"})
# The shortest spans of all: Freetown 1939, Noronha 2000, Gaza 2072, Tunis 1943.
SHORT = {
    "Africa/Freetown": 1939,
    "America/Noronha": 2000,
    "Asia/Gaza": 2072,
    "Africa/Tunis": 1943,
    "Pacific/Kwajalein": 1969,
    "Africa/Casablanca": 2087,
}


def seconds(year: int) -> int:
    return int((datetime(year, 1, 1, tzinfo=UTC) - EPOCH).total_seconds())


@pytest.mark.parametrize("name", SHORT)
def test_each_hour_has_its_offset(name: str) -> None:
    info, place = ZoneInfo(name), zone(name)
    start = seconds(SHORT[name])
    for instant in range(start, start + 366 * 86_400, 3600):
        offset = datetime.fromtimestamp(instant, info).utcoffset()
        assert timedelta(seconds=place.span(instant).offset) == offset
        assert place.local(instant) - instant == place.span(instant).offset


def test_any_instant_of_any_zone_has_its_offset() -> None:
    for name in NAMES:
        info, place = ZoneInfo(name), Zone(name)
        instant = RANDOM.randrange(seconds(1850), seconds(2150))
        offset = datetime.fromtimestamp(instant, info).utcoffset()
        assert timedelta(seconds=place.span(instant).offset) == offset, name


def test_far_years_repeat_after_four_hundred() -> None:
    info, place = ZoneInfo("Europe/Paris"), zone("Europe/Paris")
    for year in (2569, 2570, 2571, 2971, 5000, 9998):
        for instant in range(seconds(year), seconds(year) + 366 * 86_400, 6 * 3600):
            offset = datetime.fromtimestamp(instant, info).utcoffset()
            assert timedelta(seconds=place.span(instant).offset) == offset


@pytest.mark.parametrize("year", [1900, 2020, 2565, 5000])
def test_spans_are_contiguous_and_know_the_local_time_reached_before(year: int) -> None:
    place = zone("Europe/Paris")
    span = place.span(seconds(year))
    reached = span.reached
    while span.start < seconds(year + 10):
        assert span.start < span.end
        assert span.reached == reached
        reached = max(reached, span.end + span.offset)
        following = place.span(span.end)
        assert following.start == span.end
        span = following


def test_no_zone_changes_twice_between_two_probes() -> None:
    """Every distinct rule set of the next decades, by steps of six hours."""
    for name in ("Asia/Gaza", "Africa/Casablanca", "Africa/El_Aaiun", "America/Santiago"):
        info = ZoneInfo(name)
        changes = []
        before = datetime.fromtimestamp(seconds(2020), info).utcoffset()
        for instant in range(seconds(2020), seconds(2090), 6 * 3600):
            after = datetime.fromtimestamp(instant, info).utcoffset()
            if after != before:
                changes.append(instant)
            before = after
        distances = [later - earlier for earlier, later in pairwise(changes)]
        assert min(distances) > 2 * PROBE_INTERVAL


def test_a_name_is_checked() -> None:
    with pytest.raises(InvalidRecurrence):
        zone("Europe/Atlantis")
    assert zone("Europe/Paris") is zone("Europe/Paris")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("CEST", "'Europe/Paris' or 'Europe/Berlin'"),
        ("cest", "'Europe/Paris' or 'Europe/Berlin'"),
        ("BST", "'Europe/London'"),
        ("PST", "'America/Los_Angeles'"),
        ("PDT", "'America/Los_Angeles'"),
        ("EDT", "'America/New_York'"),
        ("Europe/Pari", "did you mean 'Europe/Paris'"),
    ],
)
def test_a_wrong_zone_names_the_right_ones(name: str, hint: str) -> None:
    with pytest.raises(InvalidRecurrence) as raised:
        zone(name)
    assert hint in str(raised.value)


@pytest.mark.parametrize("name", ["IST", "XST", "ESTT", "+02", "AST", "Mars"])
def test_nothing_is_suggested_where_it_would_be_a_guess(name: str) -> None:
    with pytest.raises(InvalidRecurrence) as raised:
        zone(name)
    assert str(raised.value) == f"tz={name!r} is not valid: there is no IANA zone of that name"


def test_each_suggested_zone_exists_and_each_abbreviation_is_none() -> None:
    for abbreviation, zones in ZONES_OF_ABBREVIATION.items():
        with pytest.raises(InvalidRecurrence):
            zone(abbreviation)
        for name in re.findall(r"'([^']+)'", zones):
            info = ZoneInfo(name)
            used = {datetime(2026, month, 1, tzinfo=info).tzname() for month in (1, 7)}
            assert abbreviation in used


@pytest.mark.parametrize(
    ("name", "zone_"),
    [("Paris", "Europe/Paris"), ("new york", "America/New_York"), ("Knox", "America/Indiana/Knox")],
)
def test_a_city_without_its_continent_gets_a_hint(name: str, zone_: str) -> None:
    with pytest.raises(InvalidRecurrence, match=rf"did you mean {zone_!r}\?"):
        zone(name)
