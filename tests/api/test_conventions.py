"""`check_conventions` names each job that breaks a rule, its file and line, and the remedy."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from duetime import Duetime
from duetime.errors import InvalidArgument
from duetime.testing import check_conventions

Declare = Callable[..., Duetime]
ALL: dict[str, Any] = {"module_prefix": True, "folder": "jobs", "suffix": "_job"}


@pytest.fixture
def declare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory_app: Duetime
) -> Iterator[Declare]:
    """Write a module of a package `shop`, in which a function is a job."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    known = {*sys.modules}

    def make(file: str, job: str, function: str) -> Duetime:
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"\n\nasync def {function}():\n    pass\n")
        importlib.invalidate_caches()
        name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        work = getattr(importlib.import_module(name), function)
        memory_app.job("0 * * * *", name=job)(work)
        return memory_app

    yield make
    for name in {*sys.modules} - known:
        del sys.modules[name]


def complaints(app: Duetime, **rules: Any) -> list[str]:
    with pytest.raises(AssertionError) as refused:
        check_conventions(app, **rules)
    first, *lines = map(str.strip, str(refused.value).splitlines())
    assert first == "names that break the conventions:"
    # pytest adds the expression that was false.
    return [line for line in lines if line.startswith("- ")]


@pytest.mark.parametrize(
    ("file", "job"),
    [
        ("shop/jobs/billing.py", "billing-close"),
        ("shop/jobs/late_fees.py", "late-fees-remind"),
        ("shop/billing/jobs/__init__.py", "billing-close"),
        ("shop/billing/jobs/closing.py", "billing-close"),
        ("shop/billing/jobs/closing.py", "closing-nightly"),
    ],
)
def test_what_follows_every_rule_passes(declare: Declare, file: str, job: str) -> None:
    check_conventions(declare(file, job, "close_job"), **ALL)


def test_a_module_that_is_named_jobs_has_its_packages_name(declare: Declare) -> None:
    app = declare("shop/billing/jobs.py", "billing-close", "close_job")
    check_conventions(app, module_prefix=True, suffix="_job")


def test_each_rule_names_job_file_line_and_remedy(declare: Declare) -> None:
    app = declare("shop/tasks/billing.py", "report-close", "close")
    place = "- job 'report-close' (shop/tasks/billing.py:3): "
    assert complaints(app, **ALL) == [
        f"{place}its module is billing: begin its name with 'billing-'",
        f"{place}it is declared outside a folder 'jobs': move it into one",
        f"{place}its function is close: call it close_job",
    ]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"module_prefix": True}, "begin its name"),
        ({"folder": "jobs"}, "outside a folder"),
        ({"suffix": "_job"}, "call it close_job"),
    ],
    ids=repr,
)
def test_each_rule_is_optional(declare: Declare, rule: dict[str, Any], words: str) -> None:
    app = declare("shop/tasks/billing.py", "report-close", "close")
    [line] = complaints(app, **rule)
    assert words in line
    check_conventions(app)


def test_every_job_is_listed(declare: Declare) -> None:
    declare("shop/tasks/billing.py", "report-b", "close")
    app = declare("shop/tasks/mail.py", "report-a", "send_job")
    lines = complaints(app, suffix="_job", folder="jobs")
    assert [line.split("'")[1] for line in lines] == ["report-a", "report-b", "report-b"]


def test_a_folder_above_the_imports_does_not_count(
    declare: Declare, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(tmp_path / "jobs" / "deep" / "src")
    file = tmp_path / "jobs" / "deep" / "src" / "market" / "billing.py"
    file.parent.mkdir(parents=True)
    file.write_text("def close_job(): ...\n")
    importlib.invalidate_caches()
    app = declare("shop/jobs/billing.py", "billing-one", "close_job")
    app.job("0 * * * *", name="billing-two")(importlib.import_module("market.billing").close_job)
    [line] = complaints(app, folder="jobs")
    assert "billing-two" in line


def test_a_path_of_folders(declare: Declare) -> None:
    app = declare("shop/billing/jobs/closing.py", "billing-close", "close_job")
    check_conventions(app, folder="billing/jobs")
    assert complaints(app, folder="mail/jobs")


def test_a_wrapped_function_counts_where_it_was_written(declare: Declare) -> None:
    app = declare("shop/jobs/billing.py", "billing-close", "close_job")
    inner = sys.modules["shop.jobs.billing"].close_job

    @wraps(inner)
    async def outer() -> None: ...

    app.job("0 * * * *", name="billing-again")(outer)
    check_conventions(app, **ALL)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *(("module_prefix", bad) for bad in (None, 1, "yes")),
        *(("folder", bad) for bad in ("", 7, True, "\x00")),
        *(("suffix", bad) for bad in ("", 7, ["_job"])),
    ],
    ids=repr,
)
def test_bad_input(memory_app: Duetime, argument: str, value: Any) -> None:
    with pytest.raises(InvalidArgument) as refused:
        check_conventions(memory_app, **{argument: value})
    assert refused.value.argument == argument
