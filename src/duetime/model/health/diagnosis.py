"""What a store can tell of the database below it, for `duetime doctor`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Version:
    """A part that a store needs: the version found, and the oldest that will do."""

    name: str
    found: tuple[int, ...]
    oldest: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """The newest version of the tables: in the database (0: there are none), and in the code.

    `refused` says why this code must not use them, if so.
    """

    applied: int
    known: int
    pending: tuple[str, ...] = ()
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Ear:
    """Whether a notice from one connection came through to another. None: not within
    `patience` seconds. `wanted` is the setting `listen`."""

    wanted: bool
    heard_in: float | None = None
    patience: float = 0.0


@dataclass(frozen=True, slots=True)
class Holder:
    """Who keeps dead rows from being cleared away: for so long, or for so many transactions
    where nobody notes the time."""

    name: str
    seconds: float | None = None
    transactions: int | None = None


@dataclass(frozen=True, slots=True)
class DatabaseFile:
    """A database in a file. `free_bytes` is None if nobody may tell; `locked_for` is how long the
    write lock could not be had."""

    path: str
    writable: bool
    folder_writable: bool
    free_bytes: int | None
    journal_mode: str | None = None
    locked_for: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All that could be found out; None or empty where it could not, or means nothing here.
    `holders` is empty where nobody keeps anything from being cleared away.

    `fault` says why the database cannot be used at all.
    """

    fault: str | None = None
    answered_in: float | None = None
    versions: tuple[Version, ...] = ()
    schema: Schema | None = None
    ear: Ear | None = None
    holders: tuple[Holder, ...] | None = None
    file: DatabaseFile | None = None
