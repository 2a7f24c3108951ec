"""Charts: golden files, and what holds for all values."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from admin.chart_samples import (
    GOLDEN,
    NOW,
    PARIS,
    SAMPLES,
    busy_day,
    coming,
    day,
    hostile,
    last_runs,
    many_attempts,
    planned,
    ran,
)
from admin.svg_checks import classes, name_of, names, outside, read_svg, view_box
from duetime.admin.pages.charts.attempts import AttemptSpan, attempts_chart
from duetime.admin.pages.charts.outcome_bars import OutcomeCounts, outcome_bars
from duetime.admin.pages.charts.outcome_strip import StripOutcome, outcome_strip
from duetime.admin.pages.charts.slots import slots_bar
from duetime.admin.pages.charts.sparkline import sparkline
from duetime.admin.pages.charts.state_path import PathStep, state_path
from duetime.admin.pages.charts.svg import width_of
from duetime.admin.pages.charts.timeline import pill_width, timeline_chart
from duetime.admin.pages.formats.numbers import compact
from duetime.admin.pages.languages import LANGUAGES, Language
from duetime.model.state import Outcome, State

MAX_ELEMENTS = 1500
REGENERATE = "run .venv/bin/python tests/admin/chart_samples.py, and look at what changed"

# Runs for as long as the machine takes.
NO_DEADLINE, FEWER_EXAMPLES = settings(deadline=None), settings(deadline=None, max_examples=50)

instants = st.datetimes(timezones=st.just(UTC)) | st.datetimes(
    min_value=datetime(2026, 10, 24),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(2026, 10, 26),  # noqa: DTZ001
    timezones=st.just(UTC),
)
zones = st.sampled_from([UTC, PARIS, ZoneInfo("Asia/Kathmandu"), ZoneInfo("Pacific/Apia")])
languages = st.sampled_from(LANGUAGES)
labels = st.text(max_size=40)
counts = st.integers(-5, 10**30)
numbers = st.none() | st.integers() | st.floats() | st.just(10**400)
outcomes = st.sampled_from(Outcome)
states = st.sampled_from(State)


@pytest.mark.parametrize("name", SAMPLES)
def test_charts_are_as_in_their_golden_files(name: str) -> None:
    golden = (GOLDEN / f"{name}.svg").read_text(encoding="utf-8")
    assert f"{SAMPLES[name]()}\n" == golden, REGENERATE


def test_every_golden_file_has_its_sample() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_stay_within_their_view_box(name: str) -> None:
    check(SAMPLES[name]())


def check(chart: Markup) -> None:
    """What holds for every chart, whatever it shows."""
    root = read_svg(chart)
    assert outside(root) == []
    assert len(names(root)) <= MAX_ELEMENTS
    assert set(names(root)) <= {"svg", "g", "a", "title", "text", "rect", "line", "circle", "path"}
    attributes = {key: value for each in root.iter() for key, value in each.attrib.items()}
    assert not [key for key in attributes if key == "style" or key.startswith("on")]
    drawn = [v for e in root.iter() for k, v in e.attrib.items() if k not in ("aria-label", "href")]
    assert not re.search(r"\b(nan|inf)\b", " ".join(drawn))
    assert root.get("aria-label")
    focusable = [each for each in root.iter() if "tabindex" in each.attrib or "href" in each.attrib]
    assert root.get("role") == ("group" if focusable else "img")
    assert all(map(name_of, focusable))


@NO_DEADLINE
@given(st.lists(numbers, max_size=300), labels)
def test_sparklines_show_any_numbers(values: list[float | None], label: str) -> None:
    check(sparkline(values, f"Lateness {label}"))


@FEWER_EXAMPLES
@given(
    st.lists(st.dictionaries(outcomes, counts), max_size=200), instants, zones, languages, labels
)
def test_outcome_bars_show_any_counts(
    steps: list[dict[Outcome, int]],
    start: datetime,
    zone: ZoneInfo,
    language: Language,
    label: str,
) -> None:
    room = min(datetime.max.replace(tzinfo=UTC) - start, timedelta(minutes=len(steps)))
    first = start + room - timedelta(minutes=len(steps)) if room else start
    at = [first + timedelta(minutes=i) if first.year < 9999 else start for i in range(len(steps))]
    values = [OutcomeCounts(*each) for each in zip(at, steps, strict=True)]
    check(outcome_bars(values, label, zone, language))


@NO_DEADLINE
@given(
    st.lists(st.tuples(outcomes, instants, st.none() | st.timedeltas()), max_size=40),
    zones,
    languages,
    st.booleans(),
)
def test_outcome_strips_show_any_runs(
    runs: list[tuple[Outcome, datetime, timedelta | None]],
    zone: ZoneInfo,
    language: Language,
    focusable: bool,
) -> None:
    cells = [StripOutcome(outcome=o, at=at, took=took) for o, at, took in runs]
    check(outcome_strip(cells, "Last runs", zone, language, focusable=focusable))


@FEWER_EXAMPLES
@given(
    st.lists(
        st.tuples(instants, st.none() | instants, st.none() | instants, outcomes), max_size=60
    ),
    instants,
    zones,
    languages,
)
def test_attempts_are_drawn_for_any_instants(
    spans: list[tuple[datetime, datetime | None, datetime | None, Outcome]],
    now: datetime,
    zone: ZoneInfo,
    language: Language,
) -> None:
    attempts = [
        AttemptSpan(number=i, ready_at=a, started_at=b, ended_at=c, outcome=o if c else None)
        for i, (a, b, c, o) in enumerate(spans)
    ]
    check(attempts_chart(attempts, now, "Attempts", zone, language))


@NO_DEADLINE
@given(
    st.lists(st.tuples(states, st.none() | instants, st.booleans()), max_size=9),
    instants,
    zones,
    languages,
)
def test_paths_are_drawn_for_any_states(
    steps: list[tuple[State, datetime | None, bool]],
    now: datetime,
    zone: ZoneInfo,
    language: Language,
) -> None:
    path = [PathStep(state=state, at=at, expected=expected) for state, at, expected in steps]
    check(state_path(path, now, "Path", zone, language))


@FEWER_EXAMPLES
@given(
    st.lists(st.tuples(st.floats(-3e4, 3e4), st.timedeltas(), outcomes), max_size=40),
    st.lists(st.floats(-3e4, 3e4), max_size=40),
    st.timedeltas(timedelta(0), timedelta(days=900)),
    zones,
    languages,
)
def test_timelines_show_any_actions(
    runs: list[tuple[float, timedelta, Outcome]],
    due: list[float],
    reach: timedelta,
    zone: ZoneInfo,
    language: Language,
) -> None:
    short = timedelta(days=3000)
    ended = [ran(i, ago, max(min(took, short), -short), o) for i, (ago, took, o) in enumerate(runs)]
    ahead = [
        planned(i, hours, State.running if i % 3 else State.scheduled)
        for i, hours in enumerate(due)
    ]
    check(timeline_chart(day(ended, ahead, reach=reach), "Timeline", zone, language))


@NO_DEADLINE
@given(st.integers(), st.integers(), languages)
def test_slots_show_any_counts(used: int, total: int, language: Language) -> None:
    check(slots_bar(used, total, "Slots", language))


# -- what is bounded -----------------------------------------------------------------


def test_ten_thousand_values_make_as_many_elements_as_a_hundred() -> None:
    check(sparkline([1.0] * 10_000, "Lateness"))
    assert len(sparkline([1.0] * 10_000, "Lateness")) < 3000
    step = dict.fromkeys(Outcome, 3)
    year = [OutcomeCounts(NOW + timedelta(minutes=i), step) for i in range(10_000)]
    check(outcome_bars(year, "Outcomes", PARIS, "en"))
    check(attempts_chart(many_attempts(10_000), NOW, "Attempts", PARIS, "en"))
    check(outcome_strip(last_runs(10_000), "Last runs", PARIS, "en"))
    ended = [ran(i, i / 450, timedelta(hours=3), Outcome.lost) for i in range(10_000)]
    ahead = [planned(i, i / 450) for i in range(10_000)]
    ticks = [coming("poll", timedelta(seconds=8), 10_000)]
    check(timeline_chart(day(ended, ahead, ticks), "Timeline", PARIS, "en"))


def test_no_data_changes_the_size_of_a_chart() -> None:
    sizes: dict[str, set[tuple[float, float]]] = {}
    for draw in SAMPLES.values():
        root = read_svg(draw())
        sizes.setdefault(root.attrib["class"], set()).add(view_box(root))
    assert len(sizes) == 8
    assert all(len(each) == 1 for each in sizes.values()), sizes


# -- what is said --------------------------------------------------------------------


def test_text_from_data_is_escaped_and_made_safe() -> None:
    drawn = timeline_chart(hostile(), "</title><script>", UTC, "en")
    assert "<script" not in drawn
    assert "\u202e" not in drawn
    assert "\x1b" not in drawn
    assert r"\u202e&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&#34;\x1b[2J" in drawn


def test_characters_that_xml_cannot_hold_are_replaced() -> None:
    assert read_svg(sparkline([1], "a\ufffe\uffffb")).get("aria-label") == "a\ufffd\ufffdb"


def test_paths_in_links_are_escaped() -> None:
    drawn = timeline_chart(busy_day(), "Timeline", UTC, "en", action_path=lambda _: '"><b>')
    assert 'href="&#34;&gt;&lt;b&gt;"' in drawn
    assert "<b>" not in drawn


def labels_of(chart: Markup) -> list[str]:
    """What a screen reader says of a chart, and of each of its parts."""
    return [name_of(each) for each in read_svg(chart).iter() if "role" in each.attrib]


def test_a_strip_says_how_each_run_ended_how_long_it_took_and_when() -> None:
    run = StripOutcome(outcome=Outcome.failed, at=NOW, took=timedelta(seconds=1.2))
    assert labels_of(outcome_strip([run], "Last runs", PARIS, "en")) == [
        "Last runs: 1\u00a0run, failed 1",
        "failed, 1.2\u00a0s, Sun 14 Jun 2026, 14:02:00 Europe/Paris (UTC+2)",
    ]


def test_a_strip_that_is_one_of_many_takes_no_focus() -> None:
    drawn = outcome_strip(last_runs(9), "Last runs", PARIS, "en", focusable=False)
    assert len(labels_of(drawn)) == 1
    assert "tabindex" not in drawn


def test_an_attempt_says_how_long_it_waited_and_ran() -> None:
    attempt = AttemptSpan(
        number=3,
        ready_at=NOW,
        started_at=NOW + timedelta(milliseconds=2.4),
        ended_at=NOW + timedelta(seconds=2, milliseconds=2.4),
        outcome=Outcome.retried,
    )
    said = labels_of(attempts_chart([attempt], NOW, "Tentatives", PARIS, "fr"))[1]
    assert said.startswith("tentative 3, réessayée, attente 2,4\u00a0ms, durée 2\u00a0s, dim. 14")


def test_ticks_of_a_minute_are_folded_from_three_on() -> None:
    def of(count: int) -> list[str]:
        ticks = [coming("poll", timedelta(seconds=1), count)]
        hour = timedelta(hours=1)
        return labels_of(timeline_chart(day(ticks=ticks, reach=hour), "T", UTC, "en"))[1:]

    assert len(of(2)) == 2
    assert len(of(3)) == 1
    (folded,) = of(12)
    assert folded.split("\n") == [
        "Ticks: 12, Sun 14 Jun 2026, 12:02:01 UTC",
        *(f"poll, tick, 12:02:{second:02}" for second in range(1, 11)),
        "and 2 more",
    ]


@pytest.mark.parametrize("count", [3, 12, 120, 99_999])
def test_counts_of_a_timeline_fit_into_their_pills_which_lie_apart(count: int) -> None:
    ticks = [coming("poll", timedelta(minutes=1), 2000)]
    drawn = timeline_chart(day(ticks=ticks), "T", UTC, "en")
    pills = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"[^>]*class="count"', drawn)
    spans = sorted((float(x), float(x) + float(width)) for x, _, width in pills)
    assert len(spans) > 10
    assert all(end < start for (_, end), (start, _) in pairwise(spans))
    assert pill_width(compact(count)) >= width_of(compact(count)) + 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_legend_has_room_for_the_largest_counts(language: Language) -> None:
    check(outcome_bars([OutcomeCounts(NOW, dict.fromkeys(Outcome, 10**40))], "O", UTC, language))


def test_what_failed_among_folded_runs_is_marked() -> None:
    """So that a count looks as it should be looked at."""
    runs = [ran(i, 3, timedelta(seconds=1), Outcome.succeeded) for i in range(30)]
    calm = timeline_chart(day(runs), "T", UTC, "en")
    alarm = timeline_chart(
        day([*runs, ran(40, 3, timedelta(seconds=1), Outcome.failed)]), "T", UTC, "en"
    )
    assert "failed" not in classes(read_svg(calm))
    assert "failed" in classes(read_svg(alarm))


def test_a_failure_among_thousands_has_a_bar_that_is_seen() -> None:
    drawn = outcome_bars(
        [OutcomeCounts(NOW, {Outcome.succeeded: 100_000, Outcome.failed: 1})], "O", UTC, "en"
    )
    (bar,) = [
        e
        for e in read_svg(drawn).iter()
        if e.get("class") == "failed full" and e.tag.endswith("rect")
    ]
    assert float(bar.attrib["height"]) >= 1.9


def test_the_highest_bar_reaches_the_highest_line_of_the_grid() -> None:
    """Also where failures are drawn higher than they count."""
    counts = dict.fromkeys(Outcome, 1) | {Outcome.succeeded: 10**6 - len(Outcome) + 1}
    root = read_svg(outcome_bars([OutcomeCounts(NOW, counts)], "O", UTC, "en"))
    lines = [float(each.attrib["y1"]) for each in root.iter() if each.get("class") == "grid"]
    bars = [float(each.attrib["y"]) for each in root.iter() if each.tag.endswith("rect")]
    assert min(bars) == pytest.approx(min(lines), abs=0.1)


def test_words_agree_with_their_count() -> None:
    runs = [OutcomeCounts(NOW, {Outcome.succeeded: 2, Outcome.failed: 1})]
    french = outcome_bars(runs, "Résultats", UTC, "fr")
    assert "Résultats\u00a0: réussies 2, échouée 1" in french
    assert "Outcomes: succeeded 2, failed 1" in outcome_bars(runs, "Outcomes", UTC, "en")


def test_links_lead_to_actions_and_jobs() -> None:
    timeline = day(scheduled=[planned(1, 2)], ticks=[coming("poll", timedelta(hours=1), 1)])
    drawn = timeline_chart(
        timeline, "T", UTC, "en", action_path=lambda i: f"/a/{i}", job_path=lambda n: f"/j/{n}"
    )
    links = [each.get("href") for each in read_svg(drawn).iter() if "href" in each.attrib]
    assert links == [f"/a/{UUID(int=1001)}", "/j/poll"]


Draw = Callable[[], Markup]


@pytest.mark.parametrize("language", LANGUAGES)
def test_charts_without_values_say_so(language: Language) -> None:
    words = {"en": "nothing yet", "fr": "rien pour l&#39;instant"}[language]
    draws: list[Draw] = [
        lambda: outcome_bars([], "O", UTC, language),
        lambda: outcome_strip([], "O", UTC, language),
        lambda: attempts_chart([], NOW, "A", UTC, language),
        lambda: state_path([], NOW, "P", UTC, language),
    ]
    assert all(words in draw() for draw in draws)
