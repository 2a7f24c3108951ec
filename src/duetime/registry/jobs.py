"""The jobs that an app declares in code.

Who is to hear that an app declared something: its workers, which may run already.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from duetime.errors import ConfigError
from duetime.model.jobs.job import Definition


class DeclaredJobs:
    """By name, each once."""

    def __init__(self) -> None:
        self._by_name: dict[str, Definition] = {}

    def refuse_taken(self, name: str) -> None:
        if name in self._by_name:
            raise ConfigError(f"two jobs are named {name!r}: each job needs a name of its own")

    def add(self, definition: Definition) -> None:
        self._by_name[definition.name] = definition

    def get(self, name: str) -> Definition | None:
        return self._by_name.get(name)

    def names(self) -> list[str]:
        return sorted(self._by_name)

    def __iter__(self) -> Iterator[Definition]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)


class Declarations:
    """Tells every worker of the app, from whichever thread something was declared."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], None]] = []

    def listen(self, declared: Callable[[], None]) -> Callable[[], None]:
        """Call `declared` after each declaration; returns the way to stop that."""
        with self._lock:
            self._listeners = [*self._listeners, declared]
        return lambda: self._forget(declared)

    def tell(self) -> None:
        for declared in self._listeners:
            declared()

    def _forget(self, declared: Callable[[], None]) -> None:
        with self._lock:
            self._listeners = [one for one in self._listeners if one is not declared]
