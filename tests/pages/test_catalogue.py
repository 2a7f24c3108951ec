"""Every text is there in each language, and used."""

import re
from collections import Counter
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest

from duetime.admin.openapi import PROBLEM_TITLES
from duetime.admin.pages.bulk_dialog import UNITS
from duetime.admin.pages.catalogue import ALL_TEXTS, CATALOGUE, text_of
from duetime.admin.pages.job_edit import COMPARED_FIELDS
from duetime.admin.pages.jobs import FURTHER
from duetime.admin.pages.languages import LANGUAGE_NAMES, LANGUAGES
from duetime.admin.pages.places import PLACE_NAMES
from duetime.admin.pages.subscriptions import CHANNEL_TEXTS
from duetime.admin.pages.themes import THEMES
from duetime.admin.routes.bulks import VERB_PERMISSIONS
from duetime.model.actions.chain import On
from duetime.model.actions.new_actions import IfExists
from duetime.model.health.problems import ProblemName
from duetime.model.lane import Priority
from duetime.model.notifications.subscription import SubscriptionState
from duetime.model.notifications.topics import TOPIC_NAMES
from duetime.model.state import Outcome, State
from duetime.model.transition import Effect
from duetime.notifications.links import LinkPurpose

PAGES = Path(__file__).parents[2] / "src" / "duetime" / "admin" / "pages"
# In templates `t("key")`, in Python `page.text("key")` and `text_of("key")`.
USED = re.compile(r"""\b(?:t|text|text_of)\(\s*["'](\w+)["']""")
# What keys begin with that are completed: by a status, or by the name of a place, state or other.
BY_STATUS = "error_"
COMPLETED = {
    "place_": PLACE_NAMES,
    "state_": [state.value for state in State],
    "theme_": THEMES,
    "now_span_": ("hour", "day"),
    "outcome_": [outcome.value for outcome in Outcome],
    "timeline_": ("earlier", "closer", "wider", "later"),
    "problem_": [
        "job_failing_times",
        *(f"{name}{end}" for name in get_args(ProblemName) for end in ("", "_remedy")),
    ],
    "ended_": [outcome.value for outcome in Outcome],
    "on_": get_args(On),
    "bulk_": VERB_PERMISSIONS,
    "bulk_unit_": UNITS,
    "job_": COMPARED_FIELDS,
    "jobs_": ("q", "kind", "queue", *FURTHER),
    "backfill_": ("first", "last"),
    "priority_": [priority.name for priority in Priority],
    "action_": ("state", "kind", "queue", "result", "progress"),
    "actions_": ("overdue", "retrying", "waiting", "parked"),
    "filter_": [key.removeprefix("filter_") for key in CATALOGUE if key.startswith("filter_")],
    "effect_": [effect.value for effect in Effect],
    "if_exists_": get_args(IfExists),
    "topic_": [name.replace("-", "_") for name in TOPIC_NAMES],
    "subscription_": get_args(SubscriptionState),
    "channel_": CHANNEL_TEXTS.values(),
    # The buttons of links of messages, and what they do.
    "": [f"{purpose}{end}" for purpose in get_args(LinkPurpose) for end in ("", "_hint")],
    "shortcut_": ("search", "help", "down", "up", "select", "open"),
}
# Words that both languages share.
SHARED = {
    *("place_actions", "place_transitions", "place_workers", "place_audit", "note", "pages"),
    *("worker", "worker_version", "workers_versions", "now_running_hint"),
    *("run_worker", "action_worker", "action_count", "filter_worker", "action_audit"),
    *("notifications", "channel_email", "channel_webhook"),
    *("action_id", "action_json", "audit_source", "grant_permission", "bulk_unit_minutes"),
}
TAGS = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<[^>]*>", re.DOTALL)
# Signs between words, and the keys of shortcuts.
SIGNS = {"·", "/", "g", ":", ",", "“", "”", "“”", "\u2013", "UTC", "\u00d7", "."}


def used_keys() -> set[str]:
    sources = [*PAGES.rglob("*.html"), *PAGES.glob("*.py")]
    found = {match[1] for path in sources for match in USED.finditer(path.read_text("utf-8"))}
    found |= {f"{start}{end}" for start, ends in COMPLETED.items() for end in ends}
    found -= {*COMPLETED, BY_STATUS}
    conditional = re.compile(r"""\.text\(["'](\w+)["'] if .+? else ["'](\w+)["']""")
    named = re.compile(r"""["'](payload_\w+)["'],$""", re.MULTILINE)
    remedy = re.compile(r"""\.invalid\([^,]+, [^,]+, ["'](\w+)["']""")
    done = re.compile(r"""["']((?:done|not_paused)_\w+)["']""")
    for path in PAGES.glob("*.py"):
        for pattern in (conditional, named, remedy, done):
            for match in pattern.finditer(path.read_text("utf-8")):
                found |= {key for key in match.groups() if key}
    return found


def test_every_text_is_there_in_each_language() -> None:
    for key, text in CATALOGUE.items():
        assert text._fields == LANGUAGES
        assert all(part.strip() == part != "" for part in text), key
        names = [{name for _, name, _, _ in Formatter().parse(part) if name} for part in text]
        assert names[0] == names[1], f"{key} fills in different names"
    assert set(LANGUAGE_NAMES) == set(LANGUAGES)


def test_no_key_is_used_twice() -> None:
    keys = Counter(key for texts in ALL_TEXTS for key in texts)
    assert [key for key, count in keys.items() if count > 1] == []


def test_french_is_not_english() -> None:
    same = {key for key, text in CATALOGUE.items() if text.en == text.fr}
    assert same == SHARED


def test_every_key_that_is_used_is_there_and_every_text_is_used() -> None:
    statuses = {f"{BY_STATUS}{status}" for status in {*PROBLEM_TITLES, 400, 405}}
    used = used_keys() | (statuses & CATALOGUE.keys())
    assert used - CATALOGUE.keys() == set()
    assert CATALOGUE.keys() - used == set()


def test_every_problem_has_a_heading() -> None:
    for status in {*PROBLEM_TITLES, 405} - {428}:
        assert f"{BY_STATUS}{status}" in CATALOGUE


def test_templates_say_nothing_by_themselves() -> None:
    """Words outside of tags come from the catalogue, or are names."""
    for path in PAGES.rglob("*.html"):
        text = re.sub(
            r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<[^>]*>", "", path.read_text("utf-8"), flags=re.DOTALL
        )
        assert set(text.split()) <= SIGNS, path.name


def test_what_is_filled_in_is_text() -> None:
    filled = text_of("signed_in_as", "fr", user="{0.__class__} %s <b>")
    assert filled == "Connecté en tant que {0.__class__} %s <b>"
    with pytest.raises(KeyError):
        text_of("no_such_text", "en")
