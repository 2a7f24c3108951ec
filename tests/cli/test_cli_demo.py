"""`duetime demo --terminal`, as plain lines and as a screen."""

import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

SCRIPT = Path(sys.executable).with_name("duetime")
DEMO = [sys.executable, "-m", "duetime.cli", "demo", "--terminal"]
ENDED = re.compile(r"finished: (\d+) actions:  (\d+) scheduled  0 running  (\d+) succeeded ")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Temporary files go where the test can see that they are gone."""
    rest = {name: value for name, value in os.environ.items() if not name.startswith("DUETIME_")}
    return rest | {"TMPDIR": str(tmp_path), "TERM": "xterm-256color"}


def test_plain_lines_until_it_ends_by_itself(tmp_path: Path, environ: dict[str, str]) -> None:
    done = subprocess.run(
        [*DEMO, "--seconds", "6"],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "Traceback" not in done.stderr
    for seen in (
        r"send-mail +succeeded +late by [\d.,]+ ms +attempt 1  mail to grace sent",
        r"charge-card +scheduled +in .* attempt 1  will be retried: ConnectionError",
        r"track-parcel +scheduled +in .* attempt 0  snoozed",
        r"send-reminder +cancelled +attempt 0  cancelled by \w+",
        r"count-stock +succeeded +late by .* attempt 1  teapots: \d\d left",
        r"tidy-shelves +cancelled +attempt 0  skipped: occurrence \S+ is unfinished",
    ):
        assert re.search(seen, done.stdout), done.stdout
    ended = ENDED.search(done.stdout)
    assert ended is not None
    assert int(ended[3]) >= 2
    assert re.search(r"log: action \S+ \(charge-card\) failed in attempt 1", done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_a_screen_until_ctrl_c(tmp_path: Path, environ: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    demo = subprocess.Popen(
        DEMO, env=environ, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    seen = ""
    for piece in pieces(ours):
        seen += piece
        if "will be retried" in seen and "p99" in seen and "count-stock ticks in" in seen:
            demo.send_signal(signal.SIGINT)
            break
    seen += "".join(pieces(ours))
    os.close(ours)
    assert demo.wait(timeout=30) == 0
    assert "Ctrl-C ends the demo." in seen
    assert "Stopping: " in seen
    assert ENDED.search(seen)
    assert "Traceback" not in seen
    assert list(tmp_path.iterdir()) == []


def pieces(terminal: int) -> Iterator[str]:
    """What a process writes to its terminal, until it is gone."""
    with suppress(OSError):  # Linux's way to say that the other end was closed
        while data := os.read(terminal, 65_536):
            yield data.decode(errors="replace")


def play_briefly(demo: list[str], url: str, environ: dict[str, str], folder: Path) -> str:
    done = subprocess.run(
        [*demo, "--seconds", "0.2", "--url", url],
        env=environ,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("demo", "on_path", "called"),
    [
        ([str(SCRIPT), "demo", "--terminal"], True, "duetime"),
        ([str(SCRIPT), "demo", "--terminal"], False, shlex.quote(str(SCRIPT))),
        (DEMO, True, "duetime"),
        (DEMO, False, f"{shlex.quote(sys.executable)} -m duetime.cli"),
    ],
)
def test_a_store_of_ones_own_is_kept(
    tmp_path: Path, environ: dict[str, str], demo: list[str], on_path: bool, called: str
) -> None:
    """And the command that lists its actions finds the program that was called."""
    url = f"sqlite:///{tmp_path / 'mine.db'}"
    environ["PATH"] = str(SCRIPT.parent if on_path else tmp_path)
    said = play_briefly(demo, url, environ, tmp_path)
    listing = f"{called} actions list --queue duetime-demo --url {url}"
    assert said.endswith(f"the demo's actions stay in the store: {listing}\n")
    assert (tmp_path / "mine.db").exists()


def test_what_lived_in_memory_is_not_kept(tmp_path: Path, environ: dict[str, str]) -> None:
    said = play_briefly(DEMO, "memory://", environ, tmp_path)
    assert ENDED.search(said)
    assert "kept" not in said
