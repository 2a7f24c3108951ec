"""A damaged action that waits for its parent harms no other child."""

from __future__ import annotations

from typing import Any

import pytest

from api.apps import Note
from damaged_rows import execute, long_text, lose_long_texts
from duetime import Duetime, State
from polling import until

SETTINGS: dict[str, Any] = {"lease": 2, "sweep": 0.3, "poll": 0.3}


def new_app(url: str) -> Duetime:
    app = Duetime(url, **SETTINGS)

    @app.handler(kind="note")
    async def note(payload: Note) -> str:
        return payload.text

    return app


@pytest.mark.parametrize("delay", [2**63 - 1, -(2**63)])
async def test_a_delay_out_of_range_delays_no_other_child(durable_url: str, delay: int) -> None:
    async with new_app(durable_url) as app:
        parents = await app.schedule_many([app.request(Note()) for _ in range(4)])
        bad = await app.schedule(Note("bad"), after=parents[0], delay=60)
        children = [await app.schedule(Note(), after=parent) for parent in parents]
        damage = f"UPDATE duetime_actions SET after_delay = {delay} WHERE id = '{bad.id}'"
        execute(durable_url, damage)
        async with app.worker():
            for child in children:
                assert (await app.wait(child.id, timeout=15)).state is State.succeeded
            await until(lambda: waits_no_more(app, bad.id))
        found = await app.get(bad.id)
        assert found.due_at is not None
        assert found.due_at.year == 9999 if delay > 0 else found.state is State.succeeded


async def waits_no_more(app: Duetime, action_id: Any) -> bool:
    found = await app.get(action_id)
    return found.due_at is not None


async def test_lost_data_of_a_child_delays_no_child_of_another_parent(postgres_url: str) -> None:
    async with new_app(postgres_url) as app:
        parents = await app.schedule_many([app.request(Note()) for _ in range(4)])
        await app.schedule(Note(long_text()), after=parents[0])
        children = [await app.schedule(Note(), after=parent) for parent in parents[1:]]
        lose_long_texts(postgres_url)
        async with app.worker():
            for child in children:
                assert (await app.wait(child.id, timeout=15)).state is State.succeeded
            assert (await app.stats()).workers[0].health.problems == ()
