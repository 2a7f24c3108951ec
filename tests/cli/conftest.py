"""A command line in the test's own process, in an empty directory that holds a shop."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from duetime.cli.main import main
from duetime.cli.open_store import SQLITE

SHOP = """
import asyncio
from dataclasses import dataclass
from duetime import Context, Duetime, Retry

app = Duetime("{url}")
other = object()

@dataclass(frozen=True)
class Mail:
    to: str
    copies: int = 1

@dataclass(frozen=True)
class Watch:
    name: str

@app.handler(kind="mail", retry=Retry.none())
async def mail(payload: Mail, ctx: Context) -> str:
    if payload.to == "nobody":
        raise ValueError("no such person")
    return f"sent to {{payload.to}}"

@app.handler(kind="watch", queue="slow")
async def watch(payload: Watch, ctx: Context) -> str:
    print("watching", payload.name, flush=True)
    while not ctx.cancelled:
        await asyncio.sleep(0.01)
    return "stopped in order"
"""


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str


class Duetimes:
    """Run a command as users type it: `duetime("actions", "list")`."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Answer:
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        out, err = self._capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int | None)
        return Answer(code or 0, out, err)

    def ok(self, *arguments: str) -> str:
        answer = self(*arguments)
        assert answer.code == 0, answer
        assert answer.err == ""
        return answer.out


@pytest.fixture
def duetime(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Duetimes]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TZ", "UTC")
    # Whoever runs the tests may have a narrow terminal.
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("DUETIME_URL", raising=False)
    monkeypatch.delenv("DUETIME_APP", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield Duetimes(capsys)
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "-").is_relative_to(tmp_path):
            del sys.modules[name]


@pytest.fixture
def url(sqlite_path: Path) -> str:
    return f"{SQLITE}{sqlite_path}"


@pytest.fixture
def shop(tmp_path: Path, url: str) -> str:
    """The name of an app, importable from the current directory."""
    (tmp_path / "shop.py").write_text(SHOP.format(url=url))
    return "shop:app"


@pytest.fixture
def app(duetime: Duetimes, shop: str) -> Any:
    """The app of `shop` as an object, for what a test does besides."""
    from duetime.cli.loading import load_app

    return load_app(shop)


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start `duetime ...` in the shop's directory; nothing outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def process(*arguments: str, together: bool = False) -> subprocess.Popen[str]:
        """`together`: what it says on standard error is read as if from standard output."""
        command = [sys.executable, "-m", "duetime.cli", *arguments]
        started.append(
            subprocess.Popen(
                command,
                cwd=tmp_path,
                env=os.environ,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if together else subprocess.PIPE,
                start_new_session=together,
            )
        )
        return started[-1]

    yield process
    for item in started:
        item.kill()
        item.communicate()


def read_until(process: "subprocess.Popen[str]", text: str) -> str:
    """Everything up to the line that holds `text`; a process that ends first fails the test."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return "".join(lines)
    raise AssertionError(f"it ended without {text!r}: {lines} {process.stderr}")
