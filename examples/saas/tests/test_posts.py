from datetime import timedelta

import httpx

from duetime import Duetime
from duetime.testing import FakeClock, check_conventions


async def test_a_post_is_published_and_deleted_in_time(
    client: httpx.AsyncClient, due_app: Duetime, due_clock: FakeClock
) -> None:
    day = timedelta(days=1)
    times = {"publish_at": due_clock.now() + day, "expires_at": due_clock.now() + 3 * day}
    written = {name: at.isoformat() for name, at in times.items()}
    post = (await client.post("/posts", params={"title": "Hello", **written})).json()

    assert (await client.get(f"/posts/{post}")).json()["status"] == "draft"
    await due_app.testing.advance(days=1)
    assert (await client.get(f"/posts/{post}")).json()["status"] == "published"
    await due_app.testing.advance(days=2)
    assert (await client.get(f"/posts/{post}")).status_code == 404


def test_names_keep_to_the_conventions(due_app: Duetime) -> None:
    check_conventions(due_app)
