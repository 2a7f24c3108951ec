"""What happened, event by event: its hash tells two histories apart, its lines explain one."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from uuid import UUID


class Trace:
    """Everything that happens is added here once, in its order."""

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
        """A guarantee was broken."""
        found = f"{rule}: {' '.join(map(str, words))} at {self._time():.4f} s"
        self.violations.append(found)
        self.add("VIOLATION", found)

    def count(self, what: str, much: int = 1) -> None:
        self.tally[what] += much

    def name(self, prefix: str, given: UUID | None) -> str:
        """A short name for an id: a1, a2 for actions, t1, t2 for tokens."""
        if given is None:
            return "-"
        if given not in self._names:
            self._names[given] = f"{prefix}{len(self._names)}"
        return self._names[given]

    def action(self, given: UUID) -> str:
        return self.name("a", given)

    def token(self, given: UUID | None) -> str:
        return self.name("t", given)

    @property
    def hash(self) -> str:
        return self._hash.hexdigest()
