"""Who is to hear that an app declared something: its workers, which may run already."""

from __future__ import annotations

import threading
from collections.abc import Callable


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
