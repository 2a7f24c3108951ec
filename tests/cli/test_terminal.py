"""Nothing that is stored or given steers a terminal: every command, in a pty."""

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from sqlalchemy import create_engine, text

from cli.command_host import CommandHost
from duetime import Every
from duetime.cli.commands import cli
from duetime.cli.loading import load_app

# What makes a terminal do something, and rich's markup, emoji and links.
EVIL = (
    "\x1b]0;PWNED\x07\x1b]8;;http://evil.example\x07\x1b[2J\x1b[31mRED\x9b31m\x9d0;PWNED\x9c\r\n"
    "root: all is well\u202eabc\u2066\x1b]52;c;cm0gLXJm\x07[bold red]MARKUP[/] :smile: \x7f"
)
FORBIDDEN = {
    "a window title": "\x1b]0;",
    "a link": "\x1b]8;",
    "the clipboard": "\x1b]52",
    "a cleared screen": "\x1b[2J",
    "a bell": "\x07",
    "C1": "\x9b",
    "C1 OSC": "\x9d",
    "a bidi override": "\u202e",
    "a bidi isolate": "\u2066",
    "a rubout": "\x7f",
    "a forged line": "\nroot: all",
    "an overwritten line": "\rroot: all",
    "markup": "\x1b[1;31m",
    "an emoji": "\U0001f604",
}
APP = """
from dataclasses import dataclass
from datetime import datetime
from duetime import Duetime, Retry
from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from duetime.transitions import transition
import json, pathlib

EVIL = json.loads(pathlib.Path("evil.json").read_text())
app = Duetime("{url}")

@dataclass(frozen=True)
class P:
    x: str

@dataclass(frozen=True)
class Q:
    x: str

@app.handler(kind="esc", retry=Retry.none())
async def esc(p: P):
    raise type("Bad" + EVIL, (ValueError,), {{}})(p.x)

@app.handler(kind="res" + EVIL)
async def res(p: Q):
    return p.x

class Base(DeclarativeBase):
    pass

class Post(Base):
    __tablename__ = "posts"
    id: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(default="draft")
    publish_at: Mapped[datetime | None] = transition(set_field="state", to=EVIL)

engine = create_engine("{url}")
app.transitions.register(Post, engine)
"""


@dataclass(frozen=True)
class Place:
    """A store full of hostile text, the directory of its app, and its ids."""

    folder: Path
    url: str
    failed: str
    finished: str
    waiting: str
    subscription: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("terminal")
    url = f"sqlite:///{folder / 'evil.db'}"
    (folder / "evil.json").write_text(json.dumps(EVIL))
    (folder / "evilapp.py").write_text(APP.format(url=url))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", [*sys.path])
        app = load_app("evilapp:app")
        module: Any = sys.modules.pop("evilapp")
        ids = asyncio.run(_fill(app, module))
    engine = create_engine(url)
    module.Base.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO posts (id, state) VALUES (1, 'draft')"))
        due = "UPDATE posts SET publish_at = '2020-01-01 00:00:00.000000'"
        connection.execute(text(due))
    engine.dispose()
    return Place(folder, url, *ids)


async def _fill(app: Any, module: Any) -> list[str]:
    async with app:
        names = {"correlation_id": EVIL, "key": EVIL, "by": EVIL, "queue": f"q{EVIL}"}
        failed = await app.schedule(module.P(EVIL), **names)
        finished = await app.schedule(module.Q(EVIL), by=EVIL)
        await app.jobs.put(JOB, Every(hours=1), payload=module.Q(EVIL), queue=f"q{EVIL}", by=EVIL)
        await app.jobs.trigger(JOB, by=EVIL)
        await app.testing.drain()
        await app.jobs.pause(JOB, note=EVIL, by=EVIL)
        waiting = await app.schedule(module.Q(EVIL), tenant=f"t{EVIL}", delay=86400)
        await app.grants.set(EVIL, "jobs.read", EVIL, by=EVIL)
        await app.api_keys.create(EVIL, [EVIL], EVIL, by=EVIL)
        await app.schedule(module.Q(EVIL), after=waiting, on="failed", tenant=f"t{EVIL}")
        patterns = {"jobs": f"q{EVIL}", "kinds": EVIL, "tenant": EVIL}
        subscription = await app.notifications.add("*", in_app=True, by=EVIL, **patterns)
        await app.notifications.test(subscription.id, tenant=EVIL)
    return [str(each.id) for each in (failed, finished, waiting, subscription)]


@pytest.fixture(scope="module")
def host(place: Place) -> Iterator[CommandHost]:
    host = CommandHost(place.folder)
    yield host
    host.close()


