"""Ids: time-ordered UUIDs (version 7, RFC 9562), made by the client."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import overload
from uuid import UUID, SafeUUID

from duetime.model.clock import Clock, to_micros, unix_micros

NewId = Callable[[], UUID]
RANDOM_BITS = 74
# Those that follow the variant field. Within them an id counts on without touching the others.
LOW_BITS = 62
LOW = (1 << LOW_BITS) - 1


class TimeOrderedIds:
    """Ids that sort in the order they were made, also within one millisecond.

    Chance fills the rest of an id at each new millisecond; within it the id counts on. A
    forked process starts anew: it must not count on where its parent does.
    """

    def __init__(
        self, clock: Clock | None = None, random: Callable[[int], bytes] = os.urandom
    ) -> None:
        self._clock = clock
        self._random = random
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._millis = 0
        self._last = 0
        self._lock = threading.Lock()

    def __call__(self) -> UUID:
        return uuid_of(_spread(self._take(1)))

    def many(self, count: int) -> Numbered:
        """So many at once, in their order."""
        first = self._take(count)
        if (first & LOW) + count > LOW:
            return Numbered([_spread(ordered) for ordered in range(first, first + count)])
        number = _spread(first)
        return Numbered(range(number, number + count))

    def _take(self, count: int) -> int:
        """The first of so many that nobody else gets."""
        if self._process != os.getpid():
            self._start()
        with self._lock:
            millis = self._now()
            fresh = millis > self._millis
            first = self._fresh(millis) if fresh else self._last + 1
            self._millis, self._last = max(millis, self._millis), first + count - 1
            return first

    def _now(self) -> int:
        return (unix_micros() if self._clock is None else to_micros(self._clock.now())) // 1000

    def _fresh(self, millis: int) -> int:
        chance = int.from_bytes(self._random(10), "big") & ((1 << RANDOM_BITS) - 1)
        return max((millis << RANDOM_BITS) | chance, self._last + 1)


class Numbered(Sequence[UUID]):
    """Ids in their order by their numbers, each made when it is asked for: a store is sent only
    the numbers, and makes its rows while the ids are made."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> UUID: ...
    @overload
    def __getitem__(self, place: slice) -> Numbered: ...
    def __getitem__(self, place: int | slice) -> UUID | Numbered:
        if isinstance(place, slice):
            return Numbered(self.numbers[place])
        return uuid_of(self.numbers[place])

    def __iter__(self) -> Iterator[UUID]:
        return map(uuid_of, self.numbers)


def numbers_of(ids: Sequence[UUID | None]) -> Sequence[int | None]:
    """Without making the ids, where only their numbers are known."""
    return ids.numbers if isinstance(ids, Numbered) else [*map(_number, ids)]


def _number(one: UUID | None) -> int | None:
    return None if one is None else one.int


def _spread(ordered: int) -> int:
    """The 122 ordered bits around the version and variant fields."""
    millis = (ordered >> RANDOM_BITS) & ((1 << 48) - 1)
    high = (ordered >> LOW_BITS) & 0xFFF
    low = ordered & LOW
    return (millis << 80) | (7 << 76) | (high << 64) | (2 << LOW_BITS) | low


def uuid_of(number: int) -> UUID:
    """As UUID(int=number), which takes twice as long to ask for the other ways to give it."""
    made = _bare(UUID)
    _put(made, "int", number)
    _put(made, "is_safe", _UNKNOWN)
    return made


_bare, _put, _UNKNOWN = object.__new__, object.__setattr__, SafeUUID.unknown
