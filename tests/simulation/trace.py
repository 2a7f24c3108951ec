"""Trace of a history, event by event: the hash identifies it, the lines explain it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from uuid import UUID


class Trace:
    """Collects events in order, violations, and a tally of what happened."""

    def __init__(self, time: Callable[[], float], *, keep: bool = False) -> None:
        self._time = time
        self._keep = keep
        self._hash = hashlib.sha256()
        self._names: dict[UUID, str] = {}
        self.lines: list[str] = []
        self.violations: list[str] = []
        self.tally: Counter[str] = Counter()

    def add(self, *words: object) -> None:
        text = f"{self._time():.6f} {words!r}"
        self._hash.update(text.encode())
        if self._keep:
            self.lines.append(f"{self._time():10.4f}  {' '.join(map(str, words))}")

    def violation(self, rule: str, *words: object) -> None:
        """Record that a guarantee was broken."""
        text = f"{rule}: {' '.join(map(str, words))} at {self._time():.4f} s"
        self.violations.append(text)
        self.add("VIOLATION", text)

    def count(self, what: str, amount: int = 1) -> None:
        self.tally[what] += amount

    def name(self, prefix: str, uuid: UUID | None) -> str:
        """Return a short name for an id: a1, a2 for actions, t1, t2 for tokens."""
        if uuid is None:
            return "-"
        if uuid not in self._names:
            self._names[uuid] = f"{prefix}{len(self._names)}"
        return self._names[uuid]

    def action(self, uuid: UUID) -> str:
        return self.name("a", uuid)

    def token(self, uuid: UUID | None) -> str:
        return self.name("t", uuid)

    @property
    def hash(self) -> str:
        return self._hash.hexdigest()
