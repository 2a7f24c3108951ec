"""Idempotency keys of requests, for all SQL stores."""

from __future__ import annotations

from abc import ABC
from typing import Any, cast

from duetime.model.answer import (
    ANSWER_LIFETIME,
    MAX_ANSWERS_EXPIRED,
    AnswerKey,
    StoredAnswer,
)
from duetime.store.base import Store
from duetime.store.flow import Mode, Row, Statement, Steps, flow
from duetime.store.sql.flows.claims import clock


class AnswerFlows(Store, ABC):
    """Flows of `take_key` and `store_answer`."""

    @flow(Mode.write, resend=True)
    def take_key(self, key: AnswerKey) -> Steps[StoredAnswer | None]:
        now = yield from clock()
        until = now - ANSWER_LIFETIME
        yield Statement("answers_expire", {"until": until, "limit": MAX_ANSWERS_EXPIRED})
        wanted = {"key_id": key.id, "tenant": key.tenant, "digest": key.digest}
        if (yield Statement("answers_take", wanted | {"now": now, "until": until})):
            return None
        [row] = yield Statement("answers_find", {"key_id": key.id})
        return _answer(row)

    @flow()
    def store_answer(self, key: AnswerKey, answer: StoredAnswer) -> Steps[None]:
        yield Statement(
            "answers_store",
            {
                "key_id": key.id,
                "status": answer.status,
                "location": answer.location,
                "document": answer.document,
            },
        )


def _answer(row: Row) -> StoredAnswer:
    return StoredAnswer(*cast("Any", row))
