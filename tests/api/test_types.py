"""What a type checker says of users' code."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

GOOD = """
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, assert_type

from duetime import (ANY, Action, ActionCancelled, Context, Depends, Duetime, Page, Retry, Run,
                     current_tenant)

app = Duetime("memory://")

@dataclass
class Note:
    text: str

def make() -> int:
    return 1

@app.handler(kind="note", retry=Retry(attempts=5), timeout=timedelta(seconds=5))
async def note(payload: Note, ctx: Context, n: Annotated[int, Depends(make)]) -> str:
    await ctx.progress(1)
    return payload.text

@app.handler(kind="note")
def plain(payload: Note) -> int:
    return 1

def told(event: ActionCancelled) -> None:
    assert_type(event.by, str)

app.on(ActionCancelled, told)

async def main(when: datetime) -> None:
    assert_type(await app.schedule(Note(""), at=when, key="k", if_exists="raise"), Action)
    action = await app.schedule(Note(""), delay=timedelta(1), priority="high", tenant="t", by="b")
    assert_type(await app.schedule_many([(Note(""), when), app.request(Note(""), delay=1)]),
                list[Action])
    assert_type(await app.cancel(action.id, by="x", running=True), Action)
    assert_type(await app.reschedule(action.id, delay=5), Action)
    assert_type(await app.retry(action.id), Action)
    assert_type(await app.cancel_many(kind="note"), int)
    assert_type(await app.retry_many(correlation_id="x"), int)
    assert_type(await app.get(action.id, tenant=ANY), Action)
    assert_type(await app.find(state="failed"), Page[Action])
    assert_type(await app.runs(action.id), list[Run])
    assert_type(await app.wait(action.id, timeout=timedelta(seconds=5)), Action)
    assert_type(app.sync.schedule(Note("")), Action)
    assert_type(app.sync.find(), Page[Action])
    assert_type(app.sync.runs(action.id), list[Run])
    assert_type(app.sync.cancel_many(kind="note"), int)
    for found in await app.find():
        assert_type(found, Action)
    assert_type(await note(Note(""), Context(action_id=action.id), 1), str)
    assert_type(plain(Note("")), int)
    assert_type(current_tenant(), str | None)
    async with app, app.worker(concurrency=3, queues={"a": 1}):
        pass
"""

BAD = """
from dataclasses import dataclass
from duetime import ActionCancelled, ActionFailed, Duetime, Retry

app = Duetime("memory://")

@dataclass
class Note:
    text: str

def told(event: ActionFailed) -> None: ...

async def main() -> None:
    await app.schedule(Note(""), at="tomorrow")  # 1
    await app.schedule(Note(""), if_exists="ignore")  # 2
    await app.schedule(Note(""), wehn=5)  # 3
    await app.reschedule("x", delay="5")  # 4
    app.sync.find(limit="5")  # 5
    app.on(ActionCancelled, told)  # 6
    app.handler(kind="x", retry=3)  # 7
    (await app.schedule(Note(""))).idd  # 8
"""


def mypy(tmp_path: Path, code: str) -> str:
    file = tmp_path / "users_code.py"
    file.write_text(code)
    command = ["mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [sys.executable, "-m", *command, "--config-file", "", str(file)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT / "src"), "PATH": ""},
        timeout=300,
    )
    return done.stdout + done.stderr


def test_what_users_write_is_understood_and_what_is_wrong_is_found(tmp_path: Path) -> None:
    assert mypy(tmp_path, GOOD) == ""
    found = mypy(tmp_path, BAD)
    lines = BAD.splitlines()
    for number in range(1, 9):
        line = next(n for n, text in enumerate(lines, 1) if text.endswith(f"# {number}"))
        assert f"users_code.py:{line}: error" in found, (number, found)
