"""`duetime demo` with its dashboard: what is there to see, who is let in, and how it ends."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest

from cli.test_cli_demo import pieces
from duetime import Duetime
from duetime.admin.pages.router import places
from duetime.cli.demo_past import live_past_day
from duetime.model.clock import SystemClock
from duetime.model.state import FINISHED, State
from duetime.model.tenant import ANY
from pages.browser import Browser

LINK = re.compile(r"(http://127\.0\.0\.1:(\d+))(/sign-in\?link=dtl_\w[\w-]*)")
DEMO = [sys.executable, "-m", "duetime.cli", "demo"]
# With an interactive terminal, a browser would be opened otherwise.
NO_BROWSER = {"CI": "1"}
SECONDS_TO_STOP = 2
Start = Callable[..., tuple[subprocess.Popen[str], str, str]]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    rest = {name: value for name, value in os.environ.items() if not name.startswith("DUETIME_")}
    (tmp_path / "temporary").mkdir()
    return rest | {"TMPDIR": str(tmp_path / "temporary"), **NO_BROWSER}


@pytest.fixture
def start(tmp_path: Path, environ: dict[str, str]) -> Iterator[Start]:
    """Starts the demo; returns its process, its address and the path of its link."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> tuple[subprocess.Popen[str], str, str]:
        process = subprocess.Popen(
            [*DEMO, *arguments],
            cwd=tmp_path,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if found := LINK.search(line):
                return process, found[1], found[3]
        raise AssertionError(f"ended with {process.wait()}: {said}")

    yield start
    for process in started:
        process.kill()
        process.communicate()


@asynccontextmanager
async def signed_in(address: str, path: str) -> AsyncIterator[Browser]:
    async with Browser(None, address) as browser:
        page = await browser.open(path)
        assert (await browser.send(page.form("Sign in"))).reader is not None
        yield browser


class TestTheWorld:
    async def test_every_page_has_something_to_see(self, start: Start, tmp_path: Path) -> None:
        process, address, path = start()
        # On a machine that does other work, all takes longer.
        busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        async with signed_in(address, path) as browser:
            for place in places():
                assert (await browser.open(place.path)).response.status_code == 200
            now = await browser.open("/")
            failing = [text for text in now.texts["p"] if "“sync-prices” failed" in text]
            assert re.search(r"failed (\d{2,}) times in a row", failing[0])
            assert "“print-label”" in now.response.text
            queues = (await browser.open("/queues")).response.text
            assert "the provider is down" in queues
            for query in ("state=failed", "tenant=acme", "tenant=globex", "kind=send-newsletter"):
                listed = await browser.open(f"/actions?{query}")
                assert listed.response.text.count("<tr data-row") >= 3, query
            errors = (await browser.open("/actions?group=error")).response.text
            assert "ValueError: invoice * has no address" in errors
            # An hour ago, and tomorrow.
            timeline = (await browser.open("/timeline")).response.text
            assert timeline.count("<tr") > 20
            # A browser keeps the connection open.
            assert self.seconds_to_stop(process) < SECONDS_TO_STOP * busy
        assert process.returncode == 0
        assert [*(tmp_path / "temporary").iterdir()] == []

    def seconds_to_stop(self, process: subprocess.Popen[str]) -> float:
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=30)
        assert said.endswith(
            "Stopping: nothing new is scheduled, and running actions may finish.\nfinished\n"
        )
        return time.monotonic() - begun

    async def test_a_store_of_ones_own_gets_no_past_and_nothing_is_left_to_run(
        self, start: Start, tmp_path: Path
    ) -> None:
        url = f"sqlite:///{tmp_path / 'mine.db'}"
        app = Duetime(url)
        async with app:
            begun = (await app.stats()).at
        process, _, _ = start("--url", url)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=30)
        assert process.returncode == 0
        assert f"--url {url}" in said
        async with app:
            first = await app.find(sort="-created_at", limit=1, tenant=ANY)
            assert first.items[0].created_at >= begun
            assert [*await app.find(state=State.scheduled, tenant=ANY)] == []
            assert [*await app.jobs.list(tenant=ANY)] == []
            assert [queue for queue in await app.queues.list() if queue.paused_at] == []
            assert [*await app.grants.list()] == []