def commands() -> set[str]:
    """Every command of the program, by its words."""
    root: Any = typer.main.get_command(cli)
    return set(_words(root, ()))


def _words(command: Any, path: tuple[str, ...]) -> Iterator[str]:
    members = getattr(command, "commands", None)
    if members is None:
        yield " ".join(path)
        return
    if path and command.invoke_without_command:
        yield " ".join(path)
    for name, member in members.items():
        yield from _words(member, (*path, name))


JOB = "evil-job"
PUT = ["* * * * *", "--kind", f"res{EVIL}", "--payload", json.dumps({"x": EVIL})]
# What is typed after each command; {names} are those of the place.
CALLS: dict[str, list[list[str]]] = {
    "demo": [["--url", f"sqlite:///{EVIL}", "--seconds", "0"]],
    "worker": [["evilapp:app", "--queue", f"q{EVIL}"], [f"no{EVIL}:app"], ["evilapp:app", EVIL]],
    "actions find": [["{url}", "--search", EVIL], ["{url}", "--sort", EVIL], ["{url}", "-q", EVIL]],
    "actions groups": [
        ["{url}", "--any-tenant"],
        ["{url}", "--by", EVIL],
        ["{url}", "--by", "kind"],
    ],
    "actions list": [
        ["{url}", "--any-tenant"],
        ["{app}", "--any-tenant"],
        ["{url}", "--any-tenant", "--json"],
        ["{url}", "--kind", EVIL, "--queue", EVIL, "--key", EVIL, "--cursor", EVIL],
        ["{url}", "--state", EVIL],
        ["{url}", "--tenant", EVIL],
    ],
    "actions show": [
        ["{failed}", "{url}"],
        ["{finished}", "{app}"],
        ["{finished}", "{url}", "--json"],
        ["{waiting}", "{url}", "--any-tenant"],
        [EVIL, "{url}"],
    ],
    "actions schedule": [
        [f"res{EVIL}", json.dumps({"x": EVIL}), "{app}", "--key", EVIL, "--queue", EVIL],
        [EVIL, "{}", "{app}"],
        [EVIL, "{}"],
        [f"res{EVIL}", EVIL, "{app}", "--delay", EVIL],
        [f"res{EVIL}", EVIL, "{app}"],
    ],
    "actions cancel": [["{failed}" + EVIL, "{url}"], ["{failed}", "{url}"], [EVIL, EVIL, "{url}"]],
    "actions reschedule": [
        ["{waiting}", "{url}", "--delay", "1h", "--any-tenant", "--by", EVIL],
        ["{waiting}", "{url}", "--at", EVIL],
    ],
    "actions retry": [["{failed}", "{app}", "--by", EVIL], ["{finished}", "{url}"]],
    "actions why": [["{waiting}", "{url}", "--any-tenant"], [EVIL, "{url}"], ["{failed}", "{url}"]],
    "actions bulk": [
        ["cancel", "{url}", "--any-tenant", "--queue", f"q{EVIL}", "--yes", "--by", EVIL],
        ["shift", "{url}", "--any-tenant", "--shift", "1h", "--dry-run", "--key", EVIL],
        ["shift", "{app}", "--any-tenant", "--shift", "1h", "--dry-run", "--search", "{waiting}"],
        ["shift", "{url}", "--shift", EVIL],
        ["cancel", "{url}", "--cursor", EVIL],
        [EVIL, "{url}"],
    ],
    "actions repeat": [
        ["{finished}", "{app}", "--delay", "1h", "--by", EVIL, "--note", EVIL],
        ["{finished}", "{app}", "--payload", EVIL],
        [EVIL, "{url}"],
    ],
    "jobs bulk": [["pause", JOB, EVIL, "{url}", "--note", EVIL], ["resume", JOB, "{url}"], [EVIL]],
    "jobs list": [["{url}"], ["{app}", "--any-tenant"], ["{url}", "--json"], [f"--{EVIL}"]],
    "jobs show": [[JOB, "{url}"], [JOB, "{app}", "--json"], [EVIL, "{url}"]],
    "jobs runs": [[JOB, "{url}"], [JOB, "{url}", "--json"], [EVIL, "{url}"]],
    "jobs preview": [[JOB, "{url}"], [JOB, "{url}", "--json"]],
    "jobs put": [
        ["put-job", *PUT, "{app}", "--queue", EVIL],
        [f"put{EVIL}", *PUT, "{app}"],
        ["put-job", *PUT],
        ["put-job", EVIL, "--kind", EVIL, "{app}"],
        ["put-job", *PUT, "{app}", "--tz", EVIL],
    ],
    "jobs pause": [[JOB, "{url}", "--note", EVIL, "--by", EVIL], [JOB, "{url}", "--until", EVIL]],
    "jobs resume": [[JOB, "{url}"]],
    "jobs trigger": [[JOB, "{url}"]],
    "jobs remove": [[JOB, "{url}"]],
    "jobs restore": [[JOB, "{url}"]],
    "jobs backfill": [[JOB, "2026-01-01T00:00Z", "2026-01-01T02:00Z", "{url}"], [JOB, EVIL, EVIL]],
    "transitions list": [["{app}"], ["{app}", "--json"]],
    "transitions pending": [["{app}"], ["{app}", "--json"]],
    "transitions sweep": [["{app}"], ["--app", f"evilapp:{EVIL}"]],
    "transitions parked": [["{app}"], ["{app}", "--json"], [EVIL, "{app}"]],
    "transitions retry": [["{app}", "--note", EVIL], [EVIL, EVIL, "{app}"]],
    "transitions report": [["{app}"], ["{app}", "--json"], ["--app", f"evilapp:{EVIL}"]],
    "queues pause": [
        [f"q{EVIL}", "{url}", "--note", EVIL, "--by", EVIL],
        ["mail", "{url}", "--note", EVIL],
        ["mail", "{url}", "--until", EVIL],
    ],
    "queues list": [["{url}"], ["{url}", "--json"], [EVIL]],
    "queues resume": [[f"q{EVIL}", "{url}"], ["mail", "{url}", "--by", EVIL]],
    "workers": [
        ["{url}"],
        ["{url}", "--json"],
        [EVIL],
        ["--server", EVIL],
        ["--server", f"https://host/{EVIL}?x"],
        ["--server", "https://host", "--token", EVIL],
        ["--server", "https://host", "--token-file", EVIL],
    ],
    "timeline": [["{url}", "--any-tenant"], ["{url}", "--json"], ["{url}", "--since", EVIL]],
    "serve": [[f"no{EVIL}:app"], [f"evilapp:{EVIL}"], ["evilapp:app", EVIL]],
    "cron": [[EVIL], ["0 2 * * *", "--tz", EVIL], ["0 2 * * *", "--after", EVIL]],
    "notifications list": [
        ["{url}"],
        ["{url}", "--any-tenant", "--json"],
        ["{url}", "--reader", EVIL],
        ["{url}", "--cursor", EVIL],
    ],
    "notifications read": [["{url}"], [EVIL, "{url}"], ["{url}", "--tenant", EVIL]],
    "notifications subscriptions": [["{url}", "--any-tenant"], ["{url}", "--any-tenant", "--json"]],
    "notifications subscribe": [
        ["*", "--in-app", "--job", f"q{EVIL}", "--by", EVIL, "--note", EVIL, "{url}"],
        ["*", "--in-app", "--tenant", EVIL, "{url}", "--json"],
        [EVIL, "--in-app", "{url}"],
        ["*", "--email", EVIL, "{url}"],
        ["*", "--webhook", f"https://{EVIL}", "{url}"],
        ["*", "--via", EVIL, "--to", EVIL, "{url}"],
        ["*", "--in-app", "--zone", EVIL, "{url}"],
    ],
    "notifications change": [
        ["{subscription}", "--queue", f"q{EVIL}", "--any-tenant", "--by", EVIL, "{url}"],
        [EVIL, "{url}"],
        ["{subscription}", "--quiet", EVIL, "--any-tenant", "{url}"],
    ],
    "notifications mute": [
        ["{subscription}", "--until", "2h", "--any-tenant", "--note", EVIL, "{url}"],
        ["{subscription}", "--until", EVIL, "{url}"],
        [EVIL, "--off", "{url}"],
    ],
    "notifications test": [["{subscription}", "--any-tenant", "{url}"], [EVIL, "{url}"]],
    "notifications remove": [["{subscription}", "--any-tenant", "{url}"], [EVIL, "{url}"]],
    "notifications translate": [[EVIL, "texts"], ["de", f"no{EVIL}"], ["de", EVIL, "--json"]],
    "migrate": [
        ["{url}", "--check"],
        ["--url", f"sqlite:///no{EVIL}", "--check"],
        ["--url", EVIL],
        ["--url", f"postgresql://u@127.0.0.1:1/{EVIL}", "--check"],
        ["{url}", "--prefix", EVIL],
    ],
    "doctor": [["{url}"], ["evilapp:app"], ["{url}", "--json"], [f"no{EVIL}"], ["--url", EVIL]],
    "stats": [["{url}"], ["{app}", "--any-tenant"], ["{url}", "--json"], ["--tenant", EVIL]],
    "audit": [["{url}"], ["{url}", "--json"], ["{url}", EVIL], ["--verb", EVIL, "--since", EVIL]],
    "audit export": [["{url}"], ["{url}", "--verb", EVIL], ["{url}", "--since", EVIL]],
    "erase": [
        ["{url}", "--correlation", EVIL, "--yes", "--by", EVIL],
        ["{url}", "--tenant", EVIL, "--yes"],
        ["{url}", "--cursor", EVIL],
        [EVIL],
    ],
    "keys create": [
        [EVIL, "--role", EVIL, "--by", EVIL, "{url}"],
        ["k", "--role", "a", "--expires", EVIL, "{url}"],
    ],
    "keys list": [["{url}"], ["{url}", "--json"], ["{url}", "--tenant", EVIL]],
    "keys revoke": [[EVIL, "{url}"]],
    "grants set": [[EVIL, "jobs.read", "{url}", "--tenant", EVIL], ["r", EVIL, "{url}"]],
    "grants list": [["{url}"], ["{url}", "--json"], ["{url}", "--role", EVIL]],
    "grants remove": [[EVIL, "{url}"]],
    "alive": [[f"no{EVIL}"], ["evil.json", "--max-age", EVIL], ["evil.json", "--max-age", "1d"]],
    "bench": [["--only", EVIL], ["--url", f"sqlite:///no/{EVIL}/x.db", "--count", "1"]],
}


