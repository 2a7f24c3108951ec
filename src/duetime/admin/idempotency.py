"""Acts of requests that carry an `Idempotency-Key`: done once, and answered again if repeated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from duetime.admin.call import AdminCall, json_response, to_json_bytes
from duetime.admin.problems import RequestRefused
from duetime.admin.replays import to_replayed, to_stored
from duetime.api.operation import Operation, perform
from duetime.model.answer import MAX_ANSWER_KEY_LENGTH, AnswerKey, StoredAnswer
from duetime.store.base import Store
from duetime.store.flow import Steps, then

T = TypeVar("T")

HEADER = "idempotency-key"


class NewAnswer(NamedTuple):
    """What a route answers to an act: a document, its status, and where what it made is found."""

    document: Any
    status: int
    location: str | None = None


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The end of an act: done now, with what the store returned for it; or answered before."""

    answer: StoredAnswer
    document: Any = None
    stored: Any = None
    repeated: bool = False


async def act_once(
    call: AdminCall, operation: Operation[T], answer: Callable[[T], NewAnswer]
) -> Response:
    """Perform the operation and answer. With a key, the answer is stored in the transaction of the
    act, and a request that repeats it gets it again."""
    runtime, answer = call.app.runtime, _described(call, answer)
    key = _key(call)
    if key is None:
        made = answer(await perform(operation, runtime))
        return json_response(made.document, made.status, _headers(made.location))
    done = await perform(_once(operation, runtime.store, key, answer), runtime)
    headers, document = _headers(done.answer.location), done.document
    if done.repeated:
        headers["Idempotency-Replayed"] = "true"
        document = await to_replayed(call, json.loads(done.answer.document))
    return json_response(document, done.answer.status, headers)


def _described(call: AdminCall, answer: Callable[[T], NewAnswer]) -> Callable[[T], NewAnswer]:
    """Make an answer tell the span of the act what was done."""

    def describe(result: T) -> NewAnswer:
        if call.span is not None:
            call.span.describe(result)
        return answer(result)

    return describe


def _once(
    operation: Operation[T], store: Store, key: AnswerKey, answer: Callable[[T], NewAnswer]
) -> Operation[Done[T]]:
    def act(found: StoredAnswer | None) -> Steps[Done[T]]:
        if found is not None:
            _refuse_damaged(found)
            _refuse_another(found, key)
            return Done(found, repeated=True)
        stored = yield from operation.flow.start()
        made = answer(operation.to_result(stored))
        text = to_json_bytes(to_stored(made.document)).decode()
        kept = StoredAnswer(key.digest, made.status, made.location, text)
        yield from store.store_answer(key, kept).start()
        return Done(kept, made.document, stored)

    events = operation.events
    return Operation(
        then(store.take_key(key), act),
        lambda done: done,
        lambda done: None if done.repeated else operation.count(done.stored),
        None if events is None else lambda done: () if done.repeated else events(done.stored),
    )


def _refuse_damaged(found: StoredAnswer) -> None:
    if found.damaged:
        raise RequestRefused(
            409,
            "idempotency-answer-damaged",
            "a request with this Idempotency-Key was done, and the answer that was stored for it "
            "cannot be read: look at what there is, and take a new key for another act",
        )


def _refuse_another(found: StoredAnswer, key: AnswerKey) -> None:
    if found.digest != key.digest:
        raise RequestRefused(
            422,
            "idempotency-key-reused",
            "another request was sent with this Idempotency-Key: take a new key for each",
        )


def _key(call: AdminCall) -> AnswerKey | None:
    request = call.request
    given = request.headers.getlist(HEADER)
    if not given:
        return None
    [text, *more] = given
    if more or not text.strip() or len(text) > MAX_ANSWER_KEY_LENGTH:
        raise RequestRefused(
            422,
            "invalid-argument",
            f"Idempotency-Key has 1 to {MAX_ANSWER_KEY_LENGTH} characters, and is sent once",
        )
    route = f"{call.declaration.method} {call.declaration.path}"
    return AnswerKey(call.tenant, call.by, route, text, _digest(request, call.body))


def _digest(request: Request, body: bytes) -> str:
    """Return a digest of all that the request asks for."""
    digest = hashlib.sha256()
    for part in (request.url.path.encode(), request.url.query.encode(), body):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _headers(location: str | None) -> dict[str, str]:
    return {} if location is None else {"Location": location}
