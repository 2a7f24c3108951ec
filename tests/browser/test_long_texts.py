"""Names and notes as long as they may be: no page becomes wider than its window."""

from datetime import timedelta

import pytest

from browser.chromium import OpenTab
from browser.page_paths import PAGE_PATHS
from browser.shop import JOB, PAGER, ROLE, SOON, Broken, Parcel, Shop, signed_in

LONG = "long" * 50
JOB_NAME = "-".join(["long"] * 40)
WIDTHS = (1280, 768, 390)


@pytest.fixture(scope="module")
def long_shop(sqlite_shop: Shop) -> Shop:
    verbs = sqlite_shop.app.sync
    verbs.jobs.put(JOB_NAME, "0 2 * * *", payload=Parcel(1, LONG), tz="America/Indiana/Petersburg")
    verbs.jobs.pause(JOB_NAME, by=LONG, note=LONG)
    verbs.jobs.pause(JOB, by="ann", note=LONG)
    verbs.api_keys.create(LONG, [ROLE, LONG], None, by=LONG)
    verbs.grants.set(LONG, "actions.read", by=LONG)
    verbs.queues.pause(LONG, by=LONG, note=LONG)
    action = verbs.schedule(
        Broken(LONG), key=LONG, correlation_id=LONG, by=LONG, queue=LONG, at=SOON
    )
    verbs.cancel(action.id, by=LONG, note=LONG)
    failed = verbs.schedule(Broken(LONG), correlation_id=LONG, by=LONG)
    verbs.notifications.add(
        "*", via=PAGER, to=LONG * 9, jobs=[JOB_NAME, LONG], kinds=LONG, tenant=LONG, by=LONG
    )
    sqlite_shop.gather()
    sqlite_shop.drain()
    verbs.schedule(Parcel(1, LONG), key=LONG, queue=LONG, at=SOON + timedelta(days=1))
    sqlite_shop.arguments |= {"id": str(failed.id), "name": JOB_NAME}
    return sqlite_shop


@pytest.mark.parametrize("declared", PAGE_PATHS)
def test_no_page_is_wider_than_its_window(
    open_tab: OpenTab, long_shop: Shop, declared: str
) -> None:
    page = signed_in(open_tab(long_shop.address), long_shop).open(long_shop.path(declared))
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
