"""The jobs that an app declares in code."""

from __future__ import annotations

from collections.abc import Iterator

from duetime.errors import ConfigError
from duetime.model.job import Definition


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
