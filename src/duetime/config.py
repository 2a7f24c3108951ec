"""Settings: arguments override `DUETIME_<NAME>`, which overrides TOML, which overrides defaults."""

from __future__ import annotations

import inspect
import ipaddress
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, cast, get_args
from urllib.parse import urlsplit

from duetime.errors import ConfigError, InvalidArgument, did_you_mean, shown
from duetime.logs import get_log
from duetime.model.jobs.misfire import MISFIRE_AFTER_SECONDS
from duetime.model.store_url import HIDDEN, mask_password
from duetime.model.validation import seconds
from duetime.store.sql.statements.table_names import name_requirement
from duetime.words.languages import LANGUAGES

# Whether a run is linked to the trace in which it was scheduled, or continues that trace.
TraceMode = Literal["link", "continue"]
F = TypeVar("F", bound=Callable[..., Any])
log = get_log("duetime")

ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?")
# Of the band by which people tell the pages of one environment from those of another.
ENVIRONMENT_COLORS = ("red", "amber", "green", "blue", "grey")
DAY = 86_400.0
YEAR_SECONDS = 365 * DAY
# Settings of which messages show no password, and those of which they show nothing.
URLS = frozenset({"url", "email"})
SECRETS = frozenset({"webhook_secret"})
# Variables of the command line and of the tests.
NOT_SETTINGS = ("DUETIME_APP", "DUETIME_TOKEN", "DUETIME_TEST_")

