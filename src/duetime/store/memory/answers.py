"""Idempotency keys of requests in a MemoryStore."""

from __future__ import annotations

from abc import ABC, abstractmethod

from duetime.model.answer import (
    ANSWER_LIFETIME,
    AnswerKey,
    StoredAnswer,
)
from duetime.store.base import Store
from duetime.store.flow import immediate
from duetime.store.memory.tables import Tables


class MemoryAnswers(Store, ABC):
    """What was answered to requests with a key."""

    _tables: Tables

    @abstractmethod
    def _now(self) -> int: ...

    @immediate
    def take_key(self, key: AnswerKey) -> StoredAnswer | None:
        self._expire_answers()
        found = self._tables.answers.get(key.id)
        return None if found is None else found[1]

    @immediate
    def store_answer(self, key: AnswerKey, answer: StoredAnswer) -> None:
        self._tables.set_answer(key.id, (self._now(), answer))

    def _expire_answers(self) -> None:
        before = self._now() - ANSWER_LIFETIME
        expired = [key for key, (at, _) in self._tables.answers.items() if at < before]
        for key in expired:
            self._tables.set_answer(key, None)
