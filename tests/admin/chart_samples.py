"""Samples of every chart, and the golden files that they are compared with.

.venv/bin/python tests/admin/chart_samples.py             writes the golden files anew
.venv/bin/python tests/admin/chart_samples.py page.html   writes a page with all samples, in both
                                                          themes, to look at in a browser
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import sin
from pathlib import Path
from uuid import UUID
from zoneinfo import ZoneInfo

from markupsafe import Markup

from duetime.admin.pages import charts
from duetime.admin.pages.charts.attempts import AttemptSpan, attempts_chart
from duetime.admin.pages.charts.outcome_bars import OutcomeCounts, outcome_bars
from duetime.admin.pages.charts.outcome_strip import StripOutcome, outcome_strip
from duetime.admin.pages.charts.slots import slots_bar
from duetime.admin.pages.charts.sparkline import sparkline
from duetime.admin.pages.charts.state_path import PathStep, state_path
from duetime.admin.pages.charts.timeline import timeline_chart
from duetime.model.state import Outcome, State
from duetime.model.timeline import ComingTicks, Timeline, TimelineAction

GOLDEN = Path(__file__).parent / "golden"
STYLES = Path(charts.__file__).parents[1] / "static" / "charts.css"
PARIS = ZoneInfo("Europe/Paris")
NOW = datetime(2026, 6, 14, 12, 2, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
NAMES = ("billing-nightly-close", "send-receipt", "apply-plan-change", "sync-catalogue")


def lateness() -> list[float | None]:
    chance = random.Random(1)
    values = [2 + sin(minute / 7) + chance.random() for minute in range(60)]
    return [*values[:20], None, None, 9.0, *values[23:]]


def hour() -> list[OutcomeCounts]:
    """Sixty minutes with a bad quarter of an hour, and a minute without a run."""
    chance = random.Random(2)
    start = NOW - HOUR
    steps = []
    for minute in range(60):
        bad = 20 <= minute < 35
        counts = {
            Outcome.succeeded: 0 if minute == 50 else int(60 + 25 * sin(minute / 9)),
            Outcome.failed: chance.randint(3, 12) if bad else int(minute == 44),
            Outcome.retried: chance.randint(5, 15) if bad else 0,
            Outcome.cancelled: 6 if minute in (10, 11) else 0,
            Outcome.skipped: 4 if minute == 15 else 0,
            Outcome.lost: 3 if minute == 36 else 0,
        }
        steps.append(OutcomeCounts(start + minute * MINUTE, {} if minute == 51 else counts))
    return steps


def last_runs(count: int) -> list[StripOutcome]:
    odd = {5: Outcome.failed, 6: Outcome.retried, 13: Outcome.skipped, 17: Outcome.cancelled}
    odd |= {18: Outcome.snoozed, 22: Outcome.lost, 26: Outcome.failed, 27: Outcome.failed}
    odd |= {20: Outcome.released}
    return [
        StripOutcome(
            outcome=odd.get(index, Outcome.succeeded),
            at=NOW - (count - index) * HOUR,
            took=timedelta(seconds=1.2 + index / 10),
        )
        for index in range(count)
    ]


def ran(index: int, hours_ago: float, took: timedelta, outcome: Outcome) -> TimelineAction:
    started = NOW - hours_ago * HOUR
    return TimelineAction(
        id=UUID(int=index),
        kind=NAMES[index % len(NAMES)],
        queue="default",
        tenant=None,
        job=None,
        state=State.failed if outcome is Outcome.failed else State.succeeded,
        outcome=outcome,
        due_at=started,
        started_at=started,
        finished_at=started + took,
    )


def planned(index: int, hours_ahead: float, state: State = State.scheduled) -> TimelineAction:
    at = NOW + hours_ahead * HOUR
    running = state is State.running
    return TimelineAction(
        id=UUID(int=1000 + index),
        kind=NAMES[index % len(NAMES)],
        queue="default",
        tenant="acme",
        job=None,
        state=state,
        outcome=None,
        due_at=at,
        started_at=at if running else None,
        finished_at=None,
    )


def coming(job: str, every: timedelta, count: int) -> ComingTicks:
    return ComingTicks(
        job=job,
        kind=job,
        queue="default",
        tenant=None,
        ticks=tuple(NOW + every * (index + 1) for index in range(count)),
        capped=False,
    )


def day(
    ran: Sequence[TimelineAction] = (),
    scheduled: Sequence[TimelineAction] = (),
    ticks: Sequence[ComingTicks] = (),
    reach: timedelta = 24 * HOUR,
) -> Timeline:
    return Timeline(
        start=NOW - reach,
        end=NOW + reach,
        at=NOW,
        ran=tuple(ran),
        ran_capped=False,
        scheduled=tuple(scheduled),
        scheduled_capped=False,
        ticks=tuple(ticks),
        ticks_capped=False,
    )


def busy_day() -> Timeline:
    runs = [ran(1, 21, 2.5 * HOUR, Outcome.succeeded), ran(2, 16.5, SECOND, Outcome.failed)]
    runs += [ran(3, 13, 40 * MINUTE, Outcome.succeeded), ran(4, 8, 1.2 * HOUR, Outcome.failed)]
    runs += [ran(5 + i, 5.2 - i / 50, SECOND, Outcome.succeeded) for i in range(14)]
    runs += [ran(30 + i, 2.9 - i / 90, SECOND, Outcome(o)) for i, o in enumerate(["succeeded"] * 3)]
    runs += [ran(40 + i, 11 - i / 300, SECOND, Outcome.failed) for i in range(4)]
    due = [planned(1, 3), planned(2, 3.8), planned(3, -1.6), planned(4, -3, State.running)]
    due += [planned(10 + i, 9 + i / 400) for i in range(140)] + [planned(5, 19)]
    ticks = [coming("billing-sync", 6 * HOUR, 4), coming("digest", 11.5 * HOUR, 2)]
    return day(runs, due, [*ticks, coming("poll", 2 * MINUTE, 40)])


def backoff() -> list[AttemptSpan]:
    """Four attempts with growing pauses, of which the last one runs."""
    starts = [NOW - 30 * MINUTE, NOW - 26 * MINUTE, NOW - 18 * MINUTE, NOW - 4 * MINUTE]
    waits = [2 * MINUTE, SECOND, 20 * SECOND, 30 * SECOND]
    took = [45 * SECOND, 3 * MINUTE, 80 * SECOND]
    ended = [start + length for start, length in zip(starts, took, strict=False)]
    outcomes = [Outcome.retried, Outcome.lost, Outcome.retried]
    spans = [
        AttemptSpan(
            number=index + 1,
            ready_at=starts[index] - waits[index],
            started_at=starts[index],
            ended_at=ended[index],
            outcome=outcomes[index],
        )
        for index in range(3)
    ]
    return [*spans, AttemptSpan(number=4, ready_at=starts[3] - waits[3], started_at=starts[3])]


def many_attempts(count: int = 10_000) -> list[AttemptSpan]:
    return [
        AttemptSpan(
            number=index + 1,
            ready_at=NOW - (count - index) * MINUTE,
            started_at=NOW - (count - index) * MINUTE + SECOND,
            ended_at=NOW - (count - index) * MINUTE + 20 * SECOND,
            outcome=Outcome.failed if index == count - 1 else Outcome.retried,
        )
        for index in range(count)
    ]


def path_taken() -> list[PathStep]:
    return [
        PathStep(state=State.scheduled, at=NOW - 2 * HOUR),
        PathStep(state=State.running, at=NOW - HOUR),
        PathStep(state=State.scheduled, at=NOW - 59 * MINUTE),
        PathStep(state=State.running, at=NOW - 2 * MINUTE),
        PathStep(state=State.succeeded, at=None, expected=True),
    ]


def long_path() -> list[PathStep]:
    states = [State.scheduled, State.running] * 600 + [State.failed]
    return [
        PathStep(state=state, at=NOW - (1201 - index) * MINUTE)
        for index, state in enumerate(states)
    ]


def hostile() -> Timeline:
    name = "\u202e<script>alert('x')</script>&\"\x1b[2J" + "n" * 300
    mark = planned(7, 2)
    return day(
        scheduled=[TimelineAction(**{f: getattr(mark, f) for f in mark.__slots__} | {"kind": name})]
    )


SAMPLES: Mapping[str, Callable[[], Markup]] = {
    "sparkline": lambda: sparkline(lateness(), "Lateness p99, last hour: 2.4 ms"),
    "sparkline-empty": lambda: sparkline([], "Lateness"),
    "sparkline-single": lambda: sparkline([3], "Lateness"),
    "sparkline-zeros": lambda: sparkline([0.0] * 60, "Failed: 0"),
    "sparkline-huge": lambda: sparkline([1, 10**400, float("inf"), float("nan"), -3], "Huge"),
    "outcome-bars": lambda: outcome_bars(hour(), "Outcomes, last hour", PARIS, "en"),
    "outcome-bars-french": lambda: outcome_bars(hour(), "Résultats, dernière heure", PARIS, "fr"),
    "outcome-bars-empty": lambda: outcome_bars([], "Outcomes", PARIS, "en"),
    "outcome-bars-single": lambda: outcome_bars(hour()[:1], "Outcomes", PARIS, "en"),
    "outcome-strip": lambda: outcome_strip(last_runs(30), "Last runs", PARIS, "en"),
    "outcome-strip-narrow": lambda: outcome_strip(
        last_runs(30), "Last runs", PARIS, "en", focusable=False, room=10
    ),
    "outcome-strip-short": lambda: outcome_strip(last_runs(8), "Last runs", PARIS, "fr"),
    "outcome-strip-empty": lambda: outcome_strip([], "Last runs", PARIS, "en"),
    "timeline": lambda: timeline_chart(
        busy_day(),
        "Timeline",
        PARIS,
        "en",
        action_path=lambda id_: f"/actions/{id_}",
        job_path=lambda name: f"/jobs/{name}",
    ),
    "timeline-french": lambda: timeline_chart(busy_day(), "Chronologie", PARIS, "fr"),
    "timeline-empty": lambda: timeline_chart(day(), "Timeline", PARIS, "en"),
    "timeline-hostile": lambda: timeline_chart(hostile(), "Timeline", UTC, "en"),
    "attempts": lambda: attempts_chart(backoff(), NOW, "Attempts", PARIS, "en"),
    "attempts-first": lambda: attempts_chart(
        [AttemptSpan(number=1, ready_at=NOW)], NOW, "Attempts", PARIS, "en"
    ),
    "attempts-many": lambda: attempts_chart(many_attempts(), NOW, "Attempts", PARIS, "fr"),
    "attempts-empty": lambda: attempts_chart([], NOW, "Attempts", PARIS, "en"),
    "state-path": lambda: state_path(path_taken(), NOW, "Path", PARIS, "en"),
    "state-path-long": lambda: state_path(long_path(), NOW, "Parcours", PARIS, "fr"),
    "state-path-empty": lambda: state_path([], NOW, "Path", PARIS, "en"),
    "slots": lambda: slots_bar(87, 200, "Slots", "en"),
    "slots-all-used": lambda: slots_bar(12_345, 12_345, "Places", "fr"),
    "slots-none": lambda: slots_bar(0, 0, "Slots", "en"),
}


def write_golden_files() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for old in GOLDEN.glob("*.svg"):
        old.unlink()
    for name, draw in SAMPLES.items():
        (GOLDEN / f"{name}.svg").write_text(f"{draw()}\n", encoding="utf-8")


def page() -> str:
    """A page with all samples, in both themes."""
    figures = "".join(
        f'<figure><figcaption>{name}</figcaption><div class="chart-scroll">{draw()}</div></figure>'
        for name, draw in SAMPLES.items()
    )
    styles = STYLES.read_text(encoding="utf-8") + (
        "body{margin:0;display:flex;font:14px/1.5 system-ui,sans-serif}"
        "section{flex:1;min-width:0;padding:16px;background:var(--chart-ground);"
        "color:var(--chart-text)}figure{margin:0 0 20px}figcaption{color:var(--text-muted)}"
    )
    sections = "".join(f'<section data-theme="{t}">{figures}</section>' for t in ("light", "dark"))
    return f'<!doctype html><meta charset="utf-8"><style>{styles}</style>{sections}'


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(page(), encoding="utf-8")
    else:
        write_golden_files()
