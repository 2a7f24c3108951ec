"""The page about row transitions: the backlog, the last report, parked rows, sweeps and retries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, validates

from duetime import ANY, Duetime, Retry
from duetime.testing import FakeClock
from duetime.transitions import transition
from pages.browser import ShownPage
from pages.readers import administrator_of, reader_of

RIGHTS = ("transitions.read", "transitions.manage")


class Base(DeclarativeBase):
    pass


class Essay(Base):
    """An essay that is published at its time, unless its text is bad."""

    __tablename__ = "essays"
    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    text: Mapped[str] = mapped_column(default="good")
    state: Mapped[str] = mapped_column(default="draft")
    publish_at: Mapped[datetime | None] = transition(set_field="state", from_="draft", to="out")
    remove_at: Mapped[datetime | None] = transition(hard_delete=True)

    @validates("state")
    def refuse_bad_text(self, key: str, value: str) -> str:
        if value == "out" and self.text == "bad":
            raise ValueError("not <b>fit to print")
        return value


@pytest.fixture
def engine(app: Duetime, tmp_path: Path) -> Iterator[Engine]:
    """The database of the essays, whose transitions the app has registered."""
    engine = create_engine(f"sqlite:///{tmp_path / 'essays.db'}")
    Base.metadata.create_all(engine)
    app.transitions.register(Base, engine, retry=Retry.none())
    yield engine
    engine.dispose()


def add(engine: Engine, *essays: Essay) -> None:
    with Session(engine) as session, session.begin():
        session.add_all(essays)


def mend(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.query(Essay).update({"text": "good"})


def states(engine: Engine) -> list[str]:
    with Session(engine) as session:
        return [essay.state for essay in session.query(Essay)]


def rows(page: ShownPage, part: str = "transitions") -> list[str]:
    """The rows of a table, without tags."""
    text = page.response.text
    text = text[text.index(f'id="{part}"') :].split("</table>")[0]
    found = re.findall(r'<tr data-row=".*?</tr>', text, re.S)
    return [" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in found]


async def test_a_sweep_publishes_what_is_due(
    app: Duetime, engine: Engine, clock: FakeClock
) -> None:
    soon = clock.now() + timedelta(hours=2)
    add(engine, Essay(publish_at=clock.now()), Essay(publish_at=soon), Essay(text="bad"))
    async with reader_of(app, *RIGHTS) as browser:
        page = await browser.open("/transitions")
        assert rows(page) == [
            "Essay publish_at sets state to &#39;out&#39; if it is &#39;draft&#39; 1 in 2 h 0 0",
            "Essay remove_at deletes for good 0 0 0",
        ]
        assert any(text.startswith("No sweep has changed a row") for text in page.texts["p"])
        swept = await browser.send(page.form("Sweep now"))
        assert "Swept: 1 changed, 0 deleted, 0 skipped, 0 failed." in swept.texts["p"]
        assert "Last report" in swept.texts["h2"]
    assert sorted(states(engine)) == ["draft", "draft", "out"]
    entries = await app.audit.find(verb="sweep", tenant=ANY)
    assert {(entry.subject_id, entry.source) for entry in entries} == {
        ("Essay.publish_at", "dashboard"),
        ("Essay.remove_at", "dashboard"),
    }


async def test_a_parked_row_is_shown_with_its_reason_and_retried(
    app: Duetime, engine: Engine, clock: FakeClock
) -> None:
    add(engine, *(Essay(text="bad", publish_at=clock.now()) for _ in range(2)))
    async with reader_of(app, *RIGHTS, "payload.read") as browser:
        await app.transitions.sweep()
        page = await browser.open("/transitions")
        assert "1 not &lt;b&gt;fit to print Retry" in rows(page, "parked")[0].replace(
            "ValueError: ", ""
        )
        mend(engine)
        forms = [form for form in page.forms if "row" in form.fields]
        done = await browser.send(forms[1])
        assert "Rows that are tried again: 1." in done.texts["p"]
        assert len(rows(done, "parked")) == 1
        again = await browser.send(forms[1])
        assert "Rows that are tried again: 0." in again.texts["p"]
        await browser.send(again.form("Sweep now"))
    assert sorted(states(engine)) == ["draft", "out"]
    [entry] = await app.audit.find(verb="retry", tenant=ANY)
    assert (entry.subject_id, entry.source) == ("Essay.publish_at", "dashboard")


async def test_texts_of_errors_are_for_those_who_may_read_data(
    app: Duetime, engine: Engine, clock: FakeClock
) -> None:
    add(engine, Essay(text="bad", publish_at=clock.now()))
    await app.transitions.sweep()
    async with reader_of(app, *RIGHTS, "payload.read") as browser:
        assert (await browser.open("/transitions")).response.text.count("fit to print") == 2
    async with reader_of(app, *RIGHTS) as browser:
        text = (await browser.open("/transitions")).response.text
    assert "fit to print" not in text
    assert text.count("ValueError") == 2


async def test_all_rows_of_a_transition_are_retried_with_a_note(
    app: Duetime, engine: Engine, clock: FakeClock
) -> None:
    add(engine, *(Essay(text="bad", publish_at=clock.now()) for _ in range(3)))
    await app.transitions.sweep()
    async with reader_of(app, *RIGHTS) as browser:
        dialog = await browser.open("/transitions?dialog=retry&of=Essay.publish_at")
        done = await browser.send(dialog.form("Confirm"), Note="mended")
        assert "Rows that are tried again: 3." in done.texts["p"]
        assert "No row is parked" in done.texts["p"]
    assert {entry.note for entry in await app.audit.find(verb="retry", tenant=ANY)} == {"mended"}


async def test_hundreds_of_parked_rows_are_paged(
    app: Duetime, engine: Engine, clock: FakeClock
) -> None:
    add(engine, *(Essay(text="bad", publish_at=clock.now()) for _ in range(120)))
    await app.transitions.sweep()
    seen: list[str] = []
    async with reader_of(app, *RIGHTS) as browser:
        address = "/transitions?model=Essay&column=publish_at"
        for count in (50, 50, 20):
            page = await browser.open(address)
            assert len(rows(page, "parked")) == count
            seen += rows(page, "parked")
            [*following] = re.findall(r'href="([^"]*)" rel="next"', page.response.text)
            address = "/transitions" + "".join(following).replace("&amp;", "&")
        last = [form for form in page.forms if "row" in form.fields][-1]
        assert "Rows that are tried again: 1." in (await browser.send(last)).texts["p"]
    assert len(set(seen)) == 120
    assert following == []


async def test_who_may_only_read_sees_no_acts(
    app: Duetime, engine: Engine, clock: FakeClock
) -> None:
    add(engine, Essay(text="bad", publish_at=clock.now()))
    await app.transitions.sweep()
    async with (
        reader_of(app, "transitions.read") as reader,
        reader_of(app, *RIGHTS) as manager,
    ):
        seen = await reader.open("/transitions?dialog=retry&of=Essay.publish_at")
        assert not {"Retry", "Sweep now", "Confirm"} & {b for f in seen.forms for b in f.buttons}
        form = (await manager.open("/transitions")).form("Sweep now")
        form.fields |= {"model": "Essay", "column": "publish_at"}
        own = seen.form("Sign out").fields["token"]
        for path in ("/transitions/sweep", "/transitions/retry"):
            form.action, form.fields["token"] = path, own
            assert (await reader.post(form)).status_code == 403
            form.fields["token"] = "stale"
            assert (await manager.post(form)).status_code == 403
            assert (await manager.client.get(path)).status_code == 405
    assert not (await app.audit.find(verb="retry", tenant=ANY)).items


async def test_readers_of_a_tenant_do_not_see_it(memory_app: Duetime) -> None:
    async with reader_of(memory_app, *RIGHTS, tenant="acme") as browser:
        assert (await browser.open("/transitions")).response.status_code == 403
        assert (await browser.open("/live?view=transitions")).response.status_code == 403


async def test_what_is_not_there_is_said(app: Duetime, engine: Engine) -> None:
    async with reader_of(app, *RIGHTS) as browser:
        for query in ("model=Post", "model=Essay&column=x", "column=x", "cursor=x"):
            page = await browser.open(f"/transitions?{query}")
            assert page.response.status_code == 422
        form = (await browser.open("/transitions")).form("Sweep now")
        form.action = "/transitions/retry"
        form.fields |= {"model": "Post", "column": "x"}
        refused = await browser.send(form)
        assert (refused.response.status_code, refused.heading) == (422, "Transitions")


async def test_without_transitions_it_says_what_declares_one(memory_app: Duetime) -> None:
    async with administrator_of(memory_app) as browser:
        page = await browser.open("/transitions?lang=fr")
    assert "Aucune transition n'est déclarée" in page.texts["p"]
    assert "transitions" not in vars(memory_app)
    assert not any("Balayer maintenant" in form.buttons for form in page.forms)
