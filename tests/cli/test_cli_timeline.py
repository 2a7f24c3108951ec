"""`duetime timeline`, and what `duetime stats` says of the last hour; on SQLite."""

import asyncio
import json
import re
from datetime import timedelta
from typing import Any

import pytest

from duetime import Duetime, Instants

from .conftest import Duetimes


def run_mails(app: Duetime, *receivers: str, tenant: str | None = None) -> None:
    """Run a mail to each of them in a worker."""

    async def run() -> None:
        async with app, app.worker():
            for receiver in receivers:
                payload = app.runtime.payloads.named("mail").type(to=receiver)
                action = await app.schedule(payload, tenant=tenant)
                await app.wait(action.id, timeout=20, tenant=tenant)

    asyncio.run(run())


@pytest.fixture
def busy(app: Any) -> Any:
    """An app with two runs behind it, one action ahead, and two jobs."""
    mail = app.runtime.payloads.named("mail").type
    run_mails(app, "ada", "nobody")
    app.sync.schedule(mail("bob"), delay=3600)
    minutes = [app.clock.now() + timedelta(minutes=n) for n in range(1, 300)]
    app.sync.jobs.put("mail-often", Instants(minutes), payload=mail("eve"))
    tomorrow = app.clock.now() + timedelta(hours=23)
    app.sync.jobs.put("mail-rarely", Instants([tomorrow]), payload=mail("eve"))
    return app


def rows(output: str) -> list[tuple[str, str]]:
    """What happened to what, in the order of the table."""
    cells = (re.split(" {2,}", line)[1:3] for line in output.splitlines()[1:])
    return [(found[0], found[1]) for found in cells if len(found) == 2]


def test_one_axis_shows_what_ran_and_what_will(duetime: Duetimes, busy: Any, shop: str) -> None:
    found = duetime.ok("timeline", "--app", shop)
    assert found.splitlines()[0].split() == ["when", "what", "kind", "or", "job", "queue", "detail"]
    assert rows(found) == [
        ("succeeded", "mail"),
        ("failed", "mail"),
        ("now", ""),
        *[("tick", "mail-often")] * 3,
        ("scheduled", "mail"),
        ("tick", "mail-rarely"),
    ]
    assert "and 197 or more later" in found
    assert re.search(r"failed +mail +default +took [\d.]+ ms, [0-9a-f-]{36} *\n", found)


def test_the_window_is_given_by_times_ago_and_ahead(
    duetime: Duetimes, busy: Any, shop: str
) -> None:
    part = duetime.ok("timeline", "--app", shop, "--since", "0s", "--until", "2h")
    assert ("succeeded", "mail") not in rows(part)
    assert ("tick", "mail-rarely") not in rows(part)
    assert ("scheduled", "mail") in rows(part)
    later = duetime.ok("timeline", "--app", shop, "--until", "2100-01-01T00:00Z", "--limit", "9")
    assert rows(later)[:3] == rows(duetime.ok("timeline", "--app", shop))[:3]


def test_programs_read_a_document(duetime: Duetimes, busy: Any, shop: str) -> None:
    document = json.loads(duetime.ok("timeline", "--app", shop, "--json"))
    assert [ran["state"] for ran in document["ran"]] == ["failed", "succeeded"]
    assert document["ran"][0]["finished_at"].endswith("Z")
    assert [job["job"] for job in document["ticks"]] == ["mail-often", "mail-rarely"]
    assert len(document["ticks"][0]["ticks"]) == 200
    assert (document["ticks"][0]["capped"], document["ticks_capped"]) == (True, False)


def test_what_was_cut_is_said(duetime: Duetimes, busy: Any, shop: str) -> None:
    cut = duetime.ok("timeline", "--app", shop, "--limit", "1").splitlines()
    assert [line.split(":")[0] for line in cut[-2:]] == ["more has run", "more jobs will tick"]


def test_tenants_see_their_own(duetime: Duetimes, busy: Any, shop: str) -> None:
    run_mails(busy, "zoe", tenant="acme")
    acme = duetime.ok("timeline", "--app", shop, "--tenant", "acme")
    assert rows(acme) == [("succeeded", "mail"), ("now", "")]
    everyone = rows(duetime.ok("timeline", "--app", shop, "--any-tenant"))
    assert everyone.count(("succeeded", "mail")) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--until", "1x"], "is not a date"),
        (["--since", "yesterday"], "is not a date"),
        (["--until", "2030-01-01T00:00"], "no time zone"),
        (["--since", "2090-01-01T00:00Z"], "the end must be after the start"),
        (["--limit", "0"], "--limit"),
        (["--limit", "501"], "--limit"),
        (["--tenant", "a", "--any-tenant"], "not both"),
    ],
)
def test_wrong_options_are_refused(
    duetime: Duetimes, shop: str, options: list[str], message: str
) -> None:
    answer = duetime("timeline", "--app", shop, *options)
    assert answer.code == 2
    assert message in " ".join(answer.err.replace("│", " ").split())


def test_stats_tell_of_the_last_hour(duetime: Duetimes, app: Any, shop: str) -> None:
    assert "last hour" not in duetime.ok("stats", "--app", shop)
    run_mails(app, "ada", "bob", "nobody")
    lines = duetime.ok("stats", "--app", shop).splitlines()
    figures = {line[:18].strip(): line[18:].strip() for line in lines if len(line) > 18}
    assert figures["last hour"] == "3 runs, 0.00083 a second"
    assert re.fullmatch(r"p50 [\d.,]+ ms, p99 [\d.,]+ ms", figures["lateness of these"])
    assert re.fullmatch(r"p50 [\d.,]+ ms, p99 [\d.,]+ ms", figures["duration of these"])
    hour = json.loads(duetime.ok("stats", "--app", shop, "--json"))["last_hour"]
    assert (hour["executed"], hour["throughput"]) == (3, 3 / 3600)
    assert 0 < hour["lateness_p50"] <= hour["lateness_p99"]
    other = json.loads(duetime.ok("stats", "--app", shop, "--json", "--tenant", "acme"))
    assert (other["last_hour"]["executed"], other["last_hour"]["lateness_p99"]) == (0, None)
