"""Settings: argument over environment over TOML over default; a wrong one is named."""

import inspect
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from duetime import Duetime
from duetime.config import Settings
from duetime.errors import ConfigError
from duetime.model.store_url import is_well_formed, mask_password
from duetime.store.sql.postgres.store import PostgresStore
from duetime.store.sql.sqlite.store import SqliteStore


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DUETIME_URL", raising=False)
    return tmp_path


def test_nothing_given_means_the_documented_defaults() -> None:
    settings = Duetime().settings
    assert settings == Settings()
    assert settings.url == "sqlite:///duetime.db"
    times = (settings.lease, settings.sweep, settings.poll, settings.grace, settings.preclaim)
    assert times == (15, 10, 10, 30, 0.5)
    assert (settings.poll_unheard, settings.concurrency, settings.batch) == (1, 100, 500)
    assert settings.retention == timedelta(days=7).total_seconds()
    assert settings.retention_failed == timedelta(days=30).total_seconds()
    assert (settings.prefix, settings.schema, settings.max_payload) == ("duetime_", None, 1_000_000)


def test_every_setting_is_an_argument() -> None:
    arguments = inspect.signature(Duetime).parameters
    assert {setting.name for setting in fields(Settings)} <= arguments.keys()


def test_constructing_an_app_opens_and_writes_nothing(empty_folder: Path) -> None:
    Duetime()
    Duetime("postgresql://127.0.0.1:1/nowhere")
    assert list(empty_folder.iterdir()) == []


def test_an_argument_wins_over_the_environment_over_toml(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (empty_folder / "duetime.toml").write_text(
        '[duetime]\nurl = "memory://"\nlease = 1\nsweep = 1\npoll = 1.5\n'
    )
    monkeypatch.setenv("DUETIME_LEASE", "2")
    monkeypatch.setenv("DUETIME_SWEEP", "2")
    settings = Duetime(sweep=3).settings
    assert (settings.poll, settings.lease, settings.sweep) == (1.5, 2, 3)
    assert (settings.url, settings.grace) == ("memory://", 30)


def test_pyproject_is_read_where_there_is_no_duetime_toml(empty_folder: Path) -> None:
    project = empty_folder / "pyproject.toml"
    project.write_text('[tool.other]\nx = 1\n[tool.duetime]\nurl = "memory://"\nbatch = 7\n')
    assert Duetime().settings.batch == 7
    (empty_folder / "duetime.toml").write_text('[duetime]\nurl = "memory://"\nbatch = 8\n')
    assert Duetime().settings.batch == 8


def test_a_pyproject_without_our_table_says_nothing(empty_folder: Path) -> None:
    (empty_folder / "pyproject.toml").write_text("[project]\nname = 'shop'\n")
    assert Duetime().settings == Settings()


def test_variables_for_tests_are_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUETIME_TEST_POSTGRES", "postgresql://nowhere")
    monkeypatch.setenv("DUETIME_TEST_ANYTHING", "x")
    assert Duetime().settings == Settings()


def test_each_type_is_understood_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        "URL": "memory://",
        "NAME": "shop",
        "LEASE": "2.5",
        "CONCURRENCY": "7",
        "MIGRATE": "no",
        "LISTEN": "TRUE",
        "PREFIX": "shop_",
        "SCHEMA": "work",
    }.items():
        monkeypatch.setenv(f"DUETIME_{name}", text)
    settings = Duetime().settings
    assert (settings.url, settings.name, settings.lease) == ("memory://", "shop", 2.5)
    assert (settings.concurrency, settings.migrate, settings.listen) == (7, False, True)
    assert (settings.prefix, settings.schema) == ("shop_", "work")


def test_origins_are_a_list_or_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    origins = ("https://ops.example", "http://localhost:3000", "http://[::1]:8")
    assert Duetime("memory://", cors_origins=origins).settings.cors_origins == origins
    monkeypatch.setenv("DUETIME_CORS_ORIGINS", "HTTPS://Ops.Example, http://localhost:3000")
    assert Duetime("memory://").settings.cors_origins == origins[:2]


