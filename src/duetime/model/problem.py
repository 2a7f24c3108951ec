"""Problems: the names of errors over HTTP, and which attributes of an error its document tells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from duetime import errors
from duetime.errors import DuetimeError

PROBLEM_TYPE = "urn:duetime:"
PROBLEM_MEDIA_TYPE = "application/problem+json"

# The members of a problem document beside those that every problem has: attributes of its error.
# What a caller named is left out where it was not found, so that all these answers are the same;
# and so are values that were given, since they may be large, or secret.
PROBLEM_MEMBERS: Mapping[type[DuetimeError], tuple[str, ...]] = {
    errors.UnreadableJob: ("name",),
    errors.IllegalState: ("verb", "action_id", "allowed"),
    errors.ActionExpired: ("verb", "action_id", "expired_at"),
    errors.StaleVersion: ("verb", "name", "given", "found"),
    errors.DuplicateKey: ("key", "kind", "action_id"),
    errors.JobNameTaken: ("name", "how"),
    errors.LeaseLost: ("action_id",),
    errors.UnknownKind: ("kind",),
    errors.InvalidPayload: ("kind",),
    errors.InvalidArgument: ("argument", "remedy"),
    errors.InvalidRecurrence: ("argument", "remedy", "field", "part", "allowed"),
    errors.NotAuthenticated: ("reason",),
    errors.PermissionDenied: ("permission", "tenant"),
}


def problem_name(error: type[Exception]) -> str:
    """Return the name of an error in kebab-case, which follows PROBLEM_TYPE in its document."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", error.__name__).lower()


def member_names(error: type[DuetimeError]) -> tuple[str, ...]:
    """Return the names of the members of an error's class, or of its nearest base class."""
    known = (PROBLEM_MEMBERS[base] for base in error.__mro__ if base in PROBLEM_MEMBERS)
    return next(known, ())


def problem_members(error: DuetimeError) -> dict[str, Any]:
    """Return the attributes that the document of an error tells, as far as they are known."""
    found = {name: getattr(error, name) for name in member_names(type(error))}
    return {name: value for name, value in found.items() if value is not None}
