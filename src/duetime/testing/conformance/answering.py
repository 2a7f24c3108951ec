"""`take_key`, `store_answer`: a request with an idempotency key acts once."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from duetime.model.answer import ANSWER_LIFETIME, AnswerKey, StoredAnswer
from duetime.store.flow import Flow, Steps, then
from duetime.testing.conformance.probe import Probe
from duetime.testing.conformance.suite import Suite

KEY = AnswerKey("acme", "ann", "POST /api/actions", "k1", "digest")
ANSWER = StoredAnswer("digest", 201, "/api/actions/1", '{"id": "\u00e9"}')


def acted(probe: Probe, key: AnswerKey, answer: StoredAnswer) -> Flow[StoredAnswer | None]:
    """Take a key, and store the answer if it was free, in one transaction."""

    def more(found: StoredAnswer | None) -> Steps[StoredAnswer | None]:
        if found is None:
            yield from probe.store.store_answer(key, answer).start()
        return found

    return then(probe.store.take_key(key), more)


class Answering(Suite):
    async def test_a_key_is_answered_once(self, probe: Probe) -> None:
        assert await probe.do(acted(probe, KEY, ANSWER)) is None
        assert await probe.do(probe.store.take_key(KEY)) == ANSWER

    async def test_another_digest_gets_the_first_answer_to_compare(self, probe: Probe) -> None:
        await probe.do(acted(probe, KEY, ANSWER))
        assert await probe.do(probe.store.take_key(replace(KEY, digest="other"))) == ANSWER

    @pytest.mark.parametrize(
        "other",
        [
            *(replace(KEY, tenant=None), replace(KEY, tenant="other"), replace(KEY, by="bob")),
            *(replace(KEY, route="POST /api/actions/many"), replace(KEY, key="k2")),
        ],
    )
    async def test_a_key_belongs_to_its_tenant_actor_and_route(
        self, probe: Probe, other: AnswerKey
    ) -> None:
        await probe.do(acted(probe, KEY, ANSWER))
        assert await probe.do(acted(probe, other, replace(ANSWER, status=200))) is None
        assert await probe.do(probe.store.take_key(KEY)) == ANSWER

    async def test_a_key_is_free_again_after_a_day(self, probe: Probe) -> None:
        await probe.do(acted(probe, KEY, ANSWER))
        probe.pass_time(ANSWER_LIFETIME)
        assert await probe.do(probe.store.take_key(KEY)) == ANSWER
        probe.pass_time(1)
        again = replace(ANSWER, location=None)
        assert await probe.do(acted(probe, KEY, again)) is None
        assert await probe.do(probe.store.take_key(KEY)) == again

    async def test_a_key_is_free_if_its_act_was_rolled_back(self, probe: Probe) -> None:
        def fail(found: StoredAnswer | None) -> Steps[None]:
            yield from probe.store.store_answer(KEY, ANSWER).start()
            raise LookupError("the act failed")

        with pytest.raises(LookupError):
            await probe.do(then(probe.store.take_key(KEY), fail))
        assert await probe.do(acted(probe, KEY, ANSWER)) is None

    async def test_of_several_at_once_the_first_acts(self, probe: Probe) -> None:
        answers = [replace(ANSWER, status=number) for number in range(200, 208)]
        found = await asyncio.gather(*(probe.do(acted(probe, KEY, each)) for each in answers))
        assert found.count(None) == 1
        first = answers[found.index(None)]
        assert [each for each in found if each is not None] == [first] * 7
