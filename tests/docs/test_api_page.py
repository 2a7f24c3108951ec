"""The API pages name all that is public, with the signatures that the code has."""

import ast
import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest

import duetime
from duetime import Action, Context, Duetime, Outcome, Page, Run, errors
from duetime.model.tenant import AMBIENT
from duetime.testing import FakeClock
from duetime.testing.driver import Testing

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
TEXT = "".join((REFERENCE / page).read_text(encoding="utf-8") for page in ("api.md", "values.md"))
STUBS = {
    node.name: node
    for block in re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    for class_ in ast.parse(block).body
    if isinstance(class_, ast.ClassDef)
    for node in class_.body
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
}
# Fields that nothing fills yet.
UNUSED = {"job", "tick", "triggered_by", "stop", "note"}
# For our own tests, and for stores.
NOT_FOR_USERS = {"worker_settings", "on_change"}


def public(class_: type) -> set[str]:
    return {name for name in vars(class_) if not name.startswith("_")} - NOT_FOR_USERS


def error_types(root: type[Exception]) -> list[type[Exception]]:
    """Those of `duetime.errors`; other modules may have more for themselves."""
    below = [one for sub in root.__subclasses__() for one in error_types(sub)]
    return [one for one in (root, *below) if one.__module__ == errors.__name__]


def names(class_: type) -> set[str]:
    return {one.name for one in fields(class_)} - UNUSED


@pytest.mark.parametrize(
    "name",
    sorted(
        {
            *duetime.__all__,
            *(one.__name__ for one in error_types(errors.DuetimeError)),
            *public(Duetime),
            *public(FakeClock),
            *public(Testing),
            *names(Action),
            *names(Run),
            *names(Page),
            *names(Context),
        }
    ),
)
def test_every_public_name_is_on_the_page(name: str) -> None:
    assert re.search(rf"`(await |app\.)?{name}\b[^`]*`", TEXT)


@pytest.mark.parametrize("outcome", sorted(set(Outcome) - {"skipped"}))
def test_every_outcome_is_on_the_page(outcome: str) -> None:
    assert f"`{outcome}`" in TEXT


@pytest.mark.parametrize("name", sorted(set(STUBS) - {"__init__"}))
def test_signatures_are_those_of_the_code(name: str) -> None:
    method = getattr(Duetime, name)
    actual = {
        parameter.name: _shown(parameter.default)
        for parameter in inspect.signature(method).parameters.values()
        if parameter.name != "misplaced"  # there to be refused
    }
    assert _documented(STUBS[name]) == actual
    assert isinstance(STUBS[name], ast.AsyncFunctionDef) == inspect.iscoroutinefunction(method)


def test_every_method_has_a_signature() -> None:
    methods = {name for name in public(Duetime) if inspect.isfunction(getattr(Duetime, name))}
    assert methods == set(STUBS) - {"__init__"}


def _documented(stub: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, object]:
    required = [argument.arg for argument in stub.args.args]
    named = zip(stub.args.kwonlyargs, stub.args.kw_defaults, strict=True)
    defaults = {
        one.arg: inspect.Parameter.empty if value is None else ast.literal_eval(value)
        for one, value in named
    }
    return dict.fromkeys(required, inspect.Parameter.empty) | defaults


def _shown(default: object) -> object:
    return ... if default is AMBIENT else default
