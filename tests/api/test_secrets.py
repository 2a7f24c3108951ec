"""Passwords never appear: not in errors and their causes, nor in logs, settings or commands."""

import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from api.apps import Note
from duetime import Duetime
from duetime.config import load
from duetime.errors import ConfigError, DuetimeError
from duetime.testing import FakeClock
from duetime.transitions.sessions import Sessions

SECRET = "s3cr3tPW"
HERE = "127.0.0.1:1"  # nothing listens there
UNREADABLE = [
    f"postgresql://u:{SECRET}@[::1/x",
    f"postgresql://u:{SECRET}@h:abc/x",
    f"postgresql://u:{SECRET}",
    f"postgresql://u:{SECRET}%zz@{HERE}/x",
    f"postgresql://u:a@{SECRET}@{HERE}/x",
    f"postgresql://u:a/{SECRET}@{HERE}/x",
    f"postgresql://u:5/{SECRET}@{HERE}/x",
    f"postgresql://{HERE}/x?password=a&{SECRET}",
    f"postgresql://{HERE}/x?password=a&{SECRET}=",
    f"postgresql://u:{SECRET}@{HERE}/x?nonsense=1",
    f"mysql://u:{SECRET}@h/x",
    f"postgresq://u:{SECRET}@h/x",
    f"postgresql+pg8000://u:{SECRET}@h/x",
    f"POSTGRESQL://u:{SECRET}@{HERE}/x",
    f" postgresql://u:{SECRET}@h/x",
    f"postgresql:/u:{SECRET}@h/x",
    f"postgresql:u:{SECRET}@h/x",
    f"u:{SECRET}@h/x",
    f"host=127.0.0.1 password={SECRET}",
    f"sqlite://u:{SECRET}@/x",
    f"sqlite:///x.db?key={SECRET}",
    f"postgresql://u:{SECRET}\x00@h/x",
]
UNREACHABLE = [
    f"postgresql://u:{SECRET}@{HERE}/x",
    f"postgresql://u:{SECRET}@{HERE},127.0.0.1:2/x",
    f"postgresql://u:a#{SECRET}@{HERE}/x",
    f"postgresql://u:a?{SECRET}@{HERE}/x",
    f"postgresql://u:a%40{SECRET}@{HERE}/x",
    f"postgresql://u:{SECRET}@h:99999999/x",
    f"postgresql://u:{SECRET}@{HERE}/x?sslmode=bogus",
    f"postgresql://u:{SECRET}@{HERE}/x?sslpassword={SECRET}",
    f"postgresql://{HERE}/x?user=u&password={SECRET}&options=-c%20x",
]


def everything(error: BaseException) -> Iterator[str]:
    """What an error, its traceback, its causes and its contexts say."""
    yield "".join(traceback.format_exception(error))
    seen: list[BaseException | None] = [error]
    for link in seen:
        if link is not None:
            yield f"{link} {link!r} {link.args}"
            # A driver's own error may refer to its connection, which knows the password.
            yield str(vars(link)) if isinstance(link, DuetimeError) else ""
            seen += [x for x in (link.__cause__, link.__context__) if x not in seen]


@pytest.mark.parametrize("url", UNREADABLE)
def test_an_unreadable_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Duetime(url)
    assert [text for text in everything(caught.value) if SECRET in text] == []


@pytest.mark.parametrize("url", UNREACHABLE)
async def test_nothing_that_an_app_shows_has_its_password(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    app = Duetime(url, timeout=2)
    app.payload(Note, kind="note")
    shown = [repr(app.settings), str(app.settings), repr(app), repr(app.store), str(app.store)]
    with pytest.raises(DuetimeError) as caught:
        await app.schedule(Note())
    shown += everything(caught.value)
    with pytest.raises(DuetimeError) as caught:
        app.sync.schedule(Note())
    shown += everything(caught.value)
    await app.aclose()
    assert [text for text in [*shown, caplog.text] if SECRET in text] == []


def test_a_store_whose_parts_do_not_fit_is_refused_without_the_password() -> None:
    with pytest.raises(ConfigError) as caught:
        Duetime(f"sqlite:///x.db?password={SECRET}", schema="s", clock=FakeClock())
    assert SECRET not in str(caught.value)


def test_a_toml_file_is_refused_without_its_password(tmp_path: Path) -> None:
    tmp_path.joinpath("duetime.toml").write_text(f'duetime = "postgresql://u:{SECRET}@h/x"')
    with pytest.raises(ConfigError) as caught:
        load({}, {}, tmp_path)
    assert [text for text in everything(caught.value) if SECRET in text] == []


def test_an_engine_is_named_without_its_password() -> None:
    engine = create_engine(f"postgresql+psycopg://u:{SECRET}@h/x?sslpassword={SECRET}")
    assert Sessions(engine).place == "postgresql+psycopg://u:***@h/x?sslpassword=***"


@pytest.mark.parametrize("arguments", [["doctor"], ["actions", "list"], ["migrate", "--check"]])
def test_no_command_shows_a_password(arguments: list[str]) -> None:
    script = (
        "import sys\n"
        "from duetime.cli.main import main\n"
        "for url in sys.stdin.read().split('\\n'):\n"
        "    try: main([*sys.argv[1:], '--url', url])\n"
        "    except SystemExit: pass\n"
    )
    urls = [url for url in [*UNREADABLE, *UNREACHABLE] if "\x00" not in url]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        input="\n".join(urls),
        capture_output=True,
        text=True,
        env={**os.environ, "DUETIME_TIMEOUT": "1"},
        check=True,
    )
    output = done.stdout + done.stderr
    assert output.count("postgresql") > len(UNREACHABLE)
    assert [line for line in output.splitlines() if SECRET in line or "Traceback" in line] == []
