"""Names of jobs: `{module}-{action}`, in kebab-case."""

from __future__ import annotations

import re

from duetime.errors import InvalidArgument
from duetime.model.validation import check_name

MOST = 200
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


def check_job_name(name: str) -> str:
    """Two words or more, so that the name says whose job it is and what it does."""
    check_name("name", name, MOST)
    if not KEBAB.fullmatch(name):
        raise InvalidArgument(
            "name",
            name,
            "a job is named {module}-{action}: two or more words of a-z and 0-9 with single "
            f"hyphens between them, as {_suggested(name)!r}",
        )
    return name


def _suggested(name: str) -> str:
    """The name that was probably meant."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name)
    words = re.findall(r"[a-z0-9]+", parted.lower())
    suggestion = "-".join(words)[:MOST].strip("-")
    return suggestion if len(words) > 1 else f"{suggestion or 'billing'}-nightly-close"
