"""The verbs of a store for idempotency keys of requests."""

from __future__ import annotations

from abc import ABC, abstractmethod

from duetime.model.answer import AnswerKey, StoredAnswer
from duetime.store.flow import Flow


class AnswerContract(ABC):
    """Keys that requests carry, and what was answered."""

    @abstractmethod
    def take_key(self, key: AnswerKey) -> Flow[StoredAnswer | None]:
        """Take a key for this transaction, which must store an answer, and return None; or return
        the answer that is stored under it, whatever its digest. If another transaction has taken
        the key, wait for its end. An answer older than a day counts for nothing; a few of these are
        deleted."""

    @abstractmethod
    def store_answer(self, key: AnswerKey, answer: StoredAnswer) -> Flow[None]:
        """Store the answer of a key that this transaction has taken."""
