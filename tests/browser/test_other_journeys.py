"""What operators come for at rights, the audit log and transitions, from end to end."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect
from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, validates

from browser.chromium import OpenTab, Tab, confirm
from browser.shop import SOON, Parcel, Shop, signed_in
from duetime import Retry
from duetime.transitions import transition

PAST = datetime(2026, 1, 1, tzinfo=UTC)


class Base(DeclarativeBase):
    pass


class Offer(Base):
    """An offer that opens at its time, if it has a price by then."""

    __tablename__ = "offers"
    id: Mapped[int] = mapped_column(primary_key=True)
    price: Mapped[int | None]
    state: Mapped[str] = mapped_column(default="planned")
    opens_at: Mapped[datetime] = transition(set_field="state", to="open")

    @validates("state")
    def refuse_without_price(self, key: str, value: str) -> str:
        if value == "open" and self.price is None:
            raise ValueError(f"offer {self.id} has no price")
        return value


@pytest.fixture
def offers(shop: Shop) -> Iterator[Engine]:
    """The shop's database, with an offer that can open and one that cannot."""
    engine = create_engine(shop.url.replace("postgresql://", "postgresql+psycopg://"))
    Base.metadata.create_all(engine)
    shop.app.transitions.register(Base, engine, retry=Retry.none())
    with Session(engine) as session, session.begin():
        session.add_all(
            Offer(id=id, price=price, opens_at=PAST) for id, price in ((1, 9), (2, None))
        )
    yield engine
    engine.dispose()


@pytest.mark.main
def test_a_colleague_reads_without_payloads_until_the_key_is_revoked(
    tab: Tab, shop: Shop, open_tab: OpenTab
) -> None:
    page = tab.open("/settings")
    for permission in ("actions.read", "stats.read"):
        page.get_by_role("button", name="Set a grant").click()
        page.get_by_role("dialog").get_by_label("Permission").select_option(permission)
        confirm(page, Role="readers")
    page.get_by_role("button", name="Make a key").click()
    confirm(page, Name="ben", Roles="readers", Note="while ada is away")
    key = page.locator("#made code").inner_text()

    other = signed_in(open_tab(shop.address), shop, key).open(shop.path("/actions/{id}"))
    expect(other.get_by_role("heading", level=1, name="broken")).to_be_visible()
    expect(other.locator("main")).to_contain_text("payload.read")
    expect(other.locator("#action-error")).to_contain_text("ValueError")
    assert "the bank is closed" not in other.content()
    expect(other.locator("main").get_by_role("button", name="Retry")).to_have_count(0)

    tab.open("/settings")
    row = page.locator("#keys tbody tr", has_text="ben")
    row.get_by_role("button", name="Revoke").click()
    confirm(page, Note="ada is back")
    expect(row).to_have_count(0)
    other.reload()
    expect(other.get_by_role("heading", level=1, name="Sign in")).to_be_visible()


@pytest.mark.main
def test_who_did_this_is_shown_and_exported(tab: Tab, shop: Shop) -> None:
    action = shop.app.sync.schedule(Parcel(8), at=SOON)
    shop.app.sync.cancel(action.id, by="mallory", note="out of spite")
    page = tab.open("/audit")
    page.get_by_label("Subject").fill(str(action.id))
    page.get_by_role("button", name="Filter").click()
    row = page.locator("[data-rows] tbody tr", has_text="mallory")
    expect(row).to_have_count(1)
    row.get_by_text("Before and after").click()
    expect(row.locator("del", has_text="scheduled")).to_be_visible()
    expect(row.get_by_role("definition").filter(has_text="cancelled")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    lines = download.value.path().read_text().splitlines()
    [entry] = [entry for entry in map(json.loads, lines) if entry["verb"] == "cancel"]
    assert (entry["by"], entry["note"]) == ("mallory", "out of spite")
    assert (entry["before"]["state"], entry["after"]["state"]) == ("scheduled", "cancelled")


@pytest.mark.main
def test_a_parked_row_is_mended_and_swept(tab: Tab, shop: Shop, offers: Engine) -> None:
    page = tab.open("/transitions")
    page.get_by_role("button", name="Sweep now").click()
    row = page.locator("#parked tbody tr")
    expect(row).to_contain_text("offer 2 has no price")
    report = page.locator("#sweep")
    expect(report.locator("dt:text('Changed') + dd")).to_have_text("1")
    expect(report.locator("dt:text('Failed') + dd")).to_have_text("1")
    with Session(offers) as session, session.begin():
        session.get_one(Offer, 2).price = 5
    row.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("status").filter(has_text="tried again: 1.")).to_be_visible()
    page.get_by_role("button", name="Sweep now").click()
    expect(page.get_by_text("No row is parked")).to_be_visible()
    expect(report.locator("dt:text('Failed') + dd")).to_have_text("0")
    with Session(offers) as session:
        assert [offer.state for offer in session.query(Offer)] == ["open", "open"]
