"""The state of a store's database, as `duetime doctor` reports it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Version:
    """The installed version of something a store depends on, and the oldest supported one."""

    name: str
    found: tuple[int, ...]
    oldest: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """The schema version that is `applied` in the database (0: no tables), and the newest one
    `known` to the code.

    `missing_indexes` are those that are built beside the work. `refused` says why this code must
    not use the tables, or is None.
    """

    applied: int
    known: int
    pending: tuple[str, ...] = ()
    refused: str | None = None
    missing_indexes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListenProbe:
    """Whether a notification from one connection reached another. `received_in` is None if it did
    not arrive within `timeout` seconds. `enabled` is the setting `listen`."""

    enabled: bool
    received_in: float | None = None
    timeout: float = 0.0


@dataclass(frozen=True, slots=True)
class SnapshotHolder:
    """A transaction or replication slot that keeps dead rows from being vacuumed: for how many
    seconds, or for how many transactions if its age in seconds is not recorded."""

    name: str
    seconds: float | None = None
    transactions: int | None = None


@dataclass(frozen=True, slots=True)
class DatabaseFile:
    """A database file. `free_bytes` is None if unknown; `locked_for` is how long the write lock
    was waited for in vain."""

    path: str
    writable: bool
    folder_writable: bool
    free_bytes: int | None
    journal_mode: str | None = None
    locked_for: float | None = None


# PostgreSQL's name for text that is never checked: any bytes may stand in it.
NO_ENCODING = "SQL_ASCII"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The results of all checks of a database; None or empty where a check failed or does not
    apply. `snapshot_holders` is empty if nothing prevents vacuuming.

    `fault` says why the database cannot be used at all.
    """

    fault: str | None = None
    answered_in: float | None = None
    versions: tuple[Version, ...] = ()
    encoding: str | None = None
    schema: Schema | None = None
    listen_probe: ListenProbe | None = None
    snapshot_holders: tuple[SnapshotHolder, ...] | None = None
    file: DatabaseFile | None = None