def test_times_may_be_timedeltas() -> None:
    assert Duetime("memory://", lease=timedelta(minutes=1)).settings.lease == 60


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"lease": "soon"}, "option lease='soon'"),
    ({"lease": -1}, "option lease=-1"),
    ({"lease": 0}, "above 0"),
    ({"lease": float("nan")}, "option lease=nan"),
    ({"lease": float("inf")}, "option lease=inf is not valid: give a finite number"),
    ({"lease": 1e12}, "option lease=1000000000000.0 is not valid: give at most"),
    ({"lease": True}, "option lease=True"),
    ({"lease": [1]}, r"option lease=\[1\]"),
    ({"concurrency": 0}, "option concurrency=0"),
    ({"concurrency": 1.5}, "option concurrency=1.5"),
    ({"concurrency": "many"}, "option concurrency='many'"),
    ({"concurrency": True}, "option concurrency=True"),
    ({"batch": -5}, "option batch=-5"),
    ({"migrate": "maybe"}, "option migrate='maybe'"),
    ({"name": ""}, "option name=''"),
    ({"name": 5}, "option name=5"),
    ({"prefix": "a b"}, "option prefix='a b'"),
    ({"prefix": 'x";--'}, "letters, digits and underscores"),
    ({"schema": "é"}, "option schema"),
    ({"schema": "x" * 64}, "at most 63"),
    ({"prefix": "x" * 31}, "at most 30"),
    ({"prefix": "1x"}, "option prefix='1x' .* no digit first"),
    ({"clock": 5}, "clock=5 is not a clock"),
    ({"environment": ""}, "option environment=''"),
    ({"environment_color": "pink"}, "one of red, amber, green, blue, grey"),
    ({"cors_origins": "*"}, r"option cors_origins='\*' .* without a path"),
    ({"cors_origins": ["https://ops.example/"]}, "option cors_origins"),
    ({"cors_origins": "https://ops.example,"}, "option cors_origins"),
    ({"cors_origins": "ops.example"}, "option cors_origins"),
    ({"cors_origins": "https://ann@ops.example"}, "option cors_origins"),
    ({"cors_origins": 5}, "option cors_origins=5"),
    ({"url": ""}, "option url=''"),
    ({"url": 5}, "option url=5"),
]


