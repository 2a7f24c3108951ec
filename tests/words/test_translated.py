"""Nothing of what can be translated is left out, and nothing is translated that nobody says."""

import ast
import re
from collections.abc import Iterator
from string import Formatter
from typing import get_args

import pytest

from duetime import errors
from duetime.errors import DuetimeError
from duetime.model.act import Source
from duetime.model.actions.chain import On
from duetime.model.audit import AUDITED_VERBS
from duetime.model.bulk import BulkVerb
from duetime.model.health.checks import Level
from duetime.model.health.series import METRICS
from duetime.model.jobs.job import Overlap
from duetime.model.jobs.misfire import MisfirePolicy
from duetime.model.jobs.view import JobState
from duetime.model.lane import Priority
from duetime.model.notifications.topics import Severity
from duetime.model.reason import ReasonCode
from duetime.model.state import Outcome, State
from duetime.model.transition import Effect
from duetime.words.fr.names import NAMES
from duetime.words.languages import LANGUAGES, language_of
from duetime.words.plural import Plural

from .templates import SOURCE, assigned, calls_of, templates_in_code

OTHERS = [code for code in LANGUAGES if code != "en"]
TEMPLATES = {**templates_in_code(), errors.NO_TIME_ZONE: "errors.py"}
# A rule has words of its own in each language, which a text cannot hold.
LEFT_OUT = {"the exclusion leaves no tick of: {rule}": {"rule"}}
# Errors that only programmers meet: of a worker, of the setup, of a sweep.
OF_PROGRAMMERS = {"DuetimeError", "SweepFailed", "WorkerInterrupted", "ConfigError"}
# An argument that is not valid is said with its remedy.
BY_REMEDY = {"InvalidArgument", "NaiveDatetime", "InvalidRecurrence"}
# Where operators' instants, delays and rules are checked.
CHECKED = (
    *("model/validation.py", "model/actions/expiry.py"),
    *(f"model/recurrence/{name}.py" for name in ("base", "cron_parser", "every", "instants")),
    *("model/recurrence/parse.py", "model/recurrence/zone.py"),
)
NAMED = {
    "state": State,
    "outcome": Outcome,
    "priority": Priority,
    "severity": Severity,
    "job_state": JobState,
    "overlap": Overlap,
    "misfire": MisfirePolicy,
    "after": get_args(On),
    "effect": Effect,
    "level": Level,
    "reason": get_args(ReasonCode),
    "metric": METRICS,
    "source": get_args(Source),
    "verb": {*AUDITED_VERBS, *get_args(BulkVerb), "edit"},
}


@pytest.mark.parametrize("code", OTHERS)
def test_every_template_has_a_text(code: str) -> None:
    texts = language_of(code).texts
    lacking = {t: where for t, where in TEMPLATES.items() if has_words(t) and t not in texts}
    assert lacking == {}


@pytest.mark.parametrize("code", OTHERS)
def test_every_text_is_of_a_template(code: str) -> None:
    assert [t for t in language_of(code).texts if t not in TEMPLATES] == []


@pytest.mark.parametrize("code", OTHERS)
def test_texts_have_the_values_of_their_templates(code: str) -> None:
    for template, text in language_of(code).texts.items():
        expected = values_of(template) - LEFT_OUT.get(template, set())
        forms = [text.few, text.many] if isinstance(text, Plural) else [text]
        assert all(values_of(form) == expected for form in forms), template


@pytest.mark.parametrize("noun", NAMED)
@pytest.mark.parametrize("code", OTHERS)
def test_every_code_has_a_name(code: str, noun: str) -> None:
    assert set(language_of(code).names[noun]) == {str(value) for value in NAMED[noun]}


def test_every_check_has_a_name() -> None:
    assert set(NAMES["check"]) == set(checks_in_code())


def test_every_subject_of_the_audit_log_has_a_name() -> None:
    text = (SOURCE / "model" / "audit.py").read_text(encoding="utf-8")
    known = text[text.index('`subject` is "action"') : text.index("`subject_id` the")]
    assert set(NAMES["subject"]) == set(re.findall(r'"([\w-]+)"', known))


@pytest.mark.parametrize("code", OTHERS)
def test_which_errors_have_a_sentence(code: str) -> None:
    said = {kind.__name__ for kind in language_of(code).sentences}
    known = {kind.__name__ for kind in vars(errors).values() if is_error(kind)}
    assert known - said == OF_PROGRAMMERS | BY_REMEDY


@pytest.mark.parametrize("file", CHECKED)
def test_what_is_wrong_with_an_argument_can_be_translated(file: str) -> None:
    assert list(untranslatable(ast.parse((SOURCE / file).read_text(encoding="utf-8")))) == []


def untranslatable(tree: ast.Module) -> Iterator[str]:
    """Remedies that are no phrases: plain strings, and f-strings."""
    for kind in ("InvalidArgument", "InvalidRecurrence"):
        for call in calls_of(tree, kind):
            remedy = call.args[2]
            given = assigned(remedy.id, tree) if isinstance(remedy, ast.Name) else [remedy]
            for value in given:
                if isinstance(value, ast.Constant | ast.JoinedStr) and ast.unparse(value) != "None":
                    yield f"{call.lineno}: {ast.unparse(value)}"


def has_words(template: str) -> bool:
    plain = "".join(text for text, *_ in Formatter().parse(template))
    return re.search(r"[^\W\d_]", plain) is not None


def values_of(template: str) -> set[str]:
    return {name for _, name, *_ in Formatter().parse(template) if name is not None}


def checks_in_code() -> Iterator[str]:
    """The names of checks, and of what has a version."""
    makers = ("_ok", "_warning", "_failure", "_overdue_result", "CheckResult", "Version")
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for call in (call for name in makers for call in calls_of(tree, name)):
            match call.args:
                case [ast.Constant(value=str(name)), _, *_]:
                    yield name


def is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, DuetimeError)
