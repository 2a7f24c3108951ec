"""Alembic beside duetime: real projects, made by `alembic init`, through the command line."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, inspect

from duetime import Duetime
from duetime.alembic import include_name, make_include_name
from duetime.errors import ConfigError

BASE = """
from datetime import datetime
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
class Base(DeclarativeBase): ...
"""
ONLY_ACTIONS = f"""{BASE}
class Post(Base):
    __tablename__ = "posts"
    id: Mapped[int] = mapped_column(primary_key=True)
"""
WITH_TRANSITIONS = f"""{BASE}
from duetime.transitions import SoftDeletable, transition
class Post(SoftDeletable, Base):
    __tablename__ = "posts"
    id: Mapped[int] = mapped_column(primary_key=True)
    expires_at: Mapped[datetime | None] = transition(soft_delete=True)
    purge_at: Mapped[datetime] = transition(hard_delete=True)
"""
USE_TRANSITIONS = """
import sys
from datetime import UTC, datetime, timedelta
from sqlalchemy import create_engine
from sqlalchemy.orm import Session
from duetime import Duetime
from models import Base, Post

engine = create_engine(sys.argv[1])
now = datetime.now(UTC)
with Session(engine) as session:
    session.add(Post(id=1, expires_at=now, purge_at=now + timedelta(days=1)))
    session.commit()
