"""Acts on many actions: selected ones, or all that match, without scripts."""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest

from admin.client import Parcel
from duetime import Duetime
from duetime.model.state import State
from pages.broken import Broken
from pages.browser import Form, ShownPage
from pages.readers import reader_of

DUE = datetime(2130, 7, 31, 12, tzinfo=UTC)
RIGHTS = (
    *("actions.read", "payload.read", "actions.bulk"),
    *("actions.cancel", "actions.retry", "actions.reschedule"),
)


def address(verb: str, *ids: object, **filter: str) -> str:
    """The address of the page with the dialog open: about ids, or about a filter."""
    of = "ids" if ids else "filter"
    pairs = [("dialog", "bulk"), ("bulk", verb), ("of", of), *(("ids", str(id)) for id in ids)]
    return f"/actions?{urlencode([*pairs, *filter.items()])}"


def counted(page: ShownPage) -> int:
    [text] = [text for text in page.texts["strong"] if text.startswith("Actions to change: ")]
    return int(re.sub(r"\D", "", text))


def notice(page: ShownPage) -> str:
    [text] = [text for text in page.texts["p"] if text.startswith("Changed: ")]
    return text


def offered(page: ShownPage) -> list[str]:
    """The verbs that the page offers for many actions."""
    return re.findall(r'<option value="(\w+)"', page.response.text)


class TestSelected:
    async def test_rows_are_ticked_counted_and_cancelled(self, app: Duetime) -> None:
        actions = [await app.schedule(Parcel(n), at=DUE) for n in range(3)]
        async with reader_of(app, *RIGHTS) as browser:
            page = await browser.open("/actions?kind=parcel")
            ticked = page.choices["chosen"]
            assert set(ticked) == {str(action.id) for action in actions}
            bar = page.form("Selected actions")
            assert bar.fields == {"kind": "parcel", "dialog": "bulk", "bulk": "cancel"}
            dialog = await browser.open(address("cancel", *ticked[:2], kind="parcel"))
            assert counted(dialog) == 2
            done = await browser.send(dialog.form("Confirm"), Note="closed today")
        assert notice(done) == "Changed: 2; skipped: 0."
        assert done.response.url.query == b"kind=parcel"
        states = {str(action.id): (await app.get(action.id)).state for action in actions}
        assert [states[id] for id in ticked] == [
            State.cancelled,
            State.cancelled,
            State.scheduled,
        ]
        notes = await app.audit.find(verb="cancel")
        assert {(entry.source, entry.note) for entry in notes} == {("dashboard", "closed today")}

    async def test_none_is_said(self, app: Duetime) -> None:
        await app.schedule(Parcel(), at=DUE)
        async with reader_of(app, *RIGHTS) as browser:
            page = await browser.open("/actions?dialog=bulk&bulk=cancel&of=ids")
        assert any("nothing to change" in text for text in page.texts["p"])
        assert "Confirm" not in {button for form in page.forms for button in form.buttons}


