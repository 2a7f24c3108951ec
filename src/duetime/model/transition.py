"""Row transitions: declarations, reports of a sweep, and retries of failed rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from inspect import iscoroutinefunction
from typing import Any, Final

from duetime.errors import SweepFailed, shown
from duetime.model.actions.retry import Retry


class _Unset(Enum):
    unset = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset.unset

# A row that fails is retried after half a minute, two, eight and half an hour; then it is parked
# until it gets a new time or is requested.
RETRY = Retry(attempts=5, delay=30, factor=4, max_delay=3600)


class Effect(StrEnum):
    """The effect of a transition on its row."""

    set_field = "set_field"
    soft_delete = "soft_delete"
    hard_delete = "hard_delete"
    action = "action"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """The transition that a column declares, as written in the model."""

    set_field: str | None = None
    from_: object = UNSET
    to: object = UNSET
    soft_delete: bool = False
    hard_delete: bool = False
    action: Callable[[Any], object] | None = None
    where: Any = None
    clear: bool = False

    @property
    def effect(self) -> Effect:
        if self.set_field is not None:
            return Effect.set_field
        if self.soft_delete:
            return Effect.soft_delete
        return Effect.hard_delete if self.hard_delete else Effect.action


def declaration_error(declared: Declaration) -> str | None:
    """Return what is wrong with a declaration whatever its model, and the remedy; else None."""
    for error in (_effects(declared), _values(declared), _unguarded(declared), _clear(declared)):
        if error is not None:
            return error
    return None


def _effects(declared: Declaration) -> str | None:
    given = {
        "set_field": declared.set_field is not None,
        "soft_delete": declared.soft_delete,
        "hard_delete": declared.hard_delete,
    }
    named = [name for name, is_given in given.items() if is_given]
    if len(named) > 1:
        return f"{' and '.join(named)} are two effects: keep one of them"
    if not named and declared.action is None:
        return "it has no effect: give set_field=, soft_delete=True, hard_delete=True or action="
    if declared.action is not None and not callable(declared.action):
        return (
            f"action={shown(declared.action)} cannot be called: give a function that takes the "
            "row and returns a payload, action=lambda row: Remind(row.id)"
        )
    if iscoroutinefunction(declared.action):
        return "action= is called in the transaction and cannot be awaited: give a plain function"
    return None


def _values(declared: Declaration) -> str | None:
    if declared.set_field is None:
        stray = [name for name in ("from_", "to") if getattr(declared, name) is not UNSET]
        if stray:
            return f"{' and '.join(stray)} without set_field= has no effect: name the field"
        return None
    if declared.to is UNSET:
        return f"set_field={declared.set_field!r} needs the value to set: give to="
    if declared.from_ is not UNSET and declared.from_ == declared.to:
        return f"from_ and to are both {shown(declared.to)}: it would change nothing"
    return None


def _unguarded(declared: Declaration) -> str | None:
    if declared.effect is not Effect.action or declared.clear or declared.where is not None:
        return None
    return (
        "action= alone makes every sweep read every row whose time has passed: give clear=True, "
        "which empties the column, where= with a condition that excludes such rows, or an effect "
        "such as set_field="
    )


def _clear(declared: Declaration) -> str | None:
    if declared.clear and declared.effect is Effect.hard_delete:
        return "clear=True empties a column of a row that hard_delete=True removes: leave it out"
    return None


# -- reports of a sweep -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RowError:
    """A row that could not be changed; `id` is None if the error is not about a single row."""

    model: str
    column: str
    id: object
    error: str
    attempts: int = 0
    retry_at: datetime | None = None

    @property
    def parked(self) -> bool:
        return self.id is not None and self.retry_at is None

    def __str__(self) -> str:
        row = "" if self.id is None else f" of {self.id}"
        return f"{self.model}.{self.column}{row}: {self.error}"


@dataclass(slots=True)
class Tally:
    """Counts of rows, of one model or of all."""

    updated: int = 0
    deleted: int = 0
    skipped: int = 0
    failed: int = 0


@dataclass(slots=True)
class Report(Tally):
    """The result of one sweep. `skipped` rows were gone, changed or locked when they were to be
    changed; `truncated` means that more rows are due than a batch holds."""

    truncated: bool = False
    errors: list[RowError] = field(default_factory=list)
    per_model: dict[str, Tally] = field(default_factory=dict)

    def count(self, model: str, *, changed: int, deletes: bool, skipped: int, failed: int) -> None:
        tally = Tally(0 if deletes else changed, changed if deletes else 0, skipped, failed)
        self.add(Report(per_model={model: tally}, truncated=self.truncated))

    def add(self, other: Report) -> None:
        for model, tally in other.per_model.items():
            for total in (self, self.per_model.setdefault(model, Tally())):
                total.updated += tally.updated
                total.deleted += tally.deleted
                total.skipped += tally.skipped
                total.failed += tally.failed
        self.truncated = other.truncated
        self.errors += other.errors

    @property
    def changed(self) -> int:
        return self.updated + self.deleted

    def check(self) -> Report:
        """Return the report itself. SweepFailed if it has errors."""
        if self.errors:
            raise SweepFailed([str(error) for error in self.errors], self)
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionView:
    """A declared transition, for display."""

    model: str
    table: str
    column: str
    effect: Effect
    field: str | None
    from_: object
    to: object
    clear: bool
    action: bool
    index: str

    def words(self) -> str:
        """Return what the transition does, on one line."""
        text = {
            Effect.set_field: f"set {self.field} to {shown(self.to)}",
            Effect.soft_delete: "delete softly",
            Effect.hard_delete: "delete for good",
            Effect.action: "schedule an action",
        }[self.effect]
        if self.effect is Effect.set_field and self.from_ is not UNSET:
            text += f" if it is {shown(self.from_)}"
        if self.action and self.effect is not Effect.action:
            text += ", schedule an action"
        return f"{text}, empty the column" if self.clear else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """The backlog of one transition: rows due now, when the next one is due, and failed rows that
    will be retried or are parked."""

    model: str
    column: str
    due: int
    next_due: datetime | None
    retrying: int
    parked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedRow:
    """A row that failed for good at its time `due_at`, which it still has."""

    model: str
    table: str
    column: str
    id: object
    due_at: datetime
    error: str
    attempts: int


def retry_at(
    attempts: int, now: datetime, retry: Retry, chance: float, error: BaseException
) -> datetime | None:
    """Return when to retry a row after this many failed attempts; None to park it."""
    pause = retry.pause(attempts, chance) if retry.covers(error) else None
    return None if pause is None else now + timedelta(seconds=pause)