def test_every_command_is_tried() -> None:
    assert commands() == set(CALLS)


def test_the_attack_would_succeed(place: Place) -> None:
    """The terminal of this test is one: what a program prints raw is found."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", f"print({EVIL!r})"]
    with subprocess.Popen(command, cwd=place.folder, stdin=theirs, stdout=theirs) as process:
        os.close(theirs)
        shown = _read(ours, process.pid)
    assert {name for name, raw in FORBIDDEN.items() if raw in shown} >= {
        "a window title",
        "a cleared screen",
        "C1",
        "a bidi override",
    }
    assert "\r\nroot: all" in shown


@pytest.mark.parametrize("command", sorted(CALLS))
def test_no_text_steers_the_terminal(command: str, place: Place, host: CommandHost) -> None:
    for call in CALLS[command]:
        shown = _shown(host, [*command.split(), *_typed(call, place)])
        assert shown
        assert {name for name, raw in FORBIDDEN.items() if raw in shown} == set(), (call, shown)


def test_no_text_steers_the_terminal_through_a_narrow_window(
    place: Place, host: CommandHost
) -> None:
    for call in ("actions list --any-tenant", "jobs list"):
        shown = _shown(host, [*call.split(), "--url", place.url], columns=80)
        assert {name for name, raw in FORBIDDEN.items() if raw in shown} == set(), shown


def test_json_means_what_is_stored(place: Place) -> None:
    command = [sys.executable, "-m", "duetime.cli", "actions", "show", place.finished]
    command += ["--url", place.url, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=place.folder)
    assert json.loads(done.stdout)["result"] == EVIL


# Enough for the log of a worker that runs what is due.
PATIENCE_SECONDS = 60.0


def _typed(call: list[str], place: Place) -> list[str]:
    names = ("failed", "finished", "waiting", "subscription")
    ids = {f"{{{name}}}": getattr(place, name) for name in names}
    words: list[str] = []
    for word in call:
        if word in ("{url}", "{app}"):
            words += ["--url", place.url] if word == "{url}" else ["--app", "evilapp:app"]
        else:
            for name, value in ids.items():
                word = word.replace(name, value)
            words.append(word)
    return words


def _shown(host: CommandHost, arguments: list[str], columns: int = 150) -> str:
    """What a command writes to its terminal, both streams. A worker is stopped once it runs."""
    ours, theirs = pty.openpty()
    process = host.start(theirs, arguments, TERM="xterm-256color", COLUMNS=str(columns))
    os.close(theirs)
    shown = _read(ours, process)
    host.wait()
    return shown


def _read(ours: int, process: int) -> str:
    giving_up = threading.Timer(PATIENCE_SECONDS, os.kill, [process, signal.SIGKILL])
    giving_up.start()
    shown = b""
    with suppress(OSError):  # Linux's way to say that the other end was closed
        while piece := os.read(ours, 65536):
            shown += piece
            if b"started\r\n" in shown and b" worker " in shown:
                os.kill(process, signal.SIGTERM)
    os.close(ours)
    giving_up.cancel()
    return shown.decode()
