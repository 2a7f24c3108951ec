"""`duetime stats`, and the hints for names that match nothing."""

import json

import pytest

from .conftest import Duetimes, Start, read_until


def schedule(duetime: Duetimes, shop: str, *options: str) -> None:
    duetime.ok("actions", "schedule", "mail", '{"to": "ada"}', "--app", shop, *options)


def test_figures_for_people(duetime: Duetimes, shop: str, url: str, start: Start) -> None:
    schedule(duetime, shop, "--delay", "1h")
    duetime.ok("actions", "schedule", "watch", '{"name": "x"}', "--app", shop)
    worker = start("worker", shop, "--queue", "slow")
    read_until(worker, "watching x")
    lines = duetime.ok("stats", "--url", url).splitlines()
    assert lines[0] == url
    figures = dict(line.split(maxsplit=1) for line in lines[1:9])
    wanted = {"scheduled": "1", "running": "1", "waiting": "0", "parked": "0", "overdue": "0"}
    assert {name: text.strip() for name, text in figures.items()} == wanted | {
        "succeeded": "0",
        "failed": "0",
        "cancelled": "0",
    }
    assert lines[9].split() == ["workers", "1"]
    assert lines[10].split() == ["worker", "app", "slots", "queues", "seen", "problems"]
    assert f"-{worker.pid}-" in lines[11]
    assert "slow" in lines[11]
    worker.terminate()
    worker.communicate(timeout=30)


def test_figures_for_machines_and_of_one_tenant(duetime: Duetimes, shop: str, url: str) -> None:
    schedule(duetime, shop, "--delay", "1h")
    schedule(duetime, shop, "--delay", "1h", "--tenant", "acme")
    schedule(duetime, shop, "--tenant", "acme")
    figures = json.loads(duetime.ok("stats", "--url", url, "--json"))
    assert (figures["scheduled"], figures["overdue"], figures["workers"]) == (1, 0, [])
    figures = json.loads(duetime.ok("stats", "--url", url, "--json", "--tenant", "acme"))
    assert (figures["scheduled"], figures["overdue"]) == (2, 1)
    figures = json.loads(duetime.ok("stats", "--url", url, "--json", "--any-tenant"))
    assert figures["scheduled"] == 3
    assert "oldest overdue" in duetime.ok("stats", "--url", url, "--any-tenant")


@pytest.mark.parametrize(
    ("filters", "hint"),
    [
        (["--kind", "male"], "; no kind 'male' is known (did you mean 'mail'?)"),
        (["--queue", "slwo"], "; no queue 'slwo' is known (did you mean 'slow'?)"),
        (["--kind", "mail"], ""),
        (["--queue", "default"], ""),
        (["--kind", "quite-different"], ""),
    ],
)
def test_a_name_that_matches_nothing_gets_a_hint(
    duetime: Duetimes, shop: str, filters: list[str], hint: str
) -> None:
    said = duetime.ok("actions", "list", *filters, "--app", shop)
    assert said == f"no actions match{hint}\n"


def test_actions_of_tenants_get_a_hint_where_only_they_match(duetime: Duetimes, shop: str) -> None:
    mail = ("actions", "schedule", "mail", '{"to": "ann"}', "--app", shop)
    duetime.ok(*mail, "--tenant", "acme")
    hint = "; actions of tenants match: give --tenant or --any-tenant"
    listed = ("actions", "list", "--app", shop)
    assert duetime.ok(*listed) == f"no actions match{hint}\n"
    assert duetime.ok(*listed, "--kind", "watch") == "no actions match\n"
    assert duetime.ok(*listed, "--tenant", "umbrella") == "no actions match\n"
    duetime.ok(*mail)
    assert "no actions match" not in duetime.ok(*listed)


def test_without_the_app_living_workers_know_the_names(
    duetime: Duetimes, shop: str, url: str, start: Start
) -> None:
    worker = start("worker", shop, "--queue", "slow")
    assert worker.stderr is not None
    assert any("started" in line for line in iter(worker.stderr.readline, ""))
    said = duetime.ok("actions", "list", "--kind", "male", "--url", url)
    assert said == "no actions match; no kind 'male' is known (did you mean 'mail'?)\n"
    said = duetime.ok("actions", "list", "--queue", "slwo", "--url", url)
    assert said == "no actions match; no queue 'slwo' is known (did you mean 'slow'?)\n"
    worker.terminate()
    worker.communicate(timeout=30)


def test_a_misspelt_job_gets_a_hint(duetime: Duetimes, shop: str) -> None:
    put = ("jobs", "put", "billing-nightly", "0 2 * * *", "--kind", "mail")
    duetime.ok(*put, "--payload", '{"to": "ada"}', "--app", shop)
    answer = duetime("jobs", "show", "billing-nightli", "--app", shop)
    assert "did you mean 'billing-nightly'?" in answer.err
