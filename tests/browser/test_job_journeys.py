"""What operators come for at jobs, from end to end."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from browser.chromium import Tab, confirm
from browser.shop import JOB, Parcel, Shop
from duetime import State

MAIL_JOBS = {f"mail-{number:02}" for number in range(20)}
PAUSED_JOB = "mail-old"
# On all Sundays of two months: on the last of each, the clocks of Paris change.
SUNDAYS = "30 2 * 3,10 0"


@pytest.mark.main
def test_maintenance_pauses_twenty_jobs_and_resumes_exactly_those(tab: Tab, shop: Shop) -> None:
    jobs = shop.app.sync.jobs
    for name in sorted({*MAIL_JOBS, PAUSED_JOB}):
        jobs.put(name, "0 3 * * *", payload=Parcel(1))
    jobs.pause(PAUSED_JOB, by="max", note="no longer wanted")
    page = tab.open("/jobs?q=mail&state=scheduled")
    page.get_by_label("Select all rows").check()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("dialog").get_by_role("listitem")).to_have_count(len(MAIL_JOBS))
    confirm(page, Note="a new mail server")
    expect(page.get_by_role("status").filter(has_text="Paused: 20.")).to_be_visible()
    assert paused(shop) == {*MAIL_JOBS, PAUSED_JOB}

    page = tab.open("/jobs?q=mail&state=paused")
    expect(page.locator("[data-rows] tbody tr", has_text="a new mail server")).to_have_count(20)
    page.get_by_label("Select all rows").check()
    page.get_by_label(f"Select {PAUSED_JOB}").uncheck()
    page.get_by_role("button", name="Resume").click()
    confirm(page, Note="it is there")
    expect(page.get_by_role("status").filter(has_text="Resumed: 20.")).to_be_visible()
    assert paused(shop) == {PAUSED_JOB}


@pytest.mark.main
def test_a_rule_is_changed_unless_another_was_faster(tab: Tab, shop: Shop) -> None:
    page = tab.open(f"/jobs/{JOB}")
    page.get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Rule").fill(SUNDAYS)
    dialog.get_by_role("button", name="Preview").click()
    ticks = dialog.get_by_role("table", name="Next ticks")
    expect(ticks.get_by_role("columnheader")).to_have_text(["Old", "New"])
    expect(ticks).to_contain_text("at 02:00, every day")
    expect(ticks).to_contain_text("Sunday")
    expect(ticks.get_by_role("row")).to_have_count(12)
    expect(ticks).to_contain_text("first instant after the gap 02:00-03:00")
    expect(ticks).to_contain_text("first pass: the clocks go back from 03:00 to 02:00")

    shop.app.sync.jobs.put(JOB, "0 5 * * *", tz="Europe/Paris", payload=Parcel(3), by="max")
    dialog.get_by_label("Note").fill("less often")
    dialog.get_by_role("button", name="Confirm").click()
    changes = dialog.get_by_role("table", name="What has changed")
    expect(changes).to_contain_text("by max")
    expect(changes).to_contain_text("0 5 * * *")
    assert shop.app.sync.jobs.get(JOB).recurrence == "0 5 * * *"
    expect(ticks).to_contain_text("at 05:00, every day")
    confirm(page)
    expect(page.get_by_role("status").filter(has_text="a new rule")).to_be_visible()
    assert shop.app.sync.jobs.get(JOB).recurrence == SUNDAYS


@pytest.mark.main
def test_it_is_triggered_and_followed(tab: Tab, shop: Shop) -> None:
    page = tab.open(f"/jobs/{JOB}")
    page.get_by_role("button", name="Trigger now").click()
    confirm(page, Note="the shop asked")
    expect(page.get_by_role("heading", level=1, name="parcel")).to_be_visible()
    expect(page.locator("main .chip.is-scheduled").first).to_be_visible()
    shop.drain()
    expect(page.locator("main .chip.is-succeeded").first).to_be_visible()
    [run] = shop.app.sync.jobs.runs(JOB)
    assert page.url.partition("?")[0].endswith(str(run.action_id))


@pytest.mark.main
def test_a_week_is_backfilled_after_a_dry_run(tab: Tab, shop: Shop) -> None:
    today = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    page = tab.open(f"/jobs/{JOB}?tz=UTC")
    page.get_by_role("button", name="Backfill").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("From").fill(f"{today - timedelta(days=9):%Y-%m-%dT%H:%M}")
    dialog.get_by_label("To, not included").fill(f"{today - timedelta(days=2):%Y-%m-%dT%H:%M}")
    dialog.get_by_role("button", name="Dry run").click()
    expect(dialog).to_contain_text("Ticks without a run: 7")
    assert shop.app.sync.jobs.runs(JOB) == []
    confirm(page, Note="the outage")
    expect(page.get_by_role("status").filter(has_text="added: 7.")).to_be_visible()
    expect(page.locator("#job-runs tbody tr")).to_have_count(7)
    shop.drain()
    assert [run.state for run in shop.app.sync.jobs.runs(JOB)] == [State.succeeded] * 7


def paused(shop: Shop) -> set[str]:
    return {job.name for job in shop.app.sync.jobs.list() if job.paused_at is not None}
