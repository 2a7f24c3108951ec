"""Translations of messages: what is written, kept and named."""

from __future__ import annotations

from pathlib import Path

import pytest

from duetime.errors import InvalidArgument
from duetime.notifications import Notifications
from duetime.notifications.topic_templates import TEMPLATE_FILES
from duetime.notifications.translate import TO_TRANSLATE, translate
from notifications.message_samples import message

STRINGS = (
    *("info", "warning", "critical", "group_mark", "decimal_mark"),
    *("months", "weekdays", "first_of_month", "day_unit"),
)
EVERYTHING = {*TEMPLATE_FILES, *(f"strings.toml: {name}" for name in STRINGS)}


def finish(folder: Path) -> None:
    """Remove all marks, as translators do at the end."""
    for path in folder.glob("*.*"):
        text = path.read_text(encoding="utf-8").replace(TO_TRANSLATE, "")
        if path.name == "strings.toml":
            text = "\n".join(line.removeprefix("# ") for line in text.splitlines()[1:])
        path.write_text(text, encoding="utf-8")


def test_everything_is_written_to_be_translated(tmp_path: Path) -> None:
    made = translate("de", tmp_path / "texts")
    assert set(made.written) == set(made.missing) == EVERYTHING
    assert (made.wrong, made.complete) == ((), False)
    # Until then, messages are in English.
    config = Notifications(templates=tmp_path / "texts", languages=["de"])
    english = message()
    assert message(config=config, language="de").text == english.text


def test_a_translation_that_is_done(tmp_path: Path) -> None:
    translate("de", tmp_path)
    finish(tmp_path / "de")
    again = translate("de", tmp_path)
    assert (again.written, again.missing, again.wrong, again.complete) == ((), (), (), True)


def test_what_is_there_stays(tmp_path: Path) -> None:
    translate("de", tmp_path)
    finish(tmp_path / "de")
    kept, strings = tmp_path / "de" / "test.txt", tmp_path / "de" / "strings.toml"
    kept.write_text("{% block subject %}Probe{% endblock %}{% block event %}Ja{% endblock %}")
    strings.write_text('info = "Hinweis"')
    (tmp_path / "de" / "overdue.txt").unlink()
    again = translate("de", tmp_path)
    assert set(again.written) == {"overdue.txt", *EVERYTHING - {*TEMPLATE_FILES}} - {
        "strings.toml: info"
    }
    assert set(again.missing) == set(again.written)
    assert "Probe" in kept.read_text()
    assert strings.read_text().startswith('info = "Hinweis"\n# ')
    assert translate("de", tmp_path).written == ()


def test_wrong_placeholders_are_named(tmp_path: Path) -> None:
    translate("de", tmp_path)
    finish(tmp_path / "de")
    path = tmp_path / "de" / "no-worker.txt"
    path.write_text(path.read_text().replace("event.count", "event.anzahl"))
    wrong = translate("de", tmp_path)
    assert not wrong.complete
    assert {*wrong.wrong} == {"de/no-worker.txt: unknown value {{ event.anzahl }}"}


def test_a_language_of_ours_is_written_as_it_is(tmp_path: Path) -> None:
    made = translate("fr", tmp_path)
    assert set(made.written) == EVERYTHING
    assert made.complete
    config = Notifications(templates=tmp_path)
    assert message(config=config, language="fr") == message(language="fr")


@pytest.mark.parametrize("code", ["", "..", "de/../..", "German", "d", "de_AT"])
def test_what_is_no_language(tmp_path: Path, code: str) -> None:
    with pytest.raises(InvalidArgument, match="give the code of a language"):
        translate(code, tmp_path)
    assert list(tmp_path.iterdir()) == []
