"""The API pages name all that is public, with the signatures that the code has."""

import ast
import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest

import duetime
from duetime import (
    Action,
    AuditEntry,
    Context,
    Duetime,
    Job,
    LivingWorker,
    Occurrence,
    Outcome,
    Page,
    PausedQueue,
    Queue,
    Reason,
    Run,
    SlotUse,
    errors,
)
from duetime.api.async_api import AppNotifications, Audit, Jobs, Queues, Workers
from duetime.model.notifications.event import NotificationEvent
from duetime.model.notifications.notification import Notification
from duetime.model.notifications.subscription import CreatedSubscription
from duetime.model.tenant import AMBIENT, ANY
from duetime.testing import FakeClock
from duetime.testing.driver import Testing

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGES = (
    "api.md",
    "access.md",
    "audit.md",
    "http.md",
    "jobs.md",
    "notifications.md",
    "queues.md",
    "values.md",
    "recurrence.md",
)
TEXT = "".join((REFERENCE / page).read_text(encoding="utf-8") for page in PAGES)
CLASSES: dict[str, type] = {
    "Duetime": Duetime,
    "AppNotifications": AppNotifications,
    "Audit": Audit,
    "Jobs": Jobs,
    "Queues": Queues,
    "Workers": Workers,
}
STUBS = {
    (class_.name, node.name): node
    for block in re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    for class_ in ast.parse(block).body
    if isinstance(class_, ast.ClassDef) and class_.name in CLASSES
    for node in class_.body
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name != "__init__"
}
# For who builds a Context in a test.
UNUSED = {"stop", "note"}
# For our own tests, and for stores.
NOT_FOR_USERS = {"worker_settings", "on_change", "runtime"}


def public(class_: type) -> set[str]:
    parts = [vars(base) for base in class_.__mro__ if base.__module__.startswith("duetime")]
    return {name for part in parts for name in part if not name.startswith("_")} - NOT_FOR_USERS


def error_types(root: type[Exception]) -> list[type[Exception]]:
    """Those of `duetime.errors`; other modules may have more for themselves."""
    below = [error for sub in root.__subclasses__() for error in error_types(sub)]
    return [error for error in (root, *below) if error.__module__ == errors.__name__]


def names(class_: type) -> set[str]:
    return {field.name for field in fields(class_)} - UNUSED


@pytest.mark.parametrize(
    "name",
    sorted(
        {
            *duetime.__all__,
            *(error.__name__ for error in error_types(errors.DuetimeError)),
            *public(Duetime),
            *public(FakeClock),
            *public(Testing),
            *names(Action),
            *names(Run),
            *names(Page),
            *names(Context),
            *public(Audit),
            *public(Jobs),
            *public(Queues),
            *public(Workers),
            *names(LivingWorker),
            *names(PausedQueue),
            *names(Queue),
            *names(Reason),
            *names(SlotUse),
            *names(AuditEntry),
            *public(AppNotifications),
            *names(CreatedSubscription),
            *names(Notification),
            *names(NotificationEvent),
            *names(Job),
            *names(Occurrence),
        }
    ),
)
def test_every_public_name_is_on_the_page(name: str) -> None:
    assert re.search(rf"`(await |app\.)?{name}\b[^`]*`", TEXT)


@pytest.mark.parametrize("outcome", sorted(Outcome))
def test_every_outcome_is_on_the_page(outcome: str) -> None:
    assert f"`{outcome}`" in TEXT


@pytest.mark.parametrize(("class_", "name"), sorted(STUBS))
def test_signatures_are_those_of_the_code(class_: str, name: str) -> None:
    method, stub = getattr(CLASSES[class_], name), STUBS[class_, name]
    actual = {
        parameter.name: _shown(parameter.default)
        for parameter in inspect.signature(method).parameters.values()
        if parameter.name != "misplaced"  # there to be refused
    }
    assert _documented(stub) == actual
    assert isinstance(stub, ast.AsyncFunctionDef) == inspect.iscoroutinefunction(method)


@pytest.mark.parametrize("class_", CLASSES)
def test_every_method_has_a_signature(class_: str) -> None:
    type_ = CLASSES[class_]
    found = {name: getattr(type_, name) for name in public(type_)}
    methods = {n for n, each in found.items() if inspect.isfunction(each) or inspect.ismethod(each)}
    assert methods == {name for of, name in STUBS if of == class_}


def _documented(stub: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, object]:
    arguments = stub.args
    required = len(arguments.args) - len(arguments.defaults)
    defaults = [*([None] * required), *arguments.defaults, *arguments.kw_defaults]
    named = zip([*arguments.args, *arguments.kwonlyargs], defaults, strict=True)
    documented = {
        argument.arg: inspect.Parameter.empty if value is None else _default(value)
        for argument, value in named
        if argument.arg != "cls"
    }
    if arguments.kwarg is not None:
        documented[arguments.kwarg.arg] = inspect.Parameter.empty
    return documented


def _default(value: ast.expr) -> object:
    return ANY if isinstance(value, ast.Name) and value.id == "ANY" else ast.literal_eval(value)


def _shown(default: object) -> object:
    return ... if default is AMBIENT else default
