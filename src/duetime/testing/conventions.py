"""The conventions of names, for users' test suites."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from duetime.errors import InvalidArgument
from duetime.model.jobs.name import check_job_name

if TYPE_CHECKING:
    from duetime.app import Duetime

KIND = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")


def check_conventions(app: Duetime) -> None:
    """AssertionError with all that is wrong: jobs are named `{module}-{action}`, and kinds are
    kebab-case too, so that one rule holds in code, tables, logs and commands."""
    wrong = [*_wrong_jobs(app), *_wrong_kinds(app)]
    assert not wrong, "\n".join(["names that break the conventions:", *wrong])


def _wrong_jobs(app: Duetime) -> list[str]:
    wrong = []
    for name in app.parts.jobs.names():
        try:
            check_job_name(name)
        except InvalidArgument as error:
            wrong.append(f"- job {error}")
    return wrong


def _wrong_kinds(app: Duetime) -> list[str]:
    return [
        f"- kind {kind!r}: write lower-case words with hyphens between them, as send-reminder"
        for kind in app.parts.handlers.kinds()
        if not KIND.fullmatch(kind)
    ]
