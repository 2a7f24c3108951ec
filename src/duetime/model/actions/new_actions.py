"""Keys: the dedupe name of an action among the unfinished ones of its tenant and kind.

Many new actions that are asked for at once, by their columns.

Most of them are alike in all but id and payload. What is the same for all is checked, sent and
shown once, and nobody makes a NewAction of each only to read its fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, overload
from uuid import UUID

from duetime.model.actions.action import NewAction
from duetime.model.columns import Repeated, is_empty, unzipped

# What `schedule` does when an unfinished action already holds the key.
IfExists = Literal["return", "replace", "raise"]


FIELDS = NewAction._fields


class NewActions(Sequence[NewAction]):
    """`columns` are the fields of NewAction, in their order; `payloads` are what their texts were
    written from, if anybody is to see them. The ids of `fresh` ones were made for them just now:
    nobody can have stored them, unless they were sent before."""

    def __init__(
        self,
        columns: Mapping[str, Sequence[Any]],
        payloads: Sequence[object] = (),
        *,
        fresh: bool = False,
    ) -> None:
        self.columns = columns
        self.payloads = payloads
        self.fresh = fresh

    @classmethod
    def of(cls, new: Sequence[NewAction]) -> NewActions:
        return new if isinstance(new, NewActions) else cls(unzipped(FIELDS, new))

    @classmethod
    def joined(cls, several: Sequence[NewActions]) -> NewActions:
        """Those of several calls, one after the other."""
        if len(several) == 1:
            return several[0]
        columns = {
            name: [*chain.from_iterable([one.columns[name] for one in several])] for name in FIELDS
        }
        payloads = [*chain.from_iterable([one._each_payload() for one in several])]
        return cls(columns, payloads, fresh=all(one.fresh for one in several))

    def __len__(self) -> int:
        return len(self.columns["id"])

    @overload
    def __getitem__(self, place: int) -> NewAction: ...
    @overload
    def __getitem__(self, place: slice) -> NewActions: ...
    def __getitem__(self, place: int | slice) -> NewAction | NewActions:
        if isinstance(place, int):
            return NewAction._make(column[place] for column in self.columns.values())
        columns = {name: column[place] for name, column in self.columns.items()}
        return NewActions(columns, self.payloads[place], fresh=self.fresh)

    def __iter__(self) -> Iterator[NewAction]:
        return map(NewAction, *self.columns.values())

    def among(self, ids: Container[UUID]) -> NewActions:
        return self._at([place for place, one in enumerate(self.columns["id"]) if one in ids])

    def without(self, ids: Container[UUID]) -> NewActions:
        return self._at([place for place, one in enumerate(self.columns["id"]) if one not in ids])

    def _at(self, places: Sequence[int]) -> NewActions:
        if len(places) == len(self):
            return self
        columns = {name: [column[n] for n in places] for name, column in self.columns.items()}
        payloads = self._each_payload()
        return NewActions(columns, [payloads[n] for n in places])

    def _each_payload(self) -> Sequence[object]:
        return self.payloads or Repeated(None, len(self))

    def has(self, name: str) -> bool:
        """Whether anything stands in this column."""
        return not is_empty(self.columns[name])

    def counted(self, *names: str) -> Mapping[tuple[Any, ...], int]:
        """What stands together in these columns, and in how many rows."""
        columns = [self.columns[name] for name in names]
        if all(isinstance(column, Repeated) for column in columns):
            return {tuple(column[0] for column in columns): len(self)} if len(self) else {}
        return Counter(zip(*columns, strict=True))
