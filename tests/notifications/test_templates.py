"""Templates of users: over ours, in other languages; wrong ones are refused with their place."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from duetime.errors import ConfigError
from duetime.model.notifications.event import NotificationEvent
from duetime.notifications import Notifications
from duetime.notifications.rendering import render
from notifications.message_samples import AT, message, notification, subscription

OWN_TOPIC = """
{% block subject %}[shop] {{ first.job }} is down{% endblock %}
{% block event %}{{ event.job }} since {{ event.at|instant }}{% endblock %}
"""


SUBJECT = "{% block subject %}x{% endblock %}"
EVENT = "{% block event %}x{% endblock %}"


def write(folder: Path, **files: str) -> Path:
    """Write files of English, whose names have no hyphen here."""
    for name, text in files.items():
        stem, _, suffix = name.replace("_", "-").rpartition("-")
        path = folder / "en" / f"{stem}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_a_template_replaces_ours(tmp_path: Path) -> None:
    config = Notifications(templates=write(tmp_path, job_failing_txt=OWN_TOPIC))
    written = message(config=config)
    assert written.subject == "[shop] billing-daily is down"
    assert "- billing-daily since Sun 25 Oct 2026, 00:30:00 UTC" in written.text
    # It has no advice, and the layout is still ours.
    assert "Fix the cause" not in written.text
    assert "Severity: warning" in written.text
    assert "<h1" in written.html


def test_other_topics_stay_ours(tmp_path: Path) -> None:
    config = Notifications(templates=write(tmp_path, job_paused_txt=OWN_TOPIC))
    assert message(config=config) == message()


def test_the_layout_and_the_html_of_a_topic(tmp_path: Path) -> None:
    write(tmp_path, message_txt="{{ subject }}: {{ count|number }}")
    write(tmp_path, job_failing_html="<p>{{ subject }}{{ lines[0].text }}</p>")
    written = message(config=Notifications(templates=tmp_path))
    assert written.text == "Job “billing-daily” is failing: 1\n"
    assert written.html.startswith("<p>Job “billing-daily” is failing“billing-daily” failed")
    assert "<h1" not in written.html


def test_a_folder_adds_a_language(tmp_path: Path) -> None:
    german = tmp_path / "de"
    german.mkdir()
    (german / "job-failing.txt").write_text(
        "{% block subject %}Aufgabe „{{ first.job }}“ schlägt fehl{% endblock %}"
        "{% block event %}{{ event.consecutive_failures|number }}-mal{% endblock %}",
        encoding="utf-8",
    )
    (german / "strings.toml").write_text(
        'group_mark = "."\nwarning = "Warnung"\n'
        'weekdays = ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"]\n',
        encoding="utf-8",
    )
    config = Notifications(templates=tmp_path, languages=["en", "de"])
    written = message(config=config, language="de")
    assert written.subject == "Aufgabe „billing-daily“ schlägt fehl"
    assert "- 1.200-mal" in written.text
    # What it lacks is in English.
    assert "Severity: Warnung\nTime: So 25 Oct 2026" in written.text


def test_a_language_without_templates_gets_english() -> None:
    assert message(language="xx").subject == message(language="en").subject


def test_values_in_a_template_of_users_are_no_templates(tmp_path: Path) -> None:
    hostile = "{{ event.__class__.__mro__ }}"
    write(tmp_path, job_failing_txt=OWN_TOPIC)
    failed = NotificationEvent(AT, "job-failing", None, hostile, {"job": hostile})
    config = Notifications(templates=tmp_path)
    written = render(notification(failed), subscription(), base_url=None, config=config)
    assert written.subject == f"[shop] {hostile} is down"


@pytest.mark.parametrize(
    "expression",
    [
        "event.__class__.__mro__",
        "event.at.__class__.__subclasses__()",
        "''.__class__.__base__",
        "cycler.__init__.__globals__",
        "events.__class__",
    ],
)
def test_templates_stay_in_their_sandbox(
    tmp_path: Path, expression: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What the check of a template does not find, its sandbox refuses."""
    source = f"{{% block subject %}}{{{{ {expression} }}}}{{% endblock %}}"
    write(tmp_path, job_failing_txt=source + EVENT)
    try:
        config = Notifications(templates=tmp_path)
    except ConfigError:
        return
    with caplog.at_level(logging.ERROR):
        written = message(config=config)
    assert written.subject == "Job “billing-daily” is failing"


