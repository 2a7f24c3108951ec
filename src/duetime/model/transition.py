"""Row transitions: what may be declared, what a pass did, and what a failure means."""

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

# A row that fails is tried again after half a minute, two, eight and half an hour; then it is
# parked until somebody gives it a new time or asks for it.
RETRY = Retry(attempts=5, delay=30, factor=4, max_delay=3600)


class Effect(StrEnum):
    """What happens to the row."""

    set_field = "set_field"
    soft_delete = "soft_delete"
    hard_delete = "hard_delete"
    action = "action"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What a column says of its row, as it was written down."""

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


def flaw(declared: Declaration) -> str | None:
    """What is wrong with it whatever its model looks like, and the remedy."""
    for found in (_effects(declared), _values(declared), _unguarded(declared), _clear(declared)):
        if found is not None:
            return found
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
            return f"{' and '.join(stray)} without set_field= say nothing: name the field"
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
        "action= alone leaves every row whose time has passed to be read at every sweep: give "
        "clear=True, which empties the column, where= with what sets such rows apart, or an "
        "effect such as set_field="
    )


def _clear(declared: Declaration) -> str | None:
    if declared.clear and declared.effect is Effect.hard_delete:
        return "clear=True empties a column of a row that hard_delete=True removes: leave it out"
    return None


# -- what a pass did -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RowError:
    """One row that could not be changed; `id` is None if it is not about one row."""

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
    """Rows of one model, or of all."""

    updated: int = 0
    deleted: int = 0
    skipped: int = 0
    failed: int = 0


@dataclass(slots=True)
class Report(Tally):
    """What one pass did. `skipped` rows were gone, changed or locked when their turn came;
    `truncated` means that more rows are due than a batch holds."""

    truncated: bool = False
    errors: list[RowError] = field(default_factory=list)
    per_model: dict[str, Tally] = field(default_factory=dict)

    def count(self, model: str, *, changed: int, deletes: bool, skipped: int, failed: int) -> None:
        told = Tally(0 if deletes else changed, changed if deletes else 0, skipped, failed)
        self.add(Report(per_model={model: told}, truncated=self.truncated))

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
        """The report itself; SweepFailed if it has errors, so that who ran the sweep fails."""
        if self.errors:
            raise SweepFailed([str(one) for one in self.errors], self)
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionView:
    """One declared transition, in words."""

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
        """What it does, on one line."""
        told = {
            Effect.set_field: f"set {self.field} to {shown(self.to)}",
            Effect.soft_delete: "delete softly",
            Effect.hard_delete: "delete for good",
            Effect.action: "schedule an action",
        }[self.effect]
        if self.effect is Effect.set_field and self.from_ is not UNSET:
            told += f" if it is {shown(self.from_)}"
        if self.action and self.effect is not Effect.action:
            told += ", schedule an action"
        return f"{told}, empty the column" if self.clear else told


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """How much waits for one transition: rows that are due now, when the next ones are, and rows
    that failed: those to be tried again, and those that are parked."""

    model: str
    column: str
    due: int
    next_due: datetime | None
    retrying: int
    parked: int


def retry_at(attempts: int, now: datetime, retry: Retry, chance: float) -> datetime | None:
    """When a row that failed for the so-manieth time is tried again; None: it is parked."""
    pause = retry.pause(attempts, chance)
    return None if pause is None else now + timedelta(seconds=pause)
