"""What operators come for, from end to end, by keyboard or pointer, on a desk or a phone."""

from datetime import timedelta
from urllib.parse import quote
from uuid import UUID

import pytest
from playwright.sync_api import expect

from browser.chromium import PHONE, OpenTab, Tab, confirm
from browser.shop import PAUSED_QUEUE, QUEUE, SOON, Broken, Parcel, Shop, signed_in
from duetime import State


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


@pytest.mark.main
def test_failures_after_a_deployment_by_their_error(tab: Tab, shop: Shop) -> None:
    page = tab.open("/actions?state=failed")
    page.get_by_role("link", name="Group by error").click()
    row = page.locator("[data-rows] tbody tr", has_text="order * is gone")
    expect(row).to_contain_text("3")
    row.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("dialog")).to_contain_text("Actions to change: 3")
    confirm(page, Note="mended")
    expect(page.get_by_role("status").filter(has_text="Changed: 3; skipped: 0.")).to_be_visible()
    shop.drain()
    expect(page.locator("[data-rows] tbody tr")).to_have_count(3)


@pytest.mark.main
def test_hundreds_are_moved_by_a_day(tab: Tab, shop: Shop) -> None:
    """By keyboard: filter, dry run, sample, confirm, audit."""
    page = tab.open(f"/actions?state=scheduled&due_from={quote('2130-07-31T00:00:00+00:00')}")
    page.get_by_label("Change many").select_option("Shift")
    page.get_by_role("button", name="All that match").press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Actions to change: 40")
    expect(dialog.get_by_role("listitem")).to_have_count(10)
    dialog.get_by_label("Later by").fill("1")
    dialog.get_by_label("Unit").select_option("days")
    dialog.get_by_label("Note").fill("a holiday")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="Changed: 40; skipped: 0.")).to_be_visible()
    [bulk] = shop.app.sync.audit.find(verb="bulk")
    assert (bulk.note, bulk.source) == ("a holiday", "dashboard")
    dues = [action.due_at for action in shop.app.sync.find(sort="due_at", limit=200, due_from=SOON)]
    assert dues[0] == SOON + timedelta(days=1)


def test_rows_are_ticked_by_keyboard_and_stay_ticked(tab: Tab, shop: Shop) -> None:
    page = tab.open("/actions?kind=parcel&state=scheduled")
    for _ in range(2):
        page.keyboard.press("j")
        page.keyboard.press("x")
    expect(page.get_by_text("2 selected")).to_be_visible()
    new = shop.app.sync.schedule(Parcel(99), at=SOON)
    expect(page.locator(f"[data-row='{new.id}']")).to_be_attached()
    expect(page.locator("[data-select]:checked")).to_have_count(2)
    page.get_by_label("Change many").select_option("Cancel")
    page.get_by_role("button", name="Selected actions").click()
    expect(page.get_by_role("dialog")).to_contain_text("Actions to change: 2")
    confirm(page)
    expect(page.get_by_role("status").filter(has_text="Changed: 2; skipped: 0.")).to_be_visible()


def test_thousands_go_on_by_themselves(
    tab: Tab, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duetime.admin.pages.action_bulks.PATIENCE_SECONDS", 0.0)
    requests = [shop.app.request(Parcel(number), at=SOON, queue="many") for number in range(2500)]
    shop.app.sync.schedule_many(requests)
    page = tab.open("/actions?queue=many&dialog=bulk&bulk=cancel&of=filter")
    page.get_by_role("dialog").get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("status").filter(has_text="Changed: 2,500")).to_be_visible(
        timeout=20_000
    )
    assert [*shop.app.sync.find(queue="many", state=State.scheduled)] == []


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