class TestAllThatMatch:
    async def test_an_unfiltered_page_offers_no_act_on_all(self, app: Duetime) -> None:
        await app.schedule(Parcel(), at=DUE)
        async with reader_of(app, *RIGHTS) as browser:
            plain = await browser.open("/actions")
            assert plain.form("Selected actions").buttons == ["Selected actions"]
            refused = await browser.open(address("cancel"))
            assert "Confirm" not in {name for form in refused.forms for name in form.buttons}

    @pytest.mark.parametrize(
        ("amount", "unit", "moved"),
        [("1", "days", timedelta(days=1)), ("-0.5", "hours", -timedelta(minutes=30))],
    )
    async def test_tomorrows_actions_are_shifted(
        self, app: Duetime, amount: str, unit: str, moved: timedelta
    ) -> None:
        actions = [await app.schedule(Parcel(n), at=DUE, queue="mail") for n in range(3)]
        other = await app.schedule(Parcel(), at=DUE)
        async with reader_of(app, *RIGHTS) as browser:
            dialog = await browser.open(address("shift", queue="mail"))
            assert counted(dialog) == 3
            form = dialog.form("Confirm")
            refused = await browser.send(form, Later_by="soon")
            assert refused.response.status_code == 422
            assert any("give a number" in alert for alert in refused.alerts)
            form.fields["unit"] = unit
            done = await browser.send(form, Later_by=amount)
        assert notice(done) == "Changed: 3; skipped: 0."
        assert {(await app.get(action.id)).due_at for action in actions} == {DUE + moved}
        assert (await app.get(other.id)).due_at == DUE

    async def test_they_are_rescheduled_in_the_readers_zone(self, app: Duetime) -> None:
        action = await app.schedule(Parcel(), at=DUE, queue="mail")
        async with reader_of(app, *RIGHTS) as browser:
            dialog = await browser.open(address("reschedule", queue="mail", tz="Europe/Paris"))
            refused = await browser.send(dialog.form("Confirm"))
            assert refused.response.status_code == 422
            await browser.send(dialog.form("Confirm"), New_time="2130-08-01T14:00")
        assert (await app.get(action.id)).due_at == DUE + timedelta(days=1)

    async def test_a_group_of_failures_is_retried(self, failing_app: Duetime) -> None:
        for text in ("order 17 is gone", "order 18 is gone", "the bank is closed"):
            await failing_app.schedule(Broken(text))
        await failing_app.testing.drain()
        async with reader_of(failing_app, *RIGHTS) as browser:
            page = await browser.open("/actions?group=error&kind=broken")
            forms = [form for form in page.forms if form.buttons == ["Retry"]]
            [group] = [form for form in forms if "order" in form.fields["error_group"]]
            dialog = await browser.press(group)
            assert counted(dialog) == 2
            await browser.send(dialog.form("Confirm"))
        found = await failing_app.find(state=State.scheduled)
        assert {action.payload.text for action in found} == {"order 17 is gone", "order 18 is gone"}


class TestManySteps:
    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("duetime.admin.pages.action_bulks.PATIENCE_SECONDS", 0.0)

    async def test_more_than_a_thousand_go_on_step_by_step(self, memory_app: Duetime) -> None:
        await memory_app.schedule_many([(Parcel(n), DUE) for n in range(2500)])
        async with reader_of(memory_app, *RIGHTS) as browser:
            dialog = await browser.open(address("cancel", kind="parcel"))
            assert counted(dialog) == 2500
            page = await browser.send(dialog.form("Confirm"), Note="too many")
            for changed in (1000, 2000):
                so_far = [text for text in page.texts["p"] if "so" in text or "Changed" in text]
                assert so_far[0].startswith(f"Changed: {changed:,}; skipped: 0; of: 2,500")
                page = await browser.send(page.form("Continue"))
        assert notice(page) == "Changed: 2,500; skipped: 0."
        assert page.response.url.query == b"kind=parcel"
        left = await memory_app.find(state=State.scheduled)
        assert [*left] == []

    async def test_a_step_that_is_sent_again_changes_nothing(self, memory_app: Duetime) -> None:
        await memory_app.schedule_many([(Parcel(n), DUE) for n in range(1500)])
        async with reader_of(memory_app, *RIGHTS) as browser:
            dialog = await browser.open(address("shift", kind="parcel"))
            shift = dialog.form("Confirm")
            shift.fields["unit"] = "minutes"
            page = await browser.send(shift, Later_by="1")
            form = page.form("Continue")
            first = await browser.send(form)
            again = await browser.send(form)
        assert notice(first) == notice(again) == "Changed: 1,500; skipped: 0."
        found = await memory_app.find(limit=200, sort="due_at")
        assert {action.due_at for action in found} == {DUE + timedelta(minutes=1)}

    async def test_nobody_goes_on_with_what_another_began(self, memory_app: Duetime) -> None:
        await memory_app.schedule_many([(Parcel(n), DUE) for n in range(1500)])
        async with (
            reader_of(memory_app, *RIGHTS) as ann,
            reader_of(memory_app, *RIGHTS) as bob,
        ):
            dialog = await ann.open(address("cancel", kind="parcel"))
            page = await ann.send(dialog.form("Confirm"))
            path = page.response.url.raw_path.decode()
            stolen = await bob.open(path)
            refused = await bob.send(stolen.form("Continue"))
        assert refused.response.status_code == 422
        assert any("another actor" in alert for alert in refused.alerts)

    async def test_a_step_that_is_refused_is_not_sent_again_by_itself(
        self, memory_app: Duetime
    ) -> None:
        async with reader_of(memory_app, *RIGHTS) as browser:
            page = await browser.open(address("cancel", step="x"))
            assert "data-goes-on" in page.response.text
            refused = await browser.send(page.form("Continue"))
        assert refused.response.status_code == 422
        assert refused.form("Continue").fields.keys() == {"token"}
        assert "data-goes-on" not in refused.response.text

    @pytest.mark.parametrize("digits", ["9" * 4300, "9" * 5000, "-1"])
    @pytest.mark.parametrize("name", ["count", "changed", "skipped"])
    async def test_figures_that_no_bulk_has_are_refused(
        self, memory_app: Duetime, name: str, digits: str
    ) -> None:
        async with reader_of(memory_app, *RIGHTS) as browser:
            page = await browser.open(address("cancel", step="x", **{name: digits}))
        assert page.response.status_code == 422

    async def test_a_count_that_no_dialog_has_is_that_of_the_address(
        self, memory_app: Duetime
    ) -> None:
        await memory_app.schedule_many([(Parcel(n), DUE) for n in range(1500)])
        async with reader_of(memory_app, *RIGHTS) as browser:
            dialog = await browser.open(address("cancel", kind="parcel"))
            form = dialog.form("Confirm")
            form.fields["count"] = "9" * 5000
            page = await browser.send(form)
        assert page.response.status_code == 200
        assert page.response.url.params["count"] == "0"


