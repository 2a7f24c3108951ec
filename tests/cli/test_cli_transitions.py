"""Every verb of `duetime transitions`, on SQLite."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import Duetimes

BLOG = """
from datetime import UTC, datetime
from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, validates
from duetime import Duetime
from duetime.transitions import transition

app = Duetime("sqlite:///store.db")
plain = Duetime("memory://")
engine = create_engine("sqlite:///blog.db")

class Base(DeclarativeBase):
    pass

class Post(Base):
    __tablename__ = "posts"
    id: Mapped[int] = mapped_column(primary_key=True)
    status: Mapped[str] = mapped_column(default="draft")
    publish_at: Mapped[datetime | None] = transition(
        set_field="status", from_="draft", to="published"
    )
    purge_at: Mapped[datetime | None] = transition(hard_delete=True)

    @validates("status")
    def check(self, key, value):
        if value == "published" and self.id == 2:
            raise ValueError("not this one")
        return value

Base.metadata.create_all(engine)
app.transitions.register(Base, engine)
"""
FILL = """
with Session(engine) as session:
    past = datetime(2020, 1, 1, tzinfo=UTC)
    session.add_all([Post(id=n, publish_at=past) for n in (1, 2, 3)])
    session.add(Post(id=4, purge_at=datetime(2999, 1, 1, tzinfo=UTC)))
    session.commit()
"""


@pytest.fixture
def blog(tmp_path: Path, duetime: Duetimes) -> Iterator[str]:
    (tmp_path / "blog.py").write_text(BLOG)
    (tmp_path / "full.py").write_text(f"from blog import *\n{FILL}")
    yield "blog:app"
    # A command ends with its process; here the process goes on without the module.
    sys.modules["blog"].engine.dispose()


def test_list(duetime: Duetimes, blog: str) -> None:
    output = duetime.ok("transitions", "list", "--app", blog)
    assert "Post.publish_at" in output
    assert "set status to 'published' if it is 'draft'" in output
    assert "delete for good" in output
    first, second = json.loads(duetime.ok("transitions", "list", "--app", blog, "--json"))["items"]
    assert (first["column"], first["index"]) == ("publish_at", "ix_posts_publish_at_due")
    assert second["effect"] == "hard_delete"


def test_pending_and_sweep(duetime: Duetimes, blog: str) -> None:
    output = json.loads(duetime.ok("transitions", "pending", "--app", "full:app", "--json"))[
        "items"
    ]
    assert [(item["column"], item["due"]) for item in output] == [
        ("publish_at", 3),
        ("purge_at", 0),
    ]
    assert output[1]["next_due"].startswith("2999-01-01")
    failed = duetime("transitions", "sweep", "--app", blog)
    assert (failed.code, failed.out) == (1, "updated 2, deleted 0, skipped 0, failed 1\n")
    assert "Post.publish_at of 2: ValueError: not this one" in failed.err
    again = duetime.ok("transitions", "sweep", "--app", blog)
    assert again == "updated 0, deleted 0, skipped 0, failed 0\n"
    output = json.loads(duetime.ok("transitions", "pending", "--app", blog, "--json"))["items"]
    assert (output[0]["due"], output[0]["retrying"]) == (0, 1)
    assert "2999" in duetime.ok("transitions", "pending", "--app", blog)
    asked = duetime("transitions", "sweep", "--parked", "--json", "--by", "ann", "--app", blog)
    assert json.loads(asked.out)["errors"][0]["attempts"] == 2
    audit = json.loads(duetime.ok("audit", "--by", "ann", "--app", blog, "--json"))["items"]
    assert [(entry["verb"], entry["subject_id"], entry["source"]) for entry in audit] == [
        ("sweep", "Post.purge_at", "cli"),
        ("sweep", "Post.publish_at", "cli"),
    ]


def test_a_missing_app_is_reported(duetime: Duetimes, blog: str) -> None:
    assert "name the app with --app module:app" in duetime("transitions", "list").err
    assert duetime.ok("transitions", "list", "--app", "blog:plain") == (
        "no transitions: the app registers none\n"
    )


def test_parked_rows_are_listed_and_retried(duetime: Duetimes, blog: str) -> None:
    assert duetime.ok("transitions", "parked", "--app", blog) == "no rows are parked\n"
    duetime("transitions", "sweep", "--app", "full:app")
    for _ in range(4):
        duetime("transitions", "sweep", "--parked", "--app", blog)
    output = duetime.ok("transitions", "parked", "--app", blog)
    assert "Post.publish_at" in output
    assert "ValueError: not this one" in output
    page = json.loads(duetime.ok("transitions", "parked", "Post", "--app", blog, "--json"))
    [row] = page["items"]
    assert (row["id"], row["attempts"], page["next_cursor"]) == (2, 5, None)
    refused = duetime("transitions", "retry", "--app", blog)
    assert refused.code != 0
    assert "--all" in refused.err
    assert duetime("transitions", "retry", "Nothing", "--app", blog).code != 0
    said = duetime.ok("transitions", "retry", "Post", "publish_at", "--app", blog, "--note", "why")
    assert said == "retried: 1 row\n"
    answer = duetime.ok("transitions", "retry", "--all", "--app", blog, "--json")
    assert json.loads(answer) == {"retried": 0}
    asked = ("--subject", "Post.publish_at", "--verb", "retry", "--app", blog, "--json")
    audit = json.loads(duetime.ok("audit", *asked))
    assert [(entry["verb"], entry["note"], entry["source"]) for entry in audit["items"]] == [
        ("retry", "why", "cli")
    ]


def test_the_last_report(duetime: Duetimes, blog: str) -> None:
    assert duetime.ok("transitions", "report", "--app", blog).startswith("no report yet")
    assert json.loads(duetime.ok("transitions", "report", "--app", blog, "--json")) is None
    duetime("transitions", "sweep", "--app", "full:app")
    lines = duetime.ok("transitions", "report", "--app", blog).splitlines()
    assert lines[0].startswith("duetime, ")
    assert lines[1:] == [
        "updated 2, deleted 0, skipped 0, failed 1",
        "  Post.publish_at of 2: ValueError: not this one",
    ]
    kept = json.loads(duetime.ok("transitions", "report", "--app", blog, "--json"))
    assert (kept["app"], kept["report"]["updated"]) == ("duetime", 2)
