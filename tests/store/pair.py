"""A pair of stores that must tell the same: the specification and the one that is checked.

Each store makes its own tokens, so tokens are known by name: "the second claim of action 7".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar
from uuid import UUID

from duetime.errors import DuetimeError, StoreUnavailable
from duetime.model.actions.action import Found
from duetime.model.actions.claim import Claim, Claimed, Lease
from duetime.model.actions.completion import Ending
from duetime.model.actions.inserted import Births, Born
from duetime.model.audit import AuditEntry
from duetime.model.state import Outcome, State
from duetime.store.base import Store
from duetime.store.flow import Flow, Mode, Steps
from duetime.store.memory.store import MemoryStore
from duetime.testing.conformance.probe import as_found

T = TypeVar("T")
NO_ID = UUID(int=0)
PLAIN = (type(None), str, int, bool, State, Outcome)


@dataclass(frozen=True)
class Holding:
    """A claim as both stores made it: its action, and which of its claims it was."""

    id: UUID
    name: str


@dataclass(frozen=True)
class Refused:
    """A verb that raised."""

    error: str
    message: str


class Peeked(Exception):
    """Carries a result out of a transaction that is then taken back."""

    def __init__(self, result: object) -> None:
        self.result = result


class Side:
    """One of the two stores, and the names of its tokens."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._names: dict[UUID, str] = {}
        self._tokens: dict[str, UUID] = {}
        self._claims: Counter[UUID] = Counter()

    def ask(self, flow: Flow[T]) -> object:
        """What the store answers, comparable with the other's answer."""
        try:
            result = self.store.perform_blocking(flow)
        except StoreUnavailable:
            raise
        except DuetimeError as error:
            return Refused(type(error).__name__, str(error))
        if isinstance(result, Claimed):
            self._learn(result)
        return self.told(result)

    def peek(self, flow: Flow[T]) -> Any:
        """What a flow would answer; nothing of it stays."""

        def steps() -> Steps[None]:
            raise Peeked((yield from flow.start()))

        try:
            self.store.perform_blocking(Flow(steps, Mode.pinned))
        except Peeked as peeked:
            return peeked.result
        raise AssertionError("the flow's error was swallowed")

    def lease(self, held: Holding) -> Lease:
        return Lease(held.id, self._tokens[held.name])

    def ending(self, held: Holding, ending: Ending) -> Ending:
        return ending._replace(id=held.id, token=self._tokens[held.name])

    def holding(self, action_id: UUID, token: UUID) -> Holding:
        return Holding(action_id, self._names[token])

    def _learn(self, claimed: Claimed) -> None:
        for claim in claimed.claims:
            self._claims[claim.id] += 1
            name = f"claim {self._claims[claim.id]} of {claim.id}"
            self._names[claim.token] = name
            self._tokens[name] = claim.token

    def told(self, value: object) -> object:
        """A value with tokens by name, and without what stores may choose freely."""
        if type(value) in PLAIN:
            return value
        if isinstance(value, UUID):
            return self._names.get(value, value)
        if isinstance(value, AuditEntry):
            value = replace(value, id=NO_ID)
        if isinstance(value, Born):
            value = as_found(value)
        if is_dataclass(value) and not isinstance(value, type):
            return {f.name: self.told(getattr(value, f.name)) for f in fields(value)}
        if isinstance(value, Claim | Found):
            return self.told(value._asdict())
        if isinstance(value, Mapping):
            return {self.told(key): self.told(item) for key, item in value.items()}
        if isinstance(value, set | frozenset):
            return {self.told(item) for item in value}
        if isinstance(value, list | tuple | Births):
            return [self.told(item) for item in value]
        return value


class Pair:
    """Asks both, compares, and answers as the specification does."""

    def __init__(self, specification: MemoryStore, checked: Store) -> None:
        self.specification = specification
        self.oracle = Side(specification)
        self.checked = Side(checked)

    def ask(
        self,
        verb: Callable[[Side], Flow[T]],
        alike: Callable[[Any], object] = lambda answer: answer,
    ) -> Any:
        """`alike` brings an answer into a form in which equal answers are equal."""
        expected = self.oracle.ask(verb(self.oracle))
        found = self.checked.ask(verb(self.checked))
        if isinstance(expected, Refused) or isinstance(found, Refused):
            assert found == expected
        else:
            assert alike(found) == alike(expected)
        return expected

    def peek(
        self,
        verb: Callable[[Side], Flow[T]],
        alike: Callable[[Any], object] = lambda answer: answer,
    ) -> Any:
        """What both would answer; nothing of it stays."""
        expected = self.oracle.told(self.oracle.peek(verb(self.oracle)))
        found = self.checked.told(self.checked.peek(verb(self.checked)))
        assert alike(found) == alike(expected)
        return expected
