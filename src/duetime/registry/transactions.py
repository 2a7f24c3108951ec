"""The transactions that the handlers of an app ask for, in its current store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from duetime.errors import ConfigError
from duetime.store.base import Store
from duetime.store.transaction import TransactionFactory


class HandlerTransactions:
    """Finds the factory of a handler's transaction by the annotation of its parameter.

    Handlers are declared once for all stores of their app, so they keep the annotation only.
    """

    def __init__(self, store: Store, sessions: Callable[[], Any] | None) -> None:
        self._store = store
        self._sessions = sessions
        self._factories: dict[Any, TransactionFactory] = {}

    def find(self, annotation: Any) -> TransactionFactory | None:
        """Return None if the annotation is no connection or session; raise ConfigError if the store
        has no such transactions."""
        return self._store.transaction_factory(annotation, self._sessions)

    def factory(self, annotation: Any) -> TransactionFactory:
        """Return the factory for the annotation of a transactional handler."""
        if annotation not in self._factories:
            found = self.find(annotation)
            if found is None:
                raise ConfigError(
                    f"{type(self._store).__name__} has no transactions for {annotation!r}"
                )
            self._factories[annotation] = found
        return self._factories[annotation]
