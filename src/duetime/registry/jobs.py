"""The jobs that an app declares in code, and the signal to its workers that something was
declared."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from duetime.errors import ConfigError
from duetime.model.jobs.job import JobDefinition


class DeclaredJobs:
    """Declared jobs by name, each name once."""

    def __init__(self) -> None:
        self._by_name: dict[str, JobDefinition] = {}

    def refuse_taken(self, name: str) -> None:
        if name in self._by_name:
            raise ConfigError(f"two jobs are named {name!r}: each job needs a name of its own")

    def add(self, definition: JobDefinition) -> None:
        self._by_name[definition.name] = definition

    def tables(self) -> list[dict[Any, Any]]:
        """Return what changes when a job is added."""
        return [self._by_name]

    def get(self, name: str) -> JobDefinition | None:
        return self._by_name.get(name)

    def names(self) -> list[str]:
        return sorted(self._by_name)

    def __iter__(self) -> Iterator[JobDefinition]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)


class DeclarationSignal:
    """Notifies every running worker of the app, from any thread that declares something."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], None]] = []

    def subscribe(self, declared: Callable[[], None]) -> Callable[[], None]:
        """Call `declared` after each declaration; return a function that ends the subscription."""
        with self._lock:
            self._listeners = [*self._listeners, declared]
        return lambda: self._forget(declared)

    def notify(self) -> None:
        for declared in self._listeners:
            declared()

    def _forget(self, declared: Callable[[], None]) -> None:
        with self._lock:
            self._listeners = [other for other in self._listeners if other is not declared]
