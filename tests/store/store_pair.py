"""A pair of stores that must answer alike: the specification and the checked store.

Each store makes its own tokens, so tokens are compared by name: "claim 2 of <action id>".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar
from uuid import UUID

from duetime.errors import DuetimeError, StoreUnavailable
from duetime.model.actions.action import AddedRecord
from duetime.model.actions.claim import Claim, Claimed, Fence
from duetime.model.actions.completion import Completion
from duetime.model.actions.new_actions import Inserted, InsertedBatch
from duetime.model.audit import StoredAuditEntry
from duetime.model.state import Outcome, State
from duetime.store.base import Store
from duetime.store.flow import Flow, Mode, Steps
from duetime.store.memory.store import MemoryStore
from duetime.testing.conformance.probe import as_added_record

T = TypeVar("T")
NO_ID = UUID(int=0)
PLAIN = (type(None), str, int, bool, State, Outcome)


@dataclass(frozen=True)
class NamedClaim:
    """A claim made by both stores: its action, and the name of its token."""

    id: UUID
    name: str


@dataclass(frozen=True)
class RaisedError:
    """The error of a verb that raised."""

    error: str
    message: str


class RolledBack(Exception):
    """Carries a result out of a transaction that is rolled back."""

    def __init__(self, result: object) -> None:
        self.result = result


class StoreSide:
    """One of the two stores, with the names of its tokens."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._names: dict[UUID, str] = {}
        self._tokens: dict[str, UUID] = {}
        self._claims: Counter[UUID] = Counter()

    def ask(self, flow: Flow[T]) -> object:
        """Perform a flow; return its result in a form comparable with the other store's."""
        try:
            result = self.store.perform_blocking(flow)
        except StoreUnavailable:
            raise
        except DuetimeError as error:
            return RaisedError(type(error).__name__, str(error))
        if isinstance(result, Claimed):
            self._learn(result)
        return self.normalized(result)

    def peek(self, flow: Flow[T]) -> Any:
        """Return the result of a flow, and roll it back."""

        def steps() -> Steps[None]:
            raise RolledBack((yield from flow.start()))

        try:
            self.store.perform_blocking(Flow(steps, Mode.pinned))
        except RolledBack as peeked:
            return peeked.result
        raise AssertionError("the flow's error was swallowed")

    def lease(self, named_claim: NamedClaim) -> Fence:
        return Fence(named_claim.id, self._tokens[named_claim.name])

    def completion_of(self, named_claim: NamedClaim, completion: Completion) -> Completion:
        return completion._replace(id=named_claim.id, token=self._tokens[named_claim.name])

    def named_claim(self, action_id: UUID, token: UUID) -> NamedClaim:
        return NamedClaim(action_id, self._names[token])

    def _learn(self, claimed: Claimed) -> None:
        for claim in claimed.claims:
            self._claims[claim.id] += 1
            name = f"claim {self._claims[claim.id]} of {claim.id}"
            self._names[claim.token] = name
            self._tokens[name] = claim.token

    def normalized(self, value: object) -> object:
        """Return a value with tokens by name, without what stores may choose freely."""
        if type(value) in PLAIN:
            return value
        if isinstance(value, UUID):
            return self._names.get(value, value)
        if isinstance(value, StoredAuditEntry):
            value = replace(value, id=NO_ID)
        if isinstance(value, Inserted):
            value = as_added_record(value)
        if is_dataclass(value) and not isinstance(value, type):
            return {f.name: self.normalized(getattr(value, f.name)) for f in fields(value)}
        if isinstance(value, Claim | AddedRecord):
            return self.normalized(value._asdict())
        if isinstance(value, Mapping):
            return {self.normalized(key): self.normalized(item) for key, item in value.items()}
        if isinstance(value, set | frozenset):
            return {self.normalized(item) for item in value}
        if isinstance(value, list | tuple | InsertedBatch):
            return [self.normalized(item) for item in value]
        return value


class Pair:
    """Performs flows on both stores, compares the results, and returns the expected one."""

    def __init__(self, specification: MemoryStore, checked: Store) -> None:
        self.specification = specification
        self.oracle = StoreSide(specification)
        self.checked = StoreSide(checked)

    def ask(
        self,
        verb: Callable[[StoreSide], Flow[T]],
        normalize: Callable[[Any], object] = lambda answer: answer,
    ) -> Any:
        """Compare the results of a verb, after `normalize` removed insignificant differences."""
        expected = self.oracle.ask(verb(self.oracle))
        actual = self.checked.ask(verb(self.checked))
        if isinstance(expected, RaisedError) or isinstance(actual, RaisedError):
            assert actual == expected
        else:
            assert normalize(actual) == normalize(expected)
        return expected

    def peek(
        self,
        verb: Callable[[StoreSide], Flow[T]],
        normalize: Callable[[Any], object] = lambda answer: answer,
    ) -> Any:
        """Compare the results of a verb, and roll it back in both stores."""
        expected = self.oracle.normalized(self.oracle.peek(verb(self.oracle)))
        actual = self.checked.normalized(self.checked.peek(verb(self.checked)))
        assert normalize(actual) == normalize(expected)
        return expected
