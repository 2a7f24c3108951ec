"""The undo log: takes back the changes of a transaction that raised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class UndoLog:
    """The steps that take back the changes of the current transaction."""

    def __init__(self) -> None:
        self._steps: list[Callable[[], None]] = []

    def add(self, step: Callable[[], None]) -> None:
        """Call `step` if the current transaction raises; the newest step is called first."""
        self._steps.append(step)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Keep all changes made inside, or none of them if anything is raised."""
        try:
            yield
        except BaseException:
            while self._steps:
                self._steps.pop()()
            raise
        finally:
            self._steps.clear()
