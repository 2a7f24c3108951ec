"""Names of jobs: `{module}-{action}`, in kebab-case."""

from __future__ import annotations

import re

from duetime.errors import InvalidArgument
from duetime.model.validation import check_name

MAX_JOB_NAME_LENGTH = 200
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


def check_job_name(name: str, argument: str = "name") -> str:
    """Refuse names of fewer than two words: a name says whose job it is and what the job does."""
    check_name(argument, name, MAX_JOB_NAME_LENGTH)
    if not KEBAB.fullmatch(name):
        raise InvalidArgument(
            argument,
            name,
            "a job is named {module}-{action}: two or more words of a-z and 0-9 with single "
            f"hyphens between them, as {_suggested(name)!r}",
        )
    return name


def _suggested(name: str) -> str:
    """Return the valid name that is nearest to the given one."""
    separated = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name)
    words = re.findall(r"[a-z0-9]+", separated.lower())
    suggestion = "-".join(words)[:MAX_JOB_NAME_LENGTH].strip("-")
    return suggestion if len(words) > 1 else f"{suggestion or 'billing'}-nightly-close"
