"""Editing the rule of a job: what it would change, and what has changed since it was opened."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from duetime.admin.pages.page import FramedPage
from duetime.admin.rule_preview import (
    NotedTick,
    next_ticks,
    noted_tick,
    to_rule,
    within_span,
)
from duetime.errors import DuetimeError, InvalidArgument, UnreadableJob
from duetime.model.jobs.limits import retry_of
from duetime.model.jobs.misfire import Misfire
from duetime.model.jobs.view import Job
from duetime.model.recurrence.base import Recurrence
from duetime.model.recurrence.serialize import from_text
from duetime.words.languages import error_said

SHOWN_TICKS = 10
# What `put` takes as the job has it.
KEPT_FIELDS = (
    *("starts_at", "ends_at", "misfire_after", "overlap", "jitter", "alert_after"),
    *("priority", "queue", "timeout", "tenant"),
)
# What a reader is told if it changed while an edit was open.
COMPARED_FIELDS = (
    *("kind", "recurrence", "tz", "starts_at", "ends_at", "queue", "priority", "overlap"),
    *("misfire", "misfire_after", "jitter", "retry", "timeout", "alert_after", "state"),
)

# Whose values have names.
NOUNS = {
    "state": "job_state",
    "overlap": "overlap",
    "misfire": "misfire",
    "priority": "priority",
}


@dataclass(frozen=True, slots=True)
class ShownRule:
    """A rule in words, and its next ticks."""

    words: str
    ticks: Sequence[NotedTick]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEdit:
    """An edit that the open dialog shows before it is confirmed, or what is wrong with a field."""

    rule: str
    zone: str
    version: int
    # The job as the reader sees it now, to compare it with what there is when they confirm.
    seen: str
    old: ShownRule
    new: ShownRule | None = None
    wrong: tuple[str, str] | None = None


class StaleField(NamedTuple):
    """What a reader saw, and what has become of it since, as people call it."""

    name: str
    seen: str
    now: str


def can_edit(page: FramedPage, job: Job) -> bool:
    """Return whether the reader may edit the job, and this process can: code declares it otherwise,
    or its payload cannot be kept."""
    entry = page.app.runtime.payloads.find(job.kind)
    keeps_payload = entry is not None and isinstance(job.payload, entry.type)
    own = not job.declared and job.app == page.app.settings.name
    return own and keeps_payload and page.allows("jobs.edit")


def rule_edit(page: FramedPage, job: Job, old: ShownRule) -> RuleEdit:
    """Return the edit of the open dialog: the job's own rule until another one is given."""
    query = page.request.query_params
    edit = RuleEdit(
        rule=query.get("rule", job.recurrence).strip(),
        zone=query.get("rule_zone", job.tz).strip(),
        version=job.version,
        seen=json.dumps(_compared(job)),
        old=old,
    )
    if "rule" not in query:
        return edit
    try:
        return replace(edit, new=_shown(page, job, to_rule_of(job, edit.rule, edit.zone)))
    except InvalidArgument as error:
        field = "rule_zone" if error.argument == "tz" else "rule"
        return replace(edit, wrong=(field, error_said(error, page.language)))


def shown_rule(page: FramedPage, job: Job) -> ShownRule | None:
    """Return the rule of a job; None if only other versions can read it."""
    try:
        return _shown(page, job, from_text(job.recurrence, job.tz))
    except DuetimeError:
        return None


def to_rule_of(job: Job, text: str, zone: str) -> Recurrence:
    """Return the rule of a form. Zones of rules in JSON stand within them."""
    has_zones = text.startswith("{") and zone == job.tz
    return to_rule(text, None if has_zones else zone)


def kept_arguments(job: Job) -> Mapping[str, Any]:
    """Return the arguments of `put` that leave all but its rule as the job has it."""
    kept = {name: getattr(job, name) for name in KEPT_FIELDS}
    misfire = job.misfire
    try:
        retry = None if job.retry is None else retry_of(job.retry)
    except ValueError:
        raise UnreadableJob(job.name) from None
    return kept | {
        "payload": job.payload,
        "retry": retry,
        "misfire": Misfire.from_text(misfire) if misfire.startswith("{") else misfire,
    }


def changed_since(page: FramedPage, job: Job) -> list[StaleField]:
    """Return what has changed in a job since the reader opened the edit that was refused."""
    try:
        seen = json.loads(page.typed("seen"))
    except (ValueError, RecursionError):
        return []
    if not isinstance(seen, dict):
        return []
    now = _compared(job)
    return [
        StaleField(name, _named(page, name, str(seen[name])), _named(page, name, now[name]))
        for name in COMPARED_FIELDS
        if name in seen and seen[name] != now[name]
    ]


def _shown(page: FramedPage, job: Job, rule: Recurrence) -> ShownRule:
    within = within_span(rule, job)
    ticks = next_ticks(within, page.now, SHOWN_TICKS)
    return ShownRule(within.describe(page.language), [noted_tick(rule, tick) for tick in ticks])


def _named(page: FramedPage, field: str, value: str) -> str:
    noun = NOUNS.get(field)
    return value if noun is None else page.named(noun, value)


def _compared(job: Job) -> dict[str, str]:
    values = {name: getattr(job, name) for name in COMPARED_FIELDS}
    return {name: "" if value is None else str(value) for name, value in values.items()}