# What Kubernetes sets for each Service, named after it.
KUBERNETES_VARIABLE = re.compile(r"_SERVICE_(HOST|PORT\w*)$|_PORT(_\d+_(TCP|UDP|SCTP)\w*)?$")
KUBERNETES_REMEDY = (
    "; Kubernetes sets such variables for a Service whose name begins with duetime: rename the "
    "Service, or set enableServiceLinks: false in the pod"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting with its default; times are seconds."""

    url: str = "sqlite:///duetime.db"
    name: str = "duetime"
    lease: float = 15.0
    sweep: float = 10.0
    poll: float = 10.0
    poll_unheard: float = 1.0
    grace: float = 30.0
    preclaim: float = 0.5
    concurrency: int = 100
    batch: int = 500
    retention: float = 7 * DAY
    retention_failed: float = 30 * DAY
    retention_figures: float = 7 * DAY
    misfire_after: float = MISFIRE_AFTER_SECONDS
    prefix: str = "duetime_"
    schema: str | None = None
    max_payload: int = 1_000_000
    keep_tracebacks: bool = True
    listen: bool = True
    migrate: bool = True
    timeout: float = 10.0
    pool_size: int = 10
    retention_audit: float = YEAR_SECONDS
    route_prefix: str = ""
    tag: str = "duetime"
    required_role: str | None = None
    base_url: str | None = None
    trusted_proxies: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    environment: str | None = None
    environment_color: str | None = None
    telemetry_tenant: bool = True
    trace: TraceMode = "link"
    email: str | None = None
    email_sender: str | None = None
    webhook_secret: str | None = None
    webhook_allow_hosts: tuple[str, ...] = ()
    notification_templates: str | None = None
    notification_languages: tuple[str, ...] = LANGUAGES

    def __repr__(self) -> str:
        values = (f"{f.name}={displayed(f.name, getattr(self, f.name))}" for f in fields(self))
        return f"Settings({', '.join(values)})"


class NotificationSettings(TypedDict, total=False):
    """The settings of notifications, as arguments of an app; `Notifications(...)` has them all."""

    email: str | None
    email_sender: str | None
    webhook_secret: str | None
    webhook_allow_hosts: str | Sequence[str] | None
    notification_templates: str | None
    notification_languages: str | Sequence[str] | None


def load(
    arguments: Mapping[str, object],
    environ: Mapping[str, str] = os.environ,
    folder: Path | None = None,
) -> Settings:
    """Return the effective settings. An unknown option is refused with the nearest known name."""
    values = _from_toml(folder or Path.cwd())
    values |= _from_environment(environ)
    values |= {
        _known(name, "argument"): SettingValue(value)
        for name, value in arguments.items()
        if value is not None
    }
    return Settings(**{name: _checked(name, value) for name, value in values.items()})


def check_setting(name: str, value: object) -> Any:
    """Return the value of a setting that an argument of another name gives. ConfigError if it is
    not valid."""
    return _CHECKS[name](name, value)


@dataclass(frozen=True, slots=True)
class SettingValue:
    """A value, and its source if the caller did not pass it."""

    value: object
    source: str | None = None


def _checked(name: str, setting: SettingValue) -> Any:
    try:
        return _CHECKS[name](name, setting.value)
    except ConfigError as error:
        if setting.source is None:
            raise
        raise ConfigError(f"{error}; it comes from {setting.source}") from None


def _from_toml(folder: Path) -> dict[str, SettingValue]:
    own, project = folder / "duetime.toml", folder / "pyproject.toml"
    if own.is_file():
        content = _read(own)
        table, source = _table(content, "duetime", own), f"[duetime] in {own.name}"
        _refuse_other_tables(content, own)
    elif project.is_file():
        table = _table(_table(_read(project), "tool", project), "duetime", project)
        source = f"[tool.duetime] in {project.name}"
    else:
        return {}
    return {_known(name, source): SettingValue(value, source) for name, value in table.items()}


def _refuse_other_tables(content: dict[str, Any], path: Path) -> None:
    for name, value in content.items():
        if name == "duetime":
            continue
        if not isinstance(value, dict):
            raise ConfigError(f"{name!r} in {path.name} must be below [duetime]")
        near = " (did you mean [duetime]?)" if did_you_mean(name, ["duetime"]) else ""
        raise ConfigError(
            f"unknown table [{name}] in {path.name}{near}; settings belong below [duetime]"
        )


def _table(content: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    table = content.get(name, {})
    if not isinstance(table, dict):
        given = mask_password(table) if isinstance(table, str) else table
        raise ConfigError(f"{name}={shown(given)} in {path.name} is not valid: make it a table")
    return table


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from None


def _from_environment(environ: Mapping[str, str]) -> dict[str, SettingValue]:
    values: dict[str, SettingValue] = {}
    unknown: list[str] = []
    for variable, text in environ.items():
        if variable.startswith("DUETIME_") and not variable.startswith(NOT_SETTINGS):
            name = variable.removeprefix("DUETIME_").lower()
            if name in _CHECKS:
                values[name] = SettingValue(text, variable)
            else:
                unknown.append(variable)
    _warn_of_unknown(unknown)
    return values


# The variables that this process has warned of.
_warned_of: set[str] = set()


def _warn_of_unknown(variables: Iterable[str]) -> None:
    """Log variables that are no settings, once. They do not stop the app: others than its operator
    set variables, too, as Kubernetes does for a Service named duetime."""
    new = [variable for variable in variables if variable not in _warned_of]
    if not new:
        return
    _warned_of.update(new)
    settings = [f"DUETIME_{name.upper()}" for name in _CHECKS]
    injected = set(filter(KUBERNETES_VARIABLE.search, new))
    hints = {name: "" if name in injected else did_you_mean(name, settings) for name in new}
    log.warning(
        "ignored unknown settings of the environment: %s%s",
        ", ".join(f"{name}{hint}" for name, hint in hints.items()),
        KUBERNETES_REMEDY if injected else "",
    )


def refuse_unknown_arguments(constructor: F) -> F:
    """Make a constructor refuse unknown arguments as unknown settings are refused. Its signature
    stays what type checkers and editors read."""
    signature = _with_notification_settings(inspect.signature(constructor))
    known = [name for name in signature.parameters if name != "self"]

    @wraps(constructor)
    def checked(*args: Any, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in known:
                raise _unknown(name, "argument", known)
        constructor(*args, **kwargs)

    checked.__signature__ = signature  # type: ignore[attr-defined]
    return cast("F", checked)


def _with_notification_settings(signature: inspect.Signature) -> inspect.Signature:
    """Return a signature that names the settings in its last parameter, `**settings`."""
    *named, _ = signature.parameters.values()
    notification_settings = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=type_)
        for name, type_ in NotificationSettings.__annotations__.items()
    ]
    return signature.replace(parameters=[*named, *notification_settings])


def _known(name: str, source: str) -> str:
    if name not in _CHECKS:
        raise _unknown(name, source, _CHECKS)
    return name


def _unknown(name: str, source: str, known: Iterable[str]) -> ConfigError:
    near = did_you_mean(name, known)
    # All of them would hide, where texts are cut, what follows.
    options = near or f"; options are {', '.join(known)}"
    return ConfigError(f"unknown option {name!r} ({source}){options}")


def _duration(name: str, value: object) -> float:
    if isinstance(value, timedelta):
        value = value.total_seconds()
    try:
        number = value if isinstance(value, int | float) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise _wrong(name, value, "a number of seconds, not negative") from None
    try:
        number = seconds(name, number)
    except InvalidArgument as error:
        raise ConfigError(f"option {error}") from None
    if number == 0 and name != "preclaim" and name != "grace":
        raise _wrong(name, value, "a number of seconds above 0")
    return number


def whole(name: str, value: object) -> int:
    try:
        number = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise _wrong(name, value, "a whole number") from None
    if isinstance(value, bool | float) or number < 1:
        raise _wrong(name, value, "a whole number of at least 1")
    return int(number)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or "\x00" in value:
        raise _wrong(name, value, "text that is not empty")
    return value


def _identifier(name: str, value: object) -> str:
    text = _text(name, value)
    requirement = name_requirement(name, text)
    if requirement is not None:
        raise _wrong(name, value, requirement)
    return text


def _switch(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    words = {"1": True, "true": True, "yes": True, "on": True}
    words |= {"0": False, "false": False, "no": False, "off": False}
    if str(value).lower() not in words:
        raise _wrong(name, value, "true or false")
    return words[str(value).lower()]


def _wrong(name: str, value: object, wanted: str) -> ConfigError:
    return ConfigError(f"option {name}={displayed(name, value)} is not valid: give {wanted}")


def displayed(name: str, value: object) -> str:
    """Return the repr of a setting's value for a message: without the password of a URL, and
    without a secret."""
    if not isinstance(value, str):
        return shown(value)
    if name in SECRETS:
        return repr(HIDDEN)
    return shown(mask_password(value) if name in URLS else value)


def _route_prefix(name: str, value: object) -> str:
    if value == "":
        return ""
    text = _text(name, value)
    if not re.fullmatch(r"(/[\w.~-]+)+", text, re.ASCII):
        raise _wrong(name, value, "a path such as /duetime, without a slash at its end")
    return text


def _optional_text(name: str, value: object) -> str | None:
    return None if value is None else _text(name, value)


def _base_url(name: str, value: object) -> str | None:
    text = _optional_text(name, value)
    if text is None:
        return None
    parts = urlsplit(text)
    whole = parts.hostname and not (parts.query or parts.fragment or "@" in parts.netloc)
    if parts.scheme not in ("http", "https") or not whole:
        raise _wrong(name, value, "the address under which people reach it: https://host/path")
    return text.rstrip("/")


def _networks(name: str, value: object) -> tuple[str, ...]:
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, Iterable):
        raise _wrong(name, value, "addresses or networks such as 10.0.0.0/8")
    try:
        return tuple(str(ipaddress.ip_network(str(item).strip())) for item in given)
    except ValueError as error:
        raise _wrong(name, value, f"addresses or networks such as 10.0.0.0/8: {error}") from None


def _environment_color(name: str, value: object) -> str | None:
    if value is None or value in ENVIRONMENT_COLORS:
        return value
    raise _wrong(name, value, f"one of {', '.join(ENVIRONMENT_COLORS)}")


def _names(name: str, value: object) -> tuple[str, ...]:
    given = value.split(",") if isinstance(value, str) else value
    names = [str(item).strip() for item in given] if isinstance(given, Iterable) else [""]
    if not all(names):
        raise _wrong(name, value, "a list, or a text with commas")
    return tuple(names)


def _trace(name: str, value: object) -> str:
    if value in get_args(TraceMode):
        return str(value)
    raise _wrong(name, value, "link or continue")


def _origins(name: str, value: object) -> tuple[str, ...]:
    """Return origins as browsers write them."""
    given = value.split(",") if isinstance(value, str) else value
    origins = [str(item).strip().lower() for item in given] if isinstance(given, Iterable) else [""]
    for origin in origins:
        if not ORIGIN.fullmatch(origin):
            raise _wrong(name, value, "origins such as https://ops.example, without a path")
    return tuple(origins)


_CHECK_BY_TYPE: Mapping[str, Callable[[str, object], object]] = {
    "float": _duration,
    "int": whole,
    "str": _text,
    "bool": _switch,
    "str | None": _identifier,
}
_CHECK_BY_NAME: Mapping[str, Callable[[str, object], object]] = {
    "prefix": _identifier,
    "route_prefix": _route_prefix,
    "required_role": _optional_text,
    "base_url": _base_url,
    "trusted_proxies": _networks,
    "cors_origins": _origins,
    "trace": _trace,
    "environment": _optional_text,
    "environment_color": _environment_color,
    "email": _optional_text,
    "email_sender": _optional_text,
    "webhook_secret": _optional_text,
    "webhook_allow_hosts": _names,
    "notification_templates": _optional_text,
    "notification_languages": _names,
}
_CHECKS: Mapping[str, Callable[[str, object], Any]] = {
    f.name: _CHECK_BY_NAME.get(f.name) or _CHECK_BY_TYPE[str(f.type)] for f in fields(Settings)
}
