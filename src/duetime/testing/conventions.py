"""A check of the naming conventions, for the test suites of users."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from duetime.errors import InvalidArgument
from duetime.model.jobs.name import check_job_name

if TYPE_CHECKING:
    from duetime.app import Duetime

KIND = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")


def check_conventions(app: Duetime) -> None:
    """Raise AssertionError that lists all names against the conventions: jobs are named
    `{module}-{action}` in kebab-case, and kinds are kebab-case too, so that names look the same
    in code, tables, logs and commands."""
    wrong = [*_wrong_jobs(app), *_wrong_kinds(app)]
    assert not wrong, "\n".join(["names that break the conventions:", *wrong])


def _wrong_jobs(app: Duetime) -> list[str]:
    wrong = []
    for name in app.runtime.jobs.names():
        try:
            check_job_name(name)
        except InvalidArgument as error:
            wrong.append(f"- job {error}")
    return wrong


def _wrong_kinds(app: Duetime) -> list[str]:
    return [
        f"- kind {kind!r}: write lower-case words with hyphens between them, such as send-reminder"
        for kind in app.runtime.handlers.kinds()
        if not KIND.fullmatch(kind)
    ]