def test_a_template_that_fails_loses_no_message(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = "{% block subject %}{{ 1 / (count - 1) }}{% endblock %}{% block event %}{% endblock %}"
    config = Notifications(templates=write(tmp_path, job_failing_txt=source))
    assert message(config=config) == message()
    (record,) = [each for each in caplog.records if each.name == "duetime.notifications"]
    assert f"templates of {tmp_path} fail for job-failing in en" in record.getMessage()
    assert record.exc_info


# -- wrong templates -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (SUBJECT + EVENT + "{{ cuont }}", r"unknown value \{\{ cuont \}\} .*mean 'count'"),
        (SUBJECT + "{% block event %}{{ event.jbo }}{% endblock %}", "event.jbo .*mean 'job'"),
        (
            EVENT + "{% block subject %}{{ first.erorr }}{% endblock %}",
            "first.erorr .*mean 'error'",
        ),
        (SUBJECT + EVENT + "{% for e in events %}{{ e.kidn }}{% endfor %}", "e.kidn .*mean 'kind'"),
        (SUBJECT + EVENT + "{{ count|nmuber }}", "filter named 'nmuber'"),
        (SUBJECT + EVENT + "{{ count", "line 1: "),
        (SUBJECT + "{% block event %}", "block"),
        (SUBJECT, "the block event is missing"),
        (EVENT, "the block subject is missing"),
        (SUBJECT + EVENT + "{% block advise %}{% endblock %}", "unknown block advise .*'advice'"),
    ],
)
def test_wrong_templates_are_refused_when_the_app_is_made(
    tmp_path: Path, source: str, reason: str
) -> None:
    write(tmp_path, job_failing_txt=source)
    with pytest.raises(ConfigError, match=f"en/job-failing.txt: .*{reason}"):
        Notifications(templates=tmp_path)


def test_values_of_a_layout_are_others(tmp_path: Path) -> None:
    loop = "{% for x in lines %}{{ x.txet }}{% endfor %}"
    write(tmp_path, message_html="{{ lines }} {{ event }}" + loop)
    with pytest.raises(ConfigError) as refused:
        Notifications(templates=tmp_path)
    assert "{{ event }}" in str(refused.value)
    assert "{{ x.txet }} (did you mean 'text'?)" in str(refused.value)
    assert "{{ lines }}" not in str(refused.value)


def test_unknown_files_are_refused(tmp_path: Path) -> None:
    write(tmp_path, job_failling_txt=OWN_TOPIC)
    with pytest.raises(ConfigError, match=r"did you mean 'job-failing\.txt'"):
        Notifications(templates=tmp_path)


def test_files_of_other_kinds_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path, job_failing_txt=OWN_TOPIC)
    (tmp_path / "en" / "README.md").write_text("{{ anything }}")
    Notifications(templates=tmp_path)


@pytest.mark.parametrize(
    ("strings", "reason"),
    [
        ("wraning = 'x'", "unknown string 'wraning' .*did you mean 'warning'"),
        ("warning = 5", "warning=5 is not valid: give a text"),
        ("months = ['Jan']", "give 12 texts"),
        ("warning = ", "cannot read"),
    ],
)
def test_wrong_strings_are_refused(tmp_path: Path, strings: str, reason: str) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "strings.toml").write_text(strings)
    with pytest.raises(ConfigError, match=reason):
        Notifications(templates=tmp_path)