class TestRights:
    @pytest.mark.parametrize("missing", ["actions.bulk", "actions.cancel"])
    async def test_who_may_not_sees_no_dialog_and_is_refused(
        self, app: Duetime, missing: str
    ) -> None:
        action = await app.schedule(Parcel(), at=DUE)
        rights = [right for right in RIGHTS if right != missing]
        async with reader_of(app, *rights) as browser:
            page = await browser.open(address("cancel", action.id))
            assert "Confirm" not in {name for form in page.forms for name in form.buttons}
            token = page.form("Sign out").fields["token"]
            path = f"/actions/chosen/bulk?{address('cancel', action.id).partition('?')[2]}"
            refused = await browser.post(Form(path, "post", {"token": token}))
        assert refused.status_code == 403
        assert (await app.get(action.id)).state is State.scheduled

    async def test_verbs_that_the_reader_may_not_do_are_absent(self, app: Duetime) -> None:
        await app.schedule(Parcel(), at=DUE)
        async with reader_of(app, "actions.read", "actions.bulk", "actions.retry") as browser:
            page = await browser.open("/actions")
        assert offered(page) == ["retry"]

    async def test_verbs_that_apply_to_no_listed_state_are_absent(self, app: Duetime) -> None:
        await app.schedule(Parcel(), at=DUE)
        async with reader_of(app, *RIGHTS) as browser:
            everything = await browser.open("/actions")
            scheduled = await browser.open("/actions?state=scheduled")
        assert offered(everything) == ["cancel", "retry", "reschedule", "shift"]
        assert offered(scheduled) == ["cancel", "reschedule", "shift"]

    async def test_another_tenants_actions_are_out_of_reach(self, app: Duetime) -> None:
        ours = await app.schedule(Parcel(), at=DUE, tenant="acme")
        theirs = await app.schedule(Parcel(), at=DUE, tenant="other")
        async with reader_of(app, *RIGHTS, tenant="acme") as browser:
            dialog = await browser.open(address("cancel", ours.id, theirs.id))
            assert counted(dialog) == 1
            done = await browser.send(dialog.form("Confirm"))
        assert notice(done) == "Changed: 1; skipped: 1."
        assert (await app.get(theirs.id, tenant="other")).state is State.scheduled