app = Duetime("memory://")
app.transitions.register(Base, engine)
assert app.sync.transitions.drain().check().deleted == 1
app.sync.close()
"""
NO_DIFFERENCE = "No new upgrade operations detected"
# For what does not depend on the database.
ON_SQLITE = pytest.mark.parametrize("url", ["sqlite"], indirect=True)
WITHOUT_PLUGIN = "autogenerate_plugins=['alembic.autogenerate.*', '~alembic.autogenerate.duetime']"


class Project:
    """A directory with models and what `alembic init` puts there."""

    def __init__(self, directory: Path, url: str, models: str) -> None:
        self._directory = directory
        self.url = url.replace("postgresql:", "postgresql+psycopg:")
        (directory / "models.py").write_text(models)
        self.output = ""
        config = Config(directory / "alembic.ini", stdout=io.StringIO())
        command.init(config, str(directory / "migrations"))
        self._replace("alembic.ini", "sqlalchemy.url = driver://user:pass@localhost/dbname", "")
        self._replace(
            "migrations/env.py",
            "target_metadata = None",
            "from models import Base\ntarget_metadata = Base.metadata\n"
            f"config.set_main_option('sqlalchemy.url', {self.url.replace('%', '%%')!r})",
        )

    def configure(self, preamble: str, arguments: str) -> None:
        """Give env.py's `context.configure` more arguments."""
        old = "target_metadata=target_metadata\n"
        self._replace("migrations/env.py", old, f"target_metadata=target_metadata, {arguments}\n")
        self._replace(
            "migrations/env.py",
            "from alembic import context",
            "\n".join(["from alembic import context", preamble]),
        )

    def _replace(self, file: str, old: str, new: str) -> None:
        path = self._directory / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def alembic(self, *commands: str) -> str:
        """Run commands of Alembic one after another, in one process; return their output."""
        main = (
            "import sys; from alembic.config import main; [main(c.split()) for c in sys.argv[1:]]"
        )
        return self.python("-c", main, *commands)

    def python(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self._directory,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def revision(self, *more: str) -> str:
        """Autogenerate a migration, run more commands, and return the migration."""
        before = set(self._directory.glob("migrations/versions/*.py"))
        self.output = self.alembic("revision --autogenerate -m any", *more)
        (made,) = set(self._directory.glob("migrations/versions/*.py")) - before
        return made.read_text()

    def tables(self, schema: str | None = None) -> set[str]:
        engine = create_engine(self.url)
        found = set(inspect(engine).get_table_names(schema=schema))
        engine.dispose()
        return found


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{request.getfixturevalue('sqlite_path')}"
    found: str = request.getfixturevalue("empty_postgres_url")
    return found


def create_store(url: str, **options: Any) -> None:
    app = Duetime(url, **options)
    app.sync.stats()
    app.sync.close()


def store_tables(project: Project, schema: str | None = None) -> set[str]:
    """The tables of the database that belong to no model."""
    known = {"posts", "alembic_version", "duetime_transitions"}
    return project.tables(schema) - known


def test_with_transitions(tmp_path: Path, url: str) -> None:
    """env.py is as Alembic made it; the migration needs SQLAlchemy and Alembic only."""
    create_store(url)
    project = Project(tmp_path, url, WITH_TRANSITIONS)
    before = store_tables(project)
    assert "duetime_actions" in before

    migration = project.revision("upgrade head", "check")
    assert "sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True)" in migration
    assert "duetime." not in migration
    assert "'duetime_transitions'" in migration
    assert "duetime_actions" not in migration
    assert NO_DIFFERENCE in project.output
    (tmp_path / "use.py").write_text(USE_TRANSITIONS)
    project.python("use.py", project.url)
    assert NO_DIFFERENCE in project.alembic("check", "downgrade base")
    assert project.tables() == before | {"alembic_version"}


def test_alembic_does_not_even_look_at_a_store_with_the_default_prefix(
    tmp_path: Path, url: str
) -> None:
    """Thirty lines of `Detected removed table` would frighten whoever reads them."""
    create_store(url)
    project = Project(tmp_path, url, WITH_TRANSITIONS)
    project.revision("upgrade head", "check")
    assert "Detected removed" not in project.output
    assert "Left alone" not in project.output


def test_with_actions_only(tmp_path: Path, url: str) -> None:
    create_store(url)
    project = Project(tmp_path, url, ONLY_ACTIONS)
    before = store_tables(project)
    assert "duetime" not in project.revision("upgrade head", "check", "downgrade base")
    assert NO_DIFFERENCE in project.output
    assert store_tables(project) == before


def test_a_transition_that_is_added_later(tmp_path: Path, url: str) -> None:
    create_store(url)
    project = Project(tmp_path, url, ONLY_ACTIONS)
    project.revision("upgrade head")
    later = WITH_TRANSITIONS.replace(
        "purge_at: Mapped[datetime] ", "purge_at: Mapped[datetime | None] "
    )
    (tmp_path / "models.py").write_text(later)
    migration = project.revision("upgrade head", "check")
    assert "sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True)" in migration
    assert "duetime." not in migration
    assert NO_DIFFERENCE in project.output


@ON_SQLITE
def test_a_store_with_a_prefix(tmp_path: Path, url: str) -> None:
    """It is recognised by the names of all its tables."""
    create_store(url, prefix="later_")
    project = Project(tmp_path, url, ONLY_ACTIONS)
    assert "later_" not in project.revision()
    assert "Left alone the tables of duetime's store: later_actions" in project.output


@ON_SQLITE
def test_a_table_that_only_looks_like_a_store_s_is_dropped(tmp_path: Path, url: str) -> None:
    create_store(url)
    project = Project(tmp_path, url, ONLY_ACTIONS)
    engine = create_engine(project.url)
    with engine.begin() as connection:
        for name in ("later_actions", "later_jobs", "duetime_posts"):
            connection.exec_driver_sql(f"CREATE TABLE {name} (id INTEGER)")
    engine.dispose()
    migration = project.revision()
    dropped = {name for name in store_tables(project) if f"drop_table('{name}')" in migration}
    assert dropped == {"later_actions", "later_jobs", "duetime_posts"}


def test_a_store_in_a_schema(tmp_path: Path, empty_postgres_url: str) -> None:
    create_store(empty_postgres_url, schema="work")
    project = Project(tmp_path, empty_postgres_url, ONLY_ACTIONS)
    project.configure("", "include_schemas=True")
    assert "duetime_actions" in store_tables(project, "work")
    assert "duetime" not in project.revision()


@pytest.mark.parametrize("prefix", ["duetime_", "later_"])
@ON_SQLITE
def test_named_in_env_py(tmp_path: Path, url: str, prefix: str) -> None:
    """As it must be for an Alembic that knows no plugins."""
    create_store(url, prefix=prefix)
    project = Project(tmp_path, url, WITH_TRANSITIONS)
    if prefix == "duetime_":
        imported = "from duetime.alembic import include_name, render_item"
    else:
        imported = (
            "from duetime.alembic import make_include_name, render_item\n"
            f"include_name = make_include_name(prefix={prefix!r})"
        )
    named = f"include_name=include_name, render_item=render_item, {WITHOUT_PLUGIN}"
    project.configure(imported, named)
    migration = project.revision("upgrade head", "check")
    assert "actions" not in migration
    assert "duetime." not in migration
    assert NO_DIFFERENCE in project.output


@ON_SQLITE
def test_without_either_the_store_would_be_dropped(tmp_path: Path, url: str) -> None:
    create_store(url)
    project = Project(tmp_path, url, ONLY_ACTIONS)
    project.configure("", WITHOUT_PLUGIN)
    assert "drop_table('duetime_actions')" in project.revision()


@ON_SQLITE
def test_a_rendering_of_the_users_goes_first(tmp_path: Path, url: str) -> None:
    project = Project(tmp_path, url, WITH_TRANSITIONS)
    mine = """
def render_item(kind, item, context):
    return "sa.TIMESTAMP(timezone=True)" if kind == "type" and "Instant" in repr(item) else False
"""
    project.configure(mine, "render_item=render_item")
    assert "sa.Column('expires_at', sa.TIMESTAMP(timezone=True)" in project.revision()


def test_include_name() -> None:
    assert not include_name("duetime_actions", "table", {})
    assert not include_name("duetime_ticks", "table", {"schema_name": "work"})
    assert include_name("duetime_transitions", "table", {})
    assert include_name("posts", "table", {})
    assert include_name("duetime_actions", "column", {"table_name": "posts"})
    assert include_name(None, "schema", {})


def test_include_name_beside_the_users_own() -> None:
    def mine(name: str | None, type_: str, parent_names: object) -> bool:
        return name != "legacy"

    both = make_include_name(prefix="later_", also=mine)
    assert not both("legacy", "table", {})
    assert not both("later_actions", "table", {})
    assert both("duetime_actions", "table", {})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prefix": "no-dash"}, "prefix='no-dash' is not valid"),
        ({"prefix": ""}, "prefix='' is not valid"),
        ({"prefix": 3}, "prefix=3 is not valid"),
        ({"also": "mine"}, "also='mine' is not a function"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_include_name(**options)
