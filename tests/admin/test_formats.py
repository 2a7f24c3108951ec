"""Numbers, durations and instants, as each language writes them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duetime.admin.pages.formats.durations import duration, relative
from duetime.admin.pages.formats.instants import clock_time, day_of, exact, short
from duetime.admin.pages.formats.numbers import (
    CountedNoun,
    byte_size,
    compact,
    counted,
    decimal,
    whole,
)
from duetime.admin.pages.formats.phrases import OUTCOMES, STATES
from duetime.admin.pages.languages import LANGUAGES, Language
from duetime.model.state import Outcome, State
from duetime.words.habits import NO_NUMBER

PARIS = ZoneInfo("Europe/Paris")
NOW = datetime(2026, 6, 14, 12, 2, tzinfo=UTC)
MINUTE, HOUR, DAY, YEAR = 60, 3600, 86_400, 365.25 * 86_400
MINUS_3_30 = timezone(timedelta(hours=-3, minutes=-30))

# Runs for as long as the machine takes.
NO_DEADLINE = settings(deadline=None)
languages = st.sampled_from(LANGUAGES)


def plain(text: str) -> str:
    """The text with ordinary spaces, which are easier to read here."""
    return text.replace("\u00a0", " ").replace("\u202f", " ")


# -- numbers -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "en", "fr"),
    [
        (0, "0", "0"),
        (999, "999", "999"),
        (12_345, "12,345", "12\u202f345"),
        (-1_234_567, "-1,234,567", "-1\u202f234\u202f567"),
        (10**40, "> 10^30", "> 10^30"),
        (-(10**30), "< -10^30", "< -10^30"),
    ],
)
def test_whole_numbers_are_grouped(number: int, en: str, fr: str) -> None:
    assert (whole(number, "en"), whole(number, "fr")) == (en, fr)


def test_a_number_of_more_digits_than_python_writes_is_written() -> None:
    assert whole(10**5000, "fr") == "> 10^30"


@pytest.mark.parametrize(
    ("number", "en", "fr"),
    [
        (1.25, "1.2", "1,2"),
        (2.0, "2", "2"),
        (-0.04, "0", "0"),
        (-1.26, "-1.3", "-1,3"),
        (1234.56, "1,234.6", "1\u202f234,6"),
        (math.nan, NO_NUMBER, NO_NUMBER),
        (math.inf, NO_NUMBER, NO_NUMBER),
        (1e300, "> 10^30", "> 10^30"),
    ],
)
def test_decimals_have_the_mark_of_the_language(number: float, en: str, fr: str) -> None:
    assert (decimal(number, 1, "en"), decimal(number, 1, "fr")) == (en, fr)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (12_999, "12k"),
        (10**6, "1M"),
        (-5200, "-5k"),
        (10**12, ">999G"),
    ],
)
def test_small_marks_have_compact_numbers(number: int, text: str) -> None:
    assert compact(number) == text


@NO_DEADLINE
@given(st.integers())
def test_compact_numbers_are_short(number: int) -> None:
    assert len(compact(abs(number))) <= 5


@pytest.mark.parametrize(
    ("size", "en", "fr"),
    [
        (0, "0 B", "0 o"),
        (1, "1 B", "1 o"),
        (999, "999 B", "999 o"),
        (1_200, "1.2 kB", "1,2 ko"),
        (999_949, "999.9 kB", "999,9 ko"),
        (999_950, "1 MB", "1 Mo"),
        (1_048_576, "1 MB", "1 Mo"),
        (3 * 10**18, "3 EB", "3 Eo"),
        (5 * 10**21, "5,000 EB", "5 000 Eo"),
    ],
)
def test_sizes_have_the_unit_that_fits(size: int, en: str, fr: str) -> None:
    assert (plain(byte_size(size, "en")), plain(byte_size(size, "fr"))) == (en, fr)


def test_units_stay_on_the_line_of_their_number() -> None:
    assert byte_size(1200, "fr") == "1,2\u00a0ko"
    assert duration(184, "en") == "3\u00a0min\u00a04\u00a0s"


@pytest.mark.parametrize(
    ("count", "en", "fr"),
    [
        (0, "0 runs", "0 essai"),
        (1, "1 run", "1 essai"),
        (2, "2 runs", "2 essais"),
        (-1, "-1 run", "-1 essai"),
        (1000, "1,000 runs", "1 000 essais"),
    ],
)
def test_nothing_is_plural_in_english_and_singular_in_french(count: int, en: str, fr: str) -> None:
    assert plain(counted(count, CountedNoun("run", "runs"), "en")) == en
    assert plain(counted(count, CountedNoun("essai", "essais"), "fr")) == fr


# -- durations -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "en", "fr"),
    [
        (0, "0 ms", "0 ms"),
        (0.000_84, "0.84 ms", "0,84 ms"),
        (0.002_4, "2.4 ms", "2,4 ms"),
        (0.099_9, "100 ms", "100 ms"),
        (0.25, "250 ms", "250 ms"),
        (0.999_6, "1 s", "1 s"),
        (1.2, "1.2 s", "1,2 s"),
        (9.96, "10 s", "10 s"),
        (59.4, "59 s", "59 s"),
        (59.6, "1 min", "1 min"),
        (184, "3 min 4 s", "3 min 4 s"),
        (3599.6, "1 h", "1 h"),
        (2 * HOUR + 5 * MINUTE, "2 h 5 min", "2 h 5 min"),
        (DAY - 20, "1 d", "1 j"),
        (3 * DAY + 4 * HOUR, "3 d 4 h", "3 j 4 h"),
        (40_000 * DAY, "40,000 d", "40 000 j"),
        (-2.5, "-2.5 s", "-2,5 s"),
        (-184, "-3 min 4 s", "-3 min 4 s"),
        (-0.000_000_1, "0 ms", "0 ms"),
        (math.nan, NO_NUMBER, NO_NUMBER),
    ],
)
def test_durations_have_the_units_that_matter(seconds: float, en: str, fr: str) -> None:
    assert (plain(duration(seconds, "en")), plain(duration(seconds, "fr"))) == (en, fr)


@pytest.mark.parametrize(
    ("seconds", "en", "fr"),
    [
        (0, "now", "maintenant"),
        (-0.4, "now", "maintenant"),
        (3 * MINUTE, "in 3 min", "dans 3 min"),
        (-2 * HOUR, "2 h ago", "il y a 2 h"),
        (-59.6, "1 min ago", "il y a 1 min"),
        (DAY, "in 1 day", "dans 1 jour"),
        (-2 * DAY, "2 days ago", "il y a 2 jours"),
        (90 * DAY, "in 3 months", "dans 3 mois"),
        (2 * YEAR, "in 2 years", "dans 2 ans"),
        (-7973 * YEAR, "7,973 years ago", "il y a 7 973 ans"),
        (math.inf, NO_NUMBER, NO_NUMBER),
    ],
)
def test_distances_lead_ahead_or_back(seconds: float, en: str, fr: str) -> None:
    assert (plain(relative(seconds, "en")), plain(relative(seconds, "fr"))) == (en, fr)


@NO_DEADLINE
@given(st.floats(), languages)
def test_any_duration_is_written_in_a_few_characters(seconds: float, language: Language) -> None:
    assert len(duration(seconds, language)) <= 50
    assert len(relative(seconds, language)) <= 50


@NO_DEADLINE
@given(st.floats(0.01, 1e9), languages)
def test_a_negative_duration_is_the_positive_one_with_a_sign(
    seconds: float, language: Language
) -> None:
    assert duration(-seconds, language) == f"-{duration(seconds, language)}"


# -- instants ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instant", "zone", "en", "fr"),
    [
        (
            NOW,
            PARIS,
            "Sun 14 Jun 2026, 14:02:00 Europe/Paris (UTC+2)",
            "dim. 14 juin 2026, 14:02:00 Europe/Paris (UTC+2)",
        ),
        (
            datetime(2026, 8, 1, 0, 0, 0, 250_000, UTC),
            UTC,
            "Sat 1 Aug 2026, 00:00:00.25 UTC",
            "sam. 1er août 2026, 00:00:00,25 UTC",
        ),
        (
            NOW,
            MINUS_3_30,
            "Sun 14 Jun 2026, 08:32:00 UTC-3:30",
            "dim. 14 juin 2026, 08:32:00 UTC-3:30",
        ),
    ],
)
def test_exact_instants_name_their_zone(instant: datetime, zone: tzinfo, en: str, fr: str) -> None:
    assert (exact(instant, zone, "en"), exact(instant, zone, "fr")) == (en, fr)


def test_the_two_hours_of_a_clock_set_back_differ() -> None:
    before = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    after = before + timedelta(hours=1)
    assert exact(before, PARIS, "en") == "Sun 25 Oct 2026, 02:30:00 Europe/Paris (UTC+2)"
    assert exact(after, PARIS, "en") == "Sun 25 Oct 2026, 02:30:00 Europe/Paris (UTC+1)"


def test_the_day_of_the_reader_decides_what_is_today() -> None:
    late = datetime(2026, 6, 14, 22, 30, tzinfo=UTC)
    assert short(late, NOW, UTC, "en") == "22:30:00"
    assert short(late, NOW, PARIS, "en") == "15 Jun, 00:30"
    assert short(late - timedelta(days=400), NOW, PARIS, "fr") == "11 mai 2025, 00:30"


def test_days_have_their_year_unless_it_is_this_one() -> None:
    assert day_of(NOW, PARIS, "en", NOW) == "14 Jun"
    assert day_of(NOW, PARIS, "en") == "14 Jun 2026"
    assert day_of(NOW + timedelta(days=200), PARIS, "fr", NOW) == "31 déc."
    assert day_of(NOW + timedelta(days=201), PARIS, "fr", NOW) == "1er janv. 2027"


def test_a_time_has_seconds_where_they_are_asked_for() -> None:
    assert clock_time(NOW, PARIS) == "14:02"
    assert clock_time(NOW, PARIS, seconds=True) == "14:02:00"


@NO_DEADLINE
@given(
    st.datetimes(timezones=st.just(UTC)),
    st.sampled_from([UTC, PARIS, ZoneInfo("Pacific/Apia"), ZoneInfo("America/St_Johns")]),
    languages,
)
def test_any_instant_is_written(instant: datetime, zone: tzinfo, language: Language) -> None:
    assert str(instant.year)[:1] in exact(instant, zone, language) or instant.year in (1, 9999)
    assert short(instant, NOW, zone, language)


@pytest.mark.parametrize(
    "instant", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
)
def test_the_ends_of_the_calendar_are_written_in_every_zone(instant: datetime) -> None:
    for zone in ("Pacific/Apia", "Pacific/Kiritimati", "Pacific/Pago_Pago"):
        assert str(instant.year) in exact(instant, ZoneInfo(zone), "en")


def test_every_state_and_outcome_has_its_word() -> None:
    assert set(STATES) == set(State)
    assert set(OUTCOMES) == set(Outcome)
    # In English, the words of the glossary.
    assert [phrase.en for phrase in STATES.values()] == list(State)
    assert [phrase.en for phrase in OUTCOMES.values()] == list(Outcome)