@pytest.mark.parametrize(("given", "message"), WRONG, ids=repr)
def test_a_wrong_value_is_named_with_what_is_wanted(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Duetime(**{"url": "memory://", **given})


@pytest.mark.parametrize(
    ("name", "nearest"), [("leese", "lease"), ("concurency", "concurrency"), ("URL", None)]
)
def test_an_unknown_option_names_its_nearest_neighbour_from_wherever_it_comes(
    name: str, nearest: str | None, empty_folder: Path
) -> None:
    hint = "" if nearest is None else f"did you mean '{nearest}'"
    unknown: dict[str, Any] = {name: 1}
    with pytest.raises(ConfigError, match=f"{name}.*argument.*{hint}"):
        Duetime("memory://", **unknown)
    file = empty_folder / "duetime.toml"
    file.write_text(f"[duetime]\n{name} = 1\n")
    with pytest.raises(ConfigError, match=rf"{name}.*duetime\.toml.*{hint}"):
        Duetime("memory://")


@pytest.fixture
def unwarned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has warned of nothing yet."""
    monkeypatch.setattr("duetime.config._warned_of", set())


@pytest.mark.usefixtures("unwarned")
def test_an_unknown_variable_is_ignored_with_one_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DUETIME_LEESE", "hunter2")
    monkeypatch.setenv("DUETIME_LEASE", "2")
    assert Duetime("memory://").settings.lease == 2
    [record] = caplog.records
    assert (record.name, record.levelname) == ("duetime", "WARNING")
    assert record.getMessage() == (
        "ignored unknown settings of the environment: DUETIME_LEESE (did you mean 'DUETIME_LEASE'?)"
    )
    Duetime("memory://")
    assert len(caplog.records) == 1
    monkeypatch.setenv("DUETIME_SOMETHING_ELSE", "x")
    Duetime("memory://")
    assert "DUETIME_LEESE" not in caplog.records[1].getMessage()


KUBERNETES = {
    "DUETIME_SERVICE_HOST": "10.96.0.17",
    "DUETIME_SERVICE_PORT": "80",
    "DUETIME_SERVICE_PORT_HTTP": "80",
    "DUETIME_PORT": "tcp://10.96.0.17:80",
    "DUETIME_PORT_80_TCP": "tcp://10.96.0.17:80",
    "DUETIME_PORT_80_TCP_PROTO": "tcp",
    "DUETIME_WORKER_PORT_80_TCP_ADDR": "10.96.0.17",
}


@pytest.mark.usefixtures("unwarned")
def test_what_kubernetes_sets_for_a_service_does_no_harm(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in KUBERNETES.items():
        monkeypatch.setenv(name, value)
    assert Duetime().settings == Settings()
    [record] = caplog.records
    assert all(name in record.getMessage() for name in KUBERNETES)
    assert "enableServiceLinks: false" in record.getMessage()
    assert "did you mean" not in record.getMessage()


@pytest.mark.usefixtures("unwarned")
@pytest.mark.parametrize("name", ["DUETIME_REPORT", "DUETIME_EXPORT_TCP"])
def test_other_variables_are_not_blamed_on_kubernetes(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(name, "x")
    Duetime("memory://")
    assert "Kubernetes" not in caplog.text


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("duetime.toml", "not toml"),
        ("duetime.toml", "duetime = 5"),
        ("duetime.toml", "[[duetime]]\nlease = 1"),
        ("pyproject.toml", "tool = 5"),
        ("pyproject.toml", "[tool]\nduetime = 'x'"),
        ("pyproject.toml", "[tool.duetime\n"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(empty_folder: Path, file: str, text: str) -> None:
    (empty_folder / file).write_text(text)
    with pytest.raises(ConfigError, match=file):
        Duetime("memory://")


def test_a_file_that_is_no_text_is_named(empty_folder: Path) -> None:
    (empty_folder / "duetime.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"duetime\.toml"):
        Duetime("memory://")


def test_options_of_a_top_level_that_is_not_ours_are_refused(empty_folder: Path) -> None:
    """Settings written without their table would otherwise be ignored in silence."""
    (empty_folder / "duetime.toml").write_text("lease = 5\n")
    with pytest.raises(ConfigError, match=r"\[duetime\]"):
        Duetime("memory://")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[duetiem]\nlease = 5\n", r"table \[duetiem\] in duetime.toml \(did you mean \[duetime\]"),
        (
            "[duetime]\n[other]\n",
            r"table \[other\] in duetime.toml; settings .* below \[duetime\]$",
        ),
    ],
)
def test_an_unknown_table_is_refused(empty_folder: Path, text: str, message: str) -> None:
    (empty_folder / "duetime.toml").write_text(text)
    with pytest.raises(ConfigError, match=f"unknown {message}"):
        Duetime("memory://")


def test_a_wrong_value_says_where_it_comes_from(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError) as caught:
        Duetime("memory://", lease="soon")  # type: ignore[arg-type]
    assert "comes from" not in str(caught.value)
    for file, table in (("pyproject.toml", "tool.duetime"), ("duetime.toml", "duetime")):
        (empty_folder / file).write_text(f"[{table}]\nlease = 'soon'\n")
        with pytest.raises(ConfigError, match=rf"lease='soon'.* from \[{table}\] in {file}$"):
            Duetime("memory://")
    monkeypatch.setenv("DUETIME_LEASE", "inf")
    with pytest.raises(ConfigError, match=r"lease=inf .*finite.* from DUETIME_LEASE$"):
        Duetime("memory://")


def test_names_as_long_as_the_databases_take_them() -> None:
    settings = Duetime("postgresql://localhost/shop", prefix="p" * 30, schema="s" * 63).settings
    assert (len(settings.prefix), len(settings.schema or "")) == (30, 63)


def test_sqlite_has_no_schemas() -> None:
    with pytest.raises(ConfigError, match=r"schema='s' .*SQLite has no schemas; use prefix="):
        Duetime("sqlite:///x.db", schema="s")


URLS = [
    ("memory", r"\(did you mean 'memory://'\?\)"),
    ("memory:", r"\(did you mean 'memory://'\?\)"),
    ("mysql://localhost/shop", "names no store"),
    ("postgrse://localhost/shop", "did you mean 'postgres"),
    ("shop.db", "names no store"),
    ("sqlite:shop.db", "names no store"),
    ("sqlite://", "names no file"),
    ("sqlite:///", "names no file"),
    ("sqlite://shop.db", "names no file"),
    ("sqlite:///:memory:", "memory://"),
    ("mysql://[::1/shop", "names no store"),
]


@pytest.mark.parametrize(("url", "message"), URLS)
def test_a_url_that_names_no_store_is_refused_with_the_forms_that_do(
    url: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        Duetime(url)
    assert "sqlite:///file.db" in str(caught.value)


SQLALCHEMY_URLS = [
    ("sqlite+aiosqlite:///in/shop.db", "in/shop.db"),
    ("sqlite+pysqlite:////abs/shop.db", "/abs/shop.db"),
    ("postgres://me@host/shop", "postgresql://me@host/shop"),
    ("postgresql+asyncpg://me:p%40ss@host:5433/shop", "postgresql://me:p%40ss@host:5433/shop"),
    ("postgresql+psycopg://host/shop?sslmode=require", "postgresql://host/shop?sslmode=require"),
    ("postgresql+psycopg_async://host/shop", "postgresql://host/shop"),
    ("postgresql+psycopg2://host/shop", "postgresql://host/shop"),
    ("postgresql+asyncpg://host/shop?ssl=require", "postgresql://host/shop?sslmode=require"),
    (
        "postgresql+asyncpg://h/s?application_name=a&ssl=prefer",
        "postgresql://h/s?application_name=a&sslmode=prefer",
    ),
]


@pytest.mark.parametrize(("url", "place"), SQLALCHEMY_URLS)
def test_the_urls_of_sqlalchemy_name_the_same_stores(url: str, place: str) -> None:
    store = Duetime(url).store
    assert isinstance(store, SqliteStore | PostgresStore)
    assert (store._path if isinstance(store, SqliteStore) else store._url) == place


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql+pg8000://me:hunter2@host/shop", "postgresql+asyncpg://"),
        ("sqlite+pysqlcipher:///shop.db", "sqlite+aiosqlite://"),
        ("postgresql+asyncgp://host/shop", "postgresql+asyncpg://"),
        ("sqlite+aiosqlite://", "names no file"),
        ("sqlite+aiosqlite:///shop.db?x=1", "options after"),
    ],
)
def test_another_driver_is_refused_with_those_that_are_understood(url: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Duetime(url)
    assert said in str(raised.value)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "url", ["mysql://me:hunter2@host/db", "mysql://host/db?user=me&password=hunter2"]
)
def test_a_message_never_shows_the_password(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Duetime(url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:hunter2@host:5432/db?x=1", "postgresql://me:***@host:5432/db?x=1"),
        ("postgresql+asyncpg://me:hunter2@host/db", "postgresql+asyncpg://me:***@host/db"),
        (
            "sqlite+aiosqlite:///in/a@b:c.db?password=x",
            "sqlite+aiosqlite:///in/a@b:c.db?password=***",
        ),
        ("postgresql://me:hunt@er/2@host/db", "postgresql://me:***@host/db"),
        ("postgresql:///db?user=me&password=hunter2", "postgresql:///db?user=me&password=***"),
        ("postgresql:/me:hunter2@host/db", "postgresql:/me:***@host/db"),
        ("postgresql://me@host:5432/db", "postgresql://me@host:5432/db"),
        ("sqlite:////tmp/duetime.db", "sqlite:////tmp/duetime.db"),
        ("memory://", "memory://"),
        (
            "postgresql://h1:1,[::1]:2/db?x=1&sslpassword=a&b=c",
            "postgresql://h1:1,[::1]:2/db?x=1&sslpassword=***",
        ),
        ("postgresql://me:hunter2", "postgresql://***"),
        ("postgresql://me:5/a?x=hunter2&y@h/db", "postgresql://***"),
        ("postgresql://me:p@ss/hunter2?x=1@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me:p@ss?hunter2@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me:p@ss?hunter2@host/db?a=b", "postgresql://me:***@host/db?a=b"),
        ("postgresql://me:p@h/d?hunter2@not a host", "postgresql://***"),
        ("postgresql://me@hunter2/d?x=1@host/db", "postgresql://***"),
        (" POSTGRESQL://me:hunter2@host/db", "POSTGRESQL://me:***@host/db"),
        ("sqlite://me:hunter2@/x", "sqlite://me:***@/x"),
        ("sqlite:///x@y.db?key=hunter2", "sqlite:///x@y.db?key=***"),
        ("host=h password=hunter2", "***"),
        ("sqlite:/duetime.db", "sqlite:/duetime.db"),
        ("duetime.db", "duetime.db"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert mask_password(url) == shown


@pytest.mark.parametrize(
    ("url", "certain"),
    [
        ("postgresql://me:hunter2@host/db?x=1", True),
        ("postgresql://host/db?user=me@server", True),
        ("postgresql://me:p@ss/hunter2?x=1@host/db", False),
        ("postgresql://me:p@ss?hunter2@host/db", False),
        ("postgresql://me@host/db?x=1@hunter2", False),
    ],
)
def test_a_second_at_sign_makes_it_uncertain_what_is_the_password(url: str, certain: bool) -> None:
    assert is_well_formed(url) is certain


def test_a_url_with_a_second_at_sign_is_refused_before_the_driver_sees_it() -> None:
    with pytest.raises(ConfigError, match="percent-encode") as caught:
        Duetime("postgresql://me:p@ss/hunter2?x=1@host/db").sync.stats()
    assert "'postgresql://me:***@host/db'" in str(caught.value)
    assert "hunter2" not in str(caught.value)
