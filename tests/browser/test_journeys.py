"""What operators come for, from end to end, by keyboard or pointer, on a desk or a phone."""

from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from browser.chromium import PHONE, OpenTab, Tab
from browser.shop import PAUSED_QUEUE, QUEUE, SOON, Broken, Parcel, Shop, signed_in
from duetime import State


def confirm(page: Page, **fields: str) -> None:
    """Fill in the open dialog and confirm it."""
    dialog = page.get_by_role("dialog")
    for label, text in fields.items():
        dialog.get_by_label(label.replace("_", " ")).fill(text)
    dialog.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.main
def test_why_did_it_fail_and_try_it_again(tab: Tab, shop: Shop) -> None:
    """From the link of an alert, by keyboard."""
    page = tab.open(shop.path("/actions/{id}"))
    expect(page.get_by_role("heading", level=1, name="broken")).to_be_visible()
    expect(page.locator("#action-error")).to_contain_text("the bank is closed")
    expect(page.locator("#action-runs tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Retry").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="scheduled again")).to_be_visible()
    shop.drain()
    expect(page.locator("#action-runs tbody tr")).to_have_count(2)
    assert len(shop.app.sync.runs(UUID(shop.arguments["id"]))) == 2


def test_failures_after_a_deployment_by_their_error(tab: Tab) -> None:
    page = tab.open("/actions?state=failed")
    page.get_by_role("link", name="Group by error").click()
    row = page.locator("[data-rows] tbody tr", has_text="order * is gone")
    expect(row).to_contain_text("3")
    row.get_by_role("link").first.click()
    expect(page.locator("[data-rows] tbody tr")).to_have_count(3)


@pytest.mark.main
@pytest.mark.parametrize("wanted", ["customer-7", "id"])
def test_where_is_it(tab: Tab, shop: Shop, wanted: str) -> None:
    page = tab.open("/queues")
    page.keyboard.press("/")
    page.keyboard.type(shop.arguments.get(wanted, wanted))
    page.keyboard.press("Enter")
    row = page.locator("[data-rows] tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("broken")


def test_a_failing_job_is_paused_until_a_time_with_a_note(tab: Tab, shop: Shop) -> None:
    verbs = shop.app.sync
    verbs.jobs.put("sync-prices", "0 3 * * *", payload=Broken("no"), alert_after=1)
    verbs.jobs.trigger("sync-prices")
    shop.drain()
    page = tab.open("/")
    problem = page.locator(".problem", has_text="sync-prices")
    problem.get_by_role("button", name="Pause").click()
    confirm(page, Note="the supplier moves", Until="2130-07-31T14:00")
    job = verbs.jobs.get("sync-prices")
    assert (job.pause_note, job.paused_until) == ("the supplier moves", SOON.replace(hour=14))


@pytest.mark.main
def test_maintenance_pauses_a_queue_and_resumes_it(tab: Tab, shop: Shop) -> None:
    page = tab.open("/queues")
    row = page.locator("tbody tr", has_text=QUEUE)
    row.get_by_role("button", name="Pause").click()
    confirm(page, Note="a new database")
    expect(row).to_contain_text("a new database")
    assert pauses(shop) == {QUEUE, PAUSED_QUEUE}
    row.get_by_role("button", name="Resume").click()
    expect(row.get_by_role("button", name="Pause")).to_be_visible()
    assert pauses(shop) == {PAUSED_QUEUE}


@pytest.mark.main
@pytest.mark.parametrize(
    ("options", "reason"), [({}, "worker"), ({"queue": PAUSED_QUEUE}, "is paused")]
)
def test_why_does_it_not_run(tab: Tab, shop: Shop, options: dict[str, str], reason: str) -> None:
    action = shop.app.sync.schedule(Parcel(5), **options)  # type: ignore[arg-type]
    page = tab.open(f"/actions/{action.id}")
    expect(page.locator("#action-why")).to_contain_text(reason)


def test_is_anything_late_and_where(tab: Tab, shop: Shop) -> None:
    shop.app.sync.schedule(Parcel(5))
    page = tab.open("/")
    expect(page.locator(".card", has_text="Overdue")).not_to_contain_text("nothing waits")
    expect(page.locator(".problem").first).to_be_visible()
    page.get_by_role("link", name="Due now").click()
    expect(page.locator("[data-rows] tbody tr").first).to_contain_text("late")


def test_when_does_everything_run(tab: Tab) -> None:
    page = tab.open("/timeline?start=2130-07-31T00:00&end=2130-08-03T00:00&tz=Europe/Paris")
    expect(page.locator("svg.chart, svg.timeline").first).to_be_visible()
    expect(page.locator("main")).to_contain_text("parcel")


def test_cancelled_by_mistake_it_is_scheduled_again_on_a_phone(
    open_tab: OpenTab, shop: Shop
) -> None:
    action = shop.app.sync.schedule(Parcel(8, "a vase"), at=SOON)
    page = signed_in(open_tab(shop.address, viewport=PHONE), shop).open(f"/actions/{action.id}")
    page.get_by_role("button", name="Cancel").click()
    confirm(page, Note="wrong customer")
    page.get_by_role("button", name="Repeat").click()
    confirm(page)
    expect(page.get_by_role("status").filter(has_text="new action")).to_be_visible()
    repeated = shop.app.sync.get(UUID(page.url.rpartition("/")[2].partition("?")[0]))
    assert (repeated.payload, repeated.state) == (Parcel(8, "a vase"), State.scheduled)


@pytest.mark.main
def test_without_scripts_an_action_is_cancelled(open_tab: OpenTab, shop: Shop) -> None:
    action = shop.app.sync.schedule(Parcel(8), at=SOON)
    tab = signed_in(open_tab(shop.address, java_script_enabled=False), shop)
    page = tab.open(f"/actions/{action.id}")
    page.get_by_role("button", name="Cancel").click()
    confirm(page, Note="no longer wanted")
    assert shop.app.sync.get(action.id).state is State.cancelled
    [entry] = shop.app.sync.audit.find(subject=action.id, verb="cancel")
    assert (entry.note, entry.source) == ("no longer wanted", "dashboard")


def test_who_did_this(tab: Tab, shop: Shop) -> None:
    action = shop.app.sync.schedule(Parcel(8), at=SOON)
    shop.app.sync.cancel(action.id, by="mallory", note="out of spite")
    page = tab.open(f"/actions/{action.id}")
    expect(page.locator("main")).to_contain_text("mallory")
    expect(page.locator("main")).to_contain_text("out of spite")


def pauses(shop: Shop) -> set[str]:
    return {queue.name for queue in shop.app.sync.queues.list() if queue.paused_at is not None}
