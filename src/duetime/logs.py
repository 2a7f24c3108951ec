"""The loggers of duetime: what they log cannot forge lines, whatever text it holds.

A record's arguments, extra fields and traceback are made safe before any handler sees them, so that
this holds with the handlers and formats of users, too.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from duetime.model.actions.current_run import run_fields
from duetime.model.safe_text import readable, safe_json, safe_text, shorten
from duetime.model.traceback_text import traceback_text

if TYPE_CHECKING:
    LoggerAdapter = logging.LoggerAdapter[logging.Logger]
else:
    LoggerAdapter = logging.LoggerAdapter

MAX_ARGUMENT_LENGTH = 2_000


class Log(LoggerAdapter):
    """A logger whose records are safe: each message is one line, tracebacks are indented."""

    def log(
        self,
        level: int,
        msg: object,
        *args: object,
        exc_info: object = None,
        extra: Mapping[str, object] | None = None,
        stacklevel: int = 1,
        **_: Any,
    ) -> None:
        if not self.isEnabledFor(level):
            return
        logger, error = self.logger, _exception(exc_info)
        # One frame up is ours.
        file, line, function, _stack = logger.findCaller(stacklevel=stacklevel + 1)
        named = {**run_fields(), **(extra or {})}
        fields = {name: safe_field(value) for name, value in named.items()}
        info = None if error is None else (type(error), error, error.__traceback__)
        arguments = tuple(safe_argument(value) for value in args)
        record = logger.makeRecord(
            logger.name, level, file, line, msg, arguments, info, function, fields
        )
        if error is not None:
            # Formatters use this text where there is one.
            record.exc_text = traceback_text(error)
        logger.handle(record)


def get_log(name: str) -> Log:
    return Log(logging.getLogger(name))


class SafeArgument:
    """An argument of a log line; its text is made only if the line is written."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __str__(self) -> str:
        return safe_text(readable(self._value, MAX_ARGUMENT_LENGTH))

    def __repr__(self) -> str:
        return safe_text(readable(self._value, MAX_ARGUMENT_LENGTH, repr))


def safe_argument(value: object) -> object:
    return value if isinstance(value, int | float) else SafeArgument(value)


def safe_field(value: object) -> object:
    return safe_text(shorten(value, MAX_ARGUMENT_LENGTH)) if isinstance(value, str) else value


class RunFilter(logging.Filter):
    """Adds to the records of every logger the fields of the run in which they are logged: add it
    to a handler. Fields that a record has already stay."""

    def filter(self, record: logging.LogRecord) -> bool:
        for name, value in run_fields().items():
            if name not in vars(record):
                setattr(record, name, safe_field(value))
        return True


class LineFormatter(logging.Formatter):
    """Formats the records of every logger so that they cannot forge lines: one line for a message,
    then an indented traceback."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return safe_text(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return traceback_text(ei[1])

    def formatStack(self, stack_info: str) -> str:
        return "\n".join(f"    {safe_text(line)}" for line in stack_info.split("\n"))


class JsonFormatter(logging.Formatter):
    """Formats each record of every logger as one JSON document on one line, extra fields
    included."""

    def format(self, record: logging.LogRecord) -> str:
        document = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extra_fields(record),
        }
        error = _exception(record.exc_info[1] if record.exc_info else None)
        if error is not None:
            document["traceback"] = record.exc_text or traceback_text(error)
        if record.stack_info:
            document["stack"] = record.stack_info
        return safe_json(json.dumps(document, ensure_ascii=False, default=_json_value))


# What every record has; any other attribute was given as `extra`.
RECORD_ATTRIBUTES = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime"})


def _extra_fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in RECORD_ATTRIBUTES}


def _json_value(value: object) -> str:
    return readable(value, MAX_ARGUMENT_LENGTH)


def _exception(exc_info: object) -> BaseException | None:
    if isinstance(exc_info, BaseException):
        return exc_info
    return sys.exc_info()[1] if exc_info else None
