"""Turns what a server refuses into the error that the verb raises where the store is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from duetime import errors
from duetime.api.arguments import to_action_id
from duetime.errors import ConfigError, DuetimeError, StoreUnavailable, shown
from duetime.model.problem import (
    PROBLEM_MEDIA_TYPE,
    PROBLEM_TYPE,
    member_names,
    problem_name,
)
from duetime.model.state import State
from duetime.remote.address import ServerAddress
from duetime.remote.http import HttpResponse

Document = Mapping[str, Any]

# The attributes of errors that are ids.
IDS = frozenset({"action_id", "key_id", "grant_id", "subscription_id"})
# What a problem does not tell, where it is always the same.
FIXED_ATTRIBUTES: Mapping[type[DuetimeError], Mapping[str, str]] = {
    errors.StaleVersion: {"verb": "edit"},
}
DEFAULT_RETRY_AFTER_SECONDS = 60.0
OTHER_VERSION = "the server may run another version of duetime than this client"


class PreconditionRequired(DuetimeError):
    """The job exists already: an edit must say of which version it is."""

    state: str | None = None


def _subclasses(base: type[DuetimeError]) -> list[type[DuetimeError]]:
    return [base, *(found for each in base.__subclasses__() for found in _subclasses(each))]


# Errors of this module, too: `precondition-required` has no other class.
ERRORS: Mapping[str, type[DuetimeError]] = {
    problem_name(error): error
    for error in _subclasses(DuetimeError)
    if error.__module__ in (errors.__name__, __name__)
}


def error_of(address: ServerAddress, response: HttpResponse) -> DuetimeError:
    """Return the error that a refusal is. `completed` adds what the server does not tell of it."""
    document = _problem(response)
    if document is None:
        return _foreign(address, response)
    name = str(document.get("type", "")).removeprefix(PROBLEM_TYPE)
    detail = str(document.get("detail") or document.get("title") or name)
    if name in SERVER_PROBLEMS:
        return SERVER_PROBLEMS[name](f"{address}: {detail}")
    error = ERRORS.get(name)
    if response.status >= 500:
        return StoreUnavailable(f"{address} answered {response.status}: {detail}")
    if error is None:
        return ConfigError(f"{address} answered {response.status}: {detail}; {OTHER_VERSION}")
    return _revived(error, detail, document, response)


def _problem(response: HttpResponse) -> Document | None:
    if response.media_type != PROBLEM_MEDIA_TYPE:
        return None
    try:
        document = response.json()
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _revived(
    error: type[DuetimeError], detail: str, document: Document, response: HttpResponse
) -> DuetimeError:
    """Return the error with the text and the attributes that its problem tells."""
    made = error.__new__(error, detail)
    for name in member_names(error):
        setattr(made, name, _member(name, document.get(name)))
    for name, value in FIXED_ATTRIBUTES.get(error, {}).items():
        setattr(made, name, value)
    if "state" in document:
        vars(made)["state"] = _state(str(document["state"]))
    if isinstance(made, errors.RateLimited):
        made.retry_after = _seconds(response.headers.get("retry-after"))
    if isinstance(made, errors.InvalidPayload):
        made.reason = detail
    if isinstance(made, errors.InvalidArgument) and made.argument is None:
        made.argument = _place(document)
    return made


def _member(name: str, value: object) -> object:
    if isinstance(value, list):
        return tuple(_state(str(item)) for item in value)
    return UUID(value) if name in IDS and isinstance(value, str) else value


def _state(text: str) -> str:
    """Return the state of an action, or as it is that of something else."""
    return State(text) if text in set(State) else text


def _seconds(text: str | None) -> float:
    return float(text) if text and text.isdecimal() else DEFAULT_RETRY_AFTER_SECONDS


def _place(document: Document) -> str:
    """Return which argument a problem is about: the first that its parts name."""
    parts = document.get("errors") or [{}]
    place = str(parts[0].get("pointer", "")).removeprefix("#/") or parts[0].get("parameter", "")
    return str(place).partition("/")[0]


def completed(error: DuetimeError, arguments: Mapping[str, Any]) -> DuetimeError:
    """Return the error with what only its call knows: what was asked for."""
    match error:
        case errors.ActionNotFound():
            return errors.ActionNotFound(_wanted_action(arguments))
        case errors.JobNotFound():
            return errors.JobNotFound(arguments["name"])
        case errors.ApiKeyNotFound():
            return errors.ApiKeyNotFound(UUID(str(arguments["key_id"])))
        case errors.GrantNotFound():
            return errors.GrantNotFound(UUID(str(arguments["grant_id"])))
        case errors.SubscriptionNotFound():
            return errors.SubscriptionNotFound(UUID(str(arguments["id"])))
        case errors.InvalidArgument():
            _name_value(error, arguments)
        case errors.StaleVersion():
            error.name = arguments["name"]
    return error


def _name_value(error: errors.InvalidArgument, arguments: Mapping[str, Any]) -> None:
    """Name the value that was given. An instant of JSON has another `repr` than that instant."""
    given = arguments.get(error.argument)
    _, valid, remedy = str(error).rpartition(" is not valid: ")
    if isinstance(given, datetime) and valid:
        error.args = (f"{error.argument}={shown(given)}{valid}{remedy}",)
    error.value = str(given) if isinstance(given, UUID) else given


def _wanted_action(arguments: Mapping[str, Any]) -> UUID | None:
    """Return the action that a call names: its own, or the one that is to be waited for."""
    given = arguments.get("action_id") or arguments.get("after")
    return None if given is None else to_action_id(given)


# -- what no verb raises where the store is -------------------------------------------------------


def _foreign(address: ServerAddress, response: HttpResponse) -> DuetimeError:
    """Return the error of an answer that does not come from the API, but perhaps from a proxy."""
    status = response.status
    if 300 <= status < 400:
        target = shown(response.headers.get("location", "elsewhere"))
        return ConfigError(
            f"{address} redirects to {target}, which is not followed, since the token would go "
            "there: give the address itself"
        )
    if status == 401:
        return errors.NotAuthenticated(f"{address} answered 401, and not as an API of duetime")
    if status >= 500:
        return StoreUnavailable(f"{address} answered {status}; a proxy may say so: try again")
    return no_api(address, f"answered {status} as {response.media_type or 'nothing'}")


def no_api(address: ServerAddress, found: str) -> ConfigError:
    return ConfigError(
        f"{address} {found}, which is no answer of duetime's API: give the address under which "
        "the API is mounted, and a version of duetime on both sides that knows it"
    )


def _too_large(text: str) -> DuetimeError:
    return errors.InvalidArgument("body", None, f"{text}: send less at once")


# Problems of the API that are no errors of Python's verbs.
SERVER_PROBLEMS: Mapping[str, Callable[[str], DuetimeError]] = {
    "not-found": lambda text: ConfigError(f"{text}; {OTHER_VERSION}"),
    "method-not-allowed": lambda text: ConfigError(f"{text}; {OTHER_VERSION}"),
    "body-too-large": _too_large,
    "internal-error": StoreUnavailable,
}
