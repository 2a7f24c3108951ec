"""The page about alerts: the problems of now, for those who are notified of them."""

from admin.client import Parcel
from duetime import Duetime
from pages.readers import administrator_of, reader_of
from pages.test_now_page import failing_job, problems


async def test_it_lists_the_problems_of_now(memory_app: Duetime) -> None:
    await failing_job(memory_app)
    async with administrator_of(memory_app) as browser:
        assert problems(await browser.open("/alerts")) == problems(await browser.open("/"))


async def test_who_may_not_see_workers_learns_nothing_of_them(memory_app: Duetime) -> None:
    await failing_job(memory_app)
    async with reader_of(memory_app, "notifications.read") as browser:
        for address in ("/alerts", "/live?view=alerts"):
            page = await browser.open(address)
            assert problems(page) == ["The job “shop-nightly” fails"]
            assert "/jobs/" not in page.response.text


async def test_its_acts_lead_back_to_it(memory_app: Duetime) -> None:
    await memory_app.schedule(Parcel(), queue="mail")
    await memory_app.queues.pause("mail")
    async with reader_of(memory_app, "notifications.read", "queues.manage") as browser:
        done = await browser.send((await browser.open("/alerts")).form("Resume"))
        assert done.response.url.path == "/alerts"
        assert "Workers claim from the queue “mail” again." in done.texts["p"]
        assert "Nothing needs attention" in done.texts["p"]
        assert "app.on(JobFailing, alert)" in done.response.text
