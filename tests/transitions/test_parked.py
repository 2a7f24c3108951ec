"""Parked rows are listed, and retried by hand; both say who did it, and what remains."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, validates

from duetime import ANY, Duetime, Retry
from duetime.errors import InvalidArgument
from duetime.testing import FakeClock
from duetime.transitions import transition
from transitions.engines import ModelDatabase


class Base(DeclarativeBase):
    pass


class Draft(Base):
    __tablename__ = "drafts"
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(default="bad")
    state: Mapped[str] = mapped_column(default="draft")
    at: Mapped[datetime | None] = transition(set_field="state", to="out")

    @validates("state")
    def fit_to_print(self, key: str, value: str) -> str:
        if value == "out" and self.text == "bad":
            raise ValueError("not fit to print")
        return value


class Seat(Base):
    """Its key has two columns, one of them text."""

    __tablename__ = "seats"
    row: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(default="held")
    until: Mapped[datetime | None] = transition(set_field="state", to="free")

    @validates("state")
    def never_free(self, key: str, value: str) -> str:
        if value == "free":
            raise RuntimeError("sold")
        return value


@pytest.fixture
def drafts(app: Duetime, database: ModelDatabase) -> Duetime:
    database.make_tables(Base)
    app.transitions.register(Base, database.engine, retry=Retry.none())
    return app


async def park(app: Duetime, database: ModelDatabase, clock: FakeClock, count: int) -> None:
    database.add(*(Draft(id=n, at=clock.now()) for n in range(count)))
    assert (await app.transitions.drain()).failed == count


async def park_many(app: Duetime, database: ModelDatabase, clock: FakeClock, count: int) -> None:
    """Park one row by a sweep, and make entries like that one for all others."""
    await park(app, database, clock, 1)
    database.add(*(Draft(id=n, at=clock.now()) for n in range(1, count)))
    database.do(
        "INSERT INTO duetime_transitions"
        " (table_name, column_name, row_key, value, attempts, error)"
        " SELECT table_name, column_name, CAST(id AS text), value, 1, error"
        " FROM duetime_transitions, drafts WHERE id > 0"
    )


def mend(database: ModelDatabase) -> None:
    database.do("UPDATE drafts SET text = 'fine'")


async def parked_ids(app: Duetime, *model: Any, **wanted: Any) -> list[Any]:
    return [row.id for row in await app.transitions.parked(*model, **wanted)]


class TestListing:
    async def test_a_row_is_shown_with_its_error(
        self, drafts: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        await park(drafts, database, clock, 1)
        [row] = await drafts.transitions.parked()
        assert (row.model, row.table, row.column, row.id) == ("Draft", "drafts", "at", 0)
        assert (row.error, row.attempts) == ("ValueError: not fit to print", 1)
        assert row.due_at == clock.now()

    async def test_what_is_retried_by_itself_is_not_parked(
        self, app: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        database.make_tables(Base)
        app.transitions.register(Base, database.engine, retry=Retry(delays=[60]))
        await park(app, database, clock, 1)
        assert await parked_ids(app) == []
        clock.advance(minutes=1)
        await app.transitions.sweep()
        assert await parked_ids(app) == [0]

    async def test_a_row_that_was_corrected_by_hand_is_not_shown(
        self, drafts: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        await park(drafts, database, clock, 4)
        database.do("UPDATE drafts SET at = NULL WHERE id = 0")
        database.do("UPDATE drafts SET state = 'out' WHERE id = 1")
        database.do("DELETE FROM drafts WHERE id = 2")
        assert await parked_ids(drafts) == [3]

    async def test_pages_go_through_all_transitions(
        self, drafts: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        await park(drafts, database, clock, 5)
        database.add(*(Seat(row=row, number=7, until=clock.now()) for row in "ab:"))
        await drafts.transitions.drain()
        every = await parked_ids(drafts)
        assert {*every} == {0, 1, 2, 3, 4, ("a", 7), ("b", 7), (":", 7)}
        found, cursor, pages = [], None, 0
        while cursor is not None or not pages:
            page = await drafts.transitions.parked(limit=2, cursor=cursor)
            found += [row.id for row in page]
            cursor, pages = page.next_cursor, pages + 1
        assert found == every
        assert await parked_ids(drafts, Seat) == [row for row in every if isinstance(row, tuple)]
        assert await parked_ids(drafts, "Draft", "at") == [0, 1, 2, 3, 4]

    async def test_more_than_a_chunk_of_corrected_rows_comes_before(
        self, drafts: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        await park_many(drafts, database, clock, 700)
        database.do("UPDATE drafts SET at = NULL WHERE id <> 99")
        assert await parked_ids(drafts, limit=1) == [99]


class TestRetrying:
    async def test_a_retried_row_is_tried_at_the_next_sweep(
        self, drafts: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        await park(drafts, database, clock, 3)
        mend(database)
        assert (await drafts.transitions.drain()).changed == 0
        assert await drafts.transitions.retry(by="ann", note="mended") == 3
        assert await parked_ids(drafts) == []
        assert (await drafts.transitions.drain()).updated == 3
        assert await drafts.transitions.retry() == 0

    async def test_its_attempts_start_again(
        self, app: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        database.make_tables(Base)
        app.transitions.register(Base, database.engine, retry=Retry(delays=[60]))
        await park(app, database, clock, 1)
        clock.advance(minutes=1)
        await app.transitions.sweep()
        await app.transitions.retry(Draft)
        seen = [error.attempts for error in (await app.transitions.sweep()).errors]
        clock.advance(minutes=1)
        seen += [error.attempts for error in (await app.transitions.sweep()).errors]
        assert seen == [1, 2]

    async def test_only_those_that_are_named(
        self, drafts: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        await park(drafts, database, clock, 4)
        database.add(Seat(row="a", number=7, until=clock.now()))
        await drafts.transitions.drain()
        assert await drafts.transitions.retry("Draft", ids=[1, 3, 99]) == 2
        assert await drafts.transitions.retry(Seat, "until", ids=[("a", 7), ("a", 8)]) == 1
        assert await parked_ids(drafts) == [0, 2]

    async def test_each_retry_is_audited(
        self, drafts: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        await park(drafts, database, clock, 2)
        await drafts.transitions.retry("Draft", ids=[1], by="ann", note="mended")
        [entry] = await drafts.audit.find(subject="Draft.at", tenant=ANY)
        assert (entry.verb, entry.by, entry.note) == ("retry", "ann", "mended")
        assert (entry.subject, entry.source) == ("transition", "python")
        assert entry.before == {"ids": ["1"], "parked": True}
        assert entry.after == {"ids": ["1"], "parked": False}

    async def test_a_sweep_is_audited_if_somebody_asks_for_it(self, drafts: Duetime) -> None:
        await drafts.transitions.sweep()
        await drafts.transitions.drain()
        assert not (await drafts.audit.find(tenant=ANY)).items
        names = {f"{view.model}.{view.column}" for view in drafts.transitions.list()}
        for ask in (drafts.transitions.sweep, drafts.transitions.drain):
            await ask(by="ann", note="the disk is back")
            entries = (await drafts.audit.find(verb="sweep", by="ann", limit=len(names))).items
            assert {entry.subject_id for entry in entries} == names
            assert {(entry.subject, entry.note) for entry in entries} == {
                ("transition", "the disk is back")
            }

    async def test_a_retry_of_nothing_is_not_audited(
        self, drafts: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        await park(drafts, database, clock, 1)
        assert await drafts.transitions.retry("Seat") == 0
        assert not (await drafts.audit.find(tenant=ANY)).items

    async def test_more_than_a_chunk(
        self, drafts: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        await park_many(drafts, database, clock, 1100)
        assert await drafts.transitions.retry("Draft") == 1100
        assert len((await drafts.audit.find(subject="Draft.at", tenant=ANY)).items) == 3


class TestInTheStoresDatabase:
    """Where both are in one database, the entry is of the transaction that changes the rows."""

    @pytest.fixture
    async def shared(self, database: ModelDatabase, clock: FakeClock) -> Any:
        async with Duetime(database.url, clock=clock) as app:
            database.make_tables(Base)
            app.transitions.register(Base, database.engine, retry=Retry.none())
            yield app

    async def test_the_entry_is_written_with_the_change(
        self, shared: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        await park(shared, database, clock, 1)
        assert await shared.transitions.retry("Draft", by="ann") == 1
        [entry] = await shared.audit.find(subject="Draft.at", tenant=ANY)
        assert entry.by == "ann"

    async def test_neither_is_there_if_the_commit_fails(
        self, shared: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        await park(shared, database, clock, 1)
        database.do("ALTER TABLE duetime_audit RENAME TO duetime_audit_away")
        with pytest.raises(Exception, match="duetime_audit"):
            await shared.transitions.retry("Draft")
        database.do("ALTER TABLE duetime_audit_away RENAME TO duetime_audit")
        assert await parked_ids(shared) == [0]
        assert not (await shared.audit.find(tenant=ANY)).items


BAD: list[tuple[dict[str, Any], str]] = [
    ({"model": "Nothing"}, "model"),
    ({"model": 7}, "model"),
    ({"model": int}, "model"),
    ({"model": ""}, "model"),
    ({"column": "at"}, "column"),
    ({"model": "Draft", "column": "id"}, "column"),
    ({"model": "Draft", "column": 7}, "column"),
]


@pytest.mark.parametrize("kind", ["pysqlite"])
class TestBadInput:
    @pytest.mark.parametrize(
        ("bad", "argument"),
        [
            *BAD,
            *(({"limit": limit}, "limit") for limit in (0, 201, True, "7")),
            *(({"cursor": cursor}, "cursor") for cursor in ("", "nonsense", 7, "AAAA" * 9)),
        ],
        ids=repr,
    )
    async def test_of_parked(self, drafts: Duetime, bad: dict[str, Any], argument: str) -> None:
        with pytest.raises(InvalidArgument) as refused:
            await drafts.transitions.parked(**bad)
        assert refused.value.argument == argument

    @pytest.mark.parametrize(
        ("bad", "argument"),
        [
            *BAD,
            ({"ids": [1]}, "ids"),
            ({"model": "Draft", "ids": []}, "ids"),
            ({"model": "Draft", "ids": "12"}, "ids"),
            ({"model": "Draft", "ids": 1}, "ids"),
            ({"model": "Draft", "ids": [None]}, "ids"),
            ({"model": "Draft", "ids": [(1, 2)]}, "ids"),
            ({"model": "Seat", "ids": ["a"]}, "ids"),
            ({"model": "Draft", "ids": [*range(501)]}, "ids"),
            ({"by": ""}, "by"),
            ({"by": 7}, "by"),
            ({"note": "\x00"}, "note"),
        ],
        ids=repr,
    )
    async def test_of_retry(
        self,
        drafts: Duetime,
        database: ModelDatabase,
        clock: FakeClock,
        bad: dict[str, Any],
        argument: str,
    ) -> None:
        await park(drafts, database, clock, 2)
        with pytest.raises(InvalidArgument) as refused:
            await drafts.transitions.retry(**bad)
        assert refused.value.argument == argument
        assert await parked_ids(drafts) == [0, 1]

    async def test_a_cursor_serves_no_other_list(
        self, drafts: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        await park(drafts, database, clock, 2)
        cursor = (await drafts.transitions.parked(limit=1)).next_cursor
        with pytest.raises(InvalidArgument, match="another filter"):
            await drafts.transitions.parked("Draft", limit=1, cursor=cursor)


class TestReports:
    async def test_a_sweep_by_hand_is_kept(
        self, drafts: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        assert await drafts.transitions.last_report() is None
        database.add(Draft(id=1, at=clock.now()), Draft(id=2, at=clock.now(), text="fine"))
        report = await drafts.transitions.sweep()
        kept = await drafts.transitions.last_report()
        assert kept is not None
        assert (kept.app, kept.at) == ("duetime", clock.now())
        assert kept.worker
        assert (kept.report.updated, kept.report.failed) == (1, 1)
        assert kept.report.per_model == report.per_model
        [error] = kept.report.errors
        assert (error.id, error.error, error.parked) == ("1", "ValueError: not fit to print", True)

    async def test_the_next_one_takes_its_place(
        self, drafts: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        await park(drafts, database, clock, 1)
        clock.advance(minutes=1)
        await drafts.transitions.drain()
        kept = await drafts.transitions.last_report("duetime")
        assert kept is not None
        assert (kept.at, kept.report.failed) == (clock.now(), 0)
        assert await drafts.transitions.last_report("other") is None

    @pytest.mark.parametrize("bad", ["", 7, "\x00"])
    async def test_a_name_that_no_app_has(self, drafts: Duetime, bad: Any) -> None:
        with pytest.raises(InvalidArgument):
            await drafts.transitions.last_report(bad)

    async def test_a_runner_keeps_what_it_did(
        self, app: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        database.make_tables(Base)
        app.transitions.register(Base, database.engine, retry=Retry.none())
        database.add(Draft(id=1, at=clock.now(), text="fine"))
        async with app.transitions.runner():
            pass
        kept = await app.transitions.last_report()
        assert kept is not None
        assert kept.report.updated == 1

    async def test_a_pass_that_did_nothing_leaves_it(
        self, drafts: Duetime, database: ModelDatabase, clock: FakeClock
    ) -> None:
        await park(drafts, database, clock, 1)
        clock.advance(timedelta(minutes=1))
        async with drafts.transitions.runner():
            pass
        kept = await drafts.transitions.last_report()
        assert kept is not None
        assert kept.report.failed == 1