class TestThePast:
    async def test_it_is_a_day_long_and_over(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path / 'past.db'}"
        begun = SystemClock().now()
        await live_past_day(url)
        async with Duetime(url) as app:
            finished = await app.find(state=[*FINISHED], sort="finished_at", limit=200, tenant=ANY)
            ends = [action.finished_at for action in finished]
            assert begun - timedelta(hours=25) < (ends[0] or begun) < begun - timedelta(hours=23)
            # Neither ran nor was written in what is the future for the store.
            assert not len(await app.find(state=[*FINISHED], finished_from=begun, tenant=ANY))
            assert not len(await app.find(created_from=begun, tenant=ANY))
            assert max(entry.at for entry in await app.audit.find(tenant=ANY)) < begun
            assert not len(await app.find(overdue=True, tenant=ANY))
            figures = await app.series("executed", since=begun - timedelta(hours=24), step=3600)
            late = await app.series("lateness_p99", since=begun - timedelta(hours=24), step=3600)
        values = [point.value for line in figures for point in line.points]
        assert len([value for value in values if value]) >= 23
        assert max(point.value or 0 for line in late for point in line.points) < 1


class TestItsOptions:
    def test_it_ends_by_itself_on_a_port_of_ones_choice(
        self, tmp_path: Path, environ: dict[str, str], free_tcp_port: int
    ) -> None:
        arguments = ["--seconds", "0.2", "--port", str(free_tcp_port)]
        done = run(environ, tmp_path, *arguments)
        assert done.returncode == 0
        found = LINK.search(done.stdout)
        assert found is not None
        assert int(found[2]) == free_tcp_port
        assert done.stderr == ""

    def test_a_port_in_use_is_named(
        self, start: Start, tmp_path: Path, environ: dict[str, str]
    ) -> None:
        _, address, _ = start()
        port = address.rpartition(":")[2]
        done = run(environ, tmp_path, "--port", port, "--url", "memory://")
        assert done.returncode == 1
        assert f"cannot listen on port {port}: give another" in done.stderr

    def test_without_the_web_extra_it_says_so_and_goes_on_in_the_terminal(
        self, tmp_path: Path, environ: dict[str, str]
    ) -> None:
        code = (
            "import sys; sys.modules['uvicorn'] = None; sys.argv[0] = 'duetime'\n"
            "from duetime.cli.main import main; sys.exit(main())"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, "demo", "--seconds", "0.5"],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert "THE DASHBOARD IS MISSING: it needs uvicorn, of the extra `server`:" in done.stderr
        assert "pip install 'duetime[server]'" in done.stderr
        assert re.search(r"finished: \d+ actions:", done.stdout)


class TestOpeningABrowser:
    @pytest.mark.parametrize(
        ("variables", "opens"),
        [
            ({"DISPLAY": ":7"}, True),
            ({}, False),
            ({"DISPLAY": ":7", "CI": "true"}, False),
            ({"DISPLAY": ":7", "PYTEST_CURRENT_TEST": "this one"}, False),
        ],
    )
    def test_where_somebody_looks(
        self, tmp_path: Path, environ: dict[str, str], variables: dict[str, str], opens: bool
    ) -> None:
        """A terminal and a display, and neither a test nor a build server."""
        opened = tmp_path / "opened"
        browser = tmp_path / "browser"
        browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
        browser.chmod(0o755)
        for name in ("CI", "DISPLAY", "WAYLAND_DISPLAY", "PYTEST_CURRENT_TEST"):
            environ.pop(name, None)
        environ |= {"BROWSER": f"{browser} %s &", **variables}
        said = in_a_terminal([*DEMO, "--seconds", "2", "--url", "memory://"], environ, tmp_path)
        found = LINK.search(said)
        assert found is not None
        assert opened.exists() == opens
        if opens:
            assert opened.read_text().strip() == found[0]


def run(environ: dict[str, str], folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*DEMO, *arguments],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
    )


def in_a_terminal(command: list[str], environ: dict[str, str], folder: Path) -> str:
    """Run a command in a terminal until it ends; return what it writes."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, env=environ, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    said = "".join(pieces(ours))
    os.close(ours)
    with suppress(ProcessLookupError):
        assert process.wait(timeout=30) == 0
    return said
