"""The audit entries of refused requests."""

from duetime import Duetime, Identity
from duetime.admin.identity.refusals import Refusals
from duetime.testing import FakeClock


async def test_who_was_refused_what_from_where(app: Duetime, clock: FakeClock) -> None:
    refusals = Refusals(lambda: app.store, clock)
    await refusals.write(
        "permission",
        "PUT /api/jobs/{name}",
        source="api",
        address="10.0.0.1",
        identity=Identity("ann", [], "acme"),
        permission="jobs.edit",
    )
    await refusals.write("credential", "GET /api/me", source="dashboard", address=None)
    [named] = await app.audit.find(verb="refuse", tenant="acme")
    assert (named.by, named.source, named.address) == ("ann", "api", "10.0.0.1")
    assert named.after == {"reason": "permission", "permission": "jobs.edit"}
    [anonymous] = await app.audit.find(verb="refuse")
    assert (anonymous.by, anonymous.subject_id) == ("anonymous", "GET /api/me")


async def test_nobody_fills_the_log(memory_app: Duetime, clock: FakeClock) -> None:
    refusals = Refusals(lambda: memory_app.store, clock)
    for _ in range(30):
        await refusals.write("credential", "GET /api/me", source="api", address="10.0.0.1")
    await refusals.write("credential", "GET /api/me", source="api", address="10.0.0.2")
    assert len((await memory_app.audit.find(limit=200)).items) == 11
    clock.advance(60)
    await refusals.write("credential", "GET /api/me", source="api", address="10.0.0.1")
    assert len((await memory_app.audit.find(limit=200)).items) == 12
