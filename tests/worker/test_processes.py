"""An app among processes: it exits, it survives a fork, it serves several event loops."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from api.apps import Note, with_payloads
from duetime import ANY, Duetime, State

HEAD = """
import asyncio, os, sys, threading, time
from dataclasses import dataclass
from duetime import Context, Duetime

@dataclass
class Note:
    text: str = ""

app = Duetime(sys.argv[1])

@app.handler(kind="note")
async def note(payload: Note) -> str:
    return payload.text
"""


def run(code: str, url: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", HEAD + code, url],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


EXITS = {
    "after blocking verbs": "print(app.sync.schedule(Note()).state)",
    "after awaited verbs": """
async def main():
    print((await app.schedule(Note())).state)
asyncio.run(main())
""",
    "after a worker": """
async def main():
    async with app.worker():
        action = await app.schedule(Note())
        await app.wait(action.id, timeout=30)
    print("scheduled")
asyncio.run(main())
""",
}


@pytest.mark.parametrize("code", EXITS.values(), ids=EXITS.keys())
def test_an_app_that_is_never_closed_lets_the_process_exit(
    url: str, tmp_path: Path, code: str
) -> None:
    assert run(code, url, tmp_path) == "scheduled\n"


@pytest.mark.skipif(
    (3, 12) <= sys.version_info < (3, 12, 3),
    reason="before Python 3.12.3 no thread starts after the main one (python/cpython#113964)",
)
def test_a_thread_that_outlives_the_main_one_may_use_the_app(url: str, tmp_path: Path) -> None:
    code = """
def schedule():
    threading.main_thread().join()
    print(app.sync.schedule(Note()).state)
threading.Thread(target=schedule).start()
"""
    assert run(code, url, tmp_path) == "scheduled\n"


def test_a_sync_handler_that_outlives_the_grace_lets_the_process_exit(
    durable_url: str, tmp_path: Path
) -> None:
    code = """
app = Duetime(sys.argv[1], grace=0.1)
started = threading.Event()

@app.handler(kind="note")
def forever(payload: Note):
    started.set()
    threading.Event().wait()

async def main():
    action = await app.schedule(Note())
    async with app.worker():
        await asyncio.to_thread(started.wait, 30)
    print((await app.get(action.id)).state)
asyncio.run(main())
"""
    assert run(code, durable_url, tmp_path) == "running\n"


FORK = """
first = app.sync.schedule(Note("parent"))
read, write = os.pipe()
child = os.fork()
if child == 0:
    try:
        mine = [app.sync.schedule(Note("child")).id for _ in range(50)]
        assert app.sync.get(first.id).payload.text == "parent"

        async def main():
            return (await app.schedule(Note("child"))).id
        mine.append(asyncio.run(main()))
        os.write(write, b"".join(i.bytes for i in mine))
        code = 0
    except BaseException as error:
        print("child:", repr(error), flush=True)
        code = 1
    os._exit(code)
ours = [app.sync.schedule(Note("parent")).id for _ in range(50)]
_, status = os.waitpid(child, 0)
assert status == 0, status
assert app.sync.get(first.id).payload.text == "parent"
theirs = os.read(read, 100_000)
assert len(theirs) == 51 * 16
assert len({i.bytes for i in ours} | {theirs[n:n + 16] for n in range(0, len(theirs), 16)}) == 101
cursor, seen = None, []
while True:
    page = app.sync.find(limit=200, cursor=cursor)
    seen += [a.payload.text for a in page]
    cursor = page.next_cursor
    if cursor is None:
        break
print(seen.count("parent"), seen.count("child"))
app.sync.close()
"""


def test_parent_and_child_go_on_after_a_fork(durable_url: str, tmp_path: Path) -> None:
    assert run(FORK, durable_url, tmp_path) == "51 51\n"


def test_a_child_may_run_a_worker_on_an_app_its_parent_has_used(
    durable_url: str, tmp_path: Path
) -> None:
    code = """
action = app.sync.schedule(Note("done by the child"))
child = os.fork()
if child == 0:
    async def main():
        async with app.worker():
            await app.wait(action.id, timeout=30)
    asyncio.run(main())
    os._exit(0)
_, status = os.waitpid(child, 0)
print(status, app.sync.get(action.id).result)
app.sync.close()
"""
    assert run(code, durable_url, tmp_path) == "0 done by the child\n"


def test_an_app_serves_one_event_loop_after_another(url: str) -> None:
    app = Duetime(url)

    @app.handler(kind="note")
    async def note(payload: Note) -> str:
        return payload.text

    async def use(text: str) -> object:
        async with app.worker():
            action = await app.schedule(Note(text))
            return (await app.wait(action.id, timeout=20)).result

    assert [asyncio.run(use(text)) for text in ("a", "b", "c")] == ["a", "b", "c"]
    assert len(app.sync.find()) == 3
    app.sync.close()
    assert asyncio.run(use("after close")) == "after close"
    app.sync.close()


def test_an_app_serves_two_event_loops_at_once(url: str) -> None:
    app = with_payloads(Duetime(url))

    async def use(text: str) -> None:
        for n in range(20):
            await app.schedule(Note(f"{text}{n}"))

    async def both() -> None:
        await asyncio.gather(
            use("here"), *(asyncio.to_thread(asyncio.run, use(f"thread{n}-")) for n in range(3))
        )

    asyncio.run(both())
    assert len(app.sync.find(limit=200, tenant=ANY)) == 80
    app.sync.close()


RUN = """
async def main():
    loop = asyncio.get_running_loop()
    ready = asyncio.create_task(schedule_and_wait())
    await app.run()
    await app.aclose()
    print("stopped in order", flush=True)

async def schedule_and_wait():
    action = await app.schedule(Note("hello"))
    print((await app.wait(action.id, timeout=30)).result, flush=True)
asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_run_stops_in_order_on_a_signal(
    durable_url: str, tmp_path: Path, number: signal.Signals
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HEAD + RUN, durable_url],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "hello\n"
        os.kill(process.pid, number)
        assert process.stdout.readline() == "stopped in order\n"
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_second_signal_does_not_wait_for_handlers(durable_url: str, tmp_path: Path) -> None:
    code = """
@app.handler(kind="forever")
async def forever(payload: Stuck, ctx: Context) -> None:
    print("running", flush=True)
    while not ctx.cancelled:
        await asyncio.sleep(0.01)
    print("asked to stop", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        print("interrupted", flush=True)

async def main():
    app.sync.schedule(Stuck())
    await app.run()
    print("stopped in order", flush=True)
asyncio.run(main())
"""
    stuck = "@dataclass\nclass Stuck:\n    text: str = ''\n"
    process = subprocess.Popen(
        [sys.executable, "-c", HEAD + stuck + code, durable_url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "running\n"
        os.kill(process.pid, signal.SIGTERM)
        assert process.stdout.readline() == "asked to stop\n"
        os.kill(process.pid, signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    left = "second signal: exiting now; other workers take over unfinished runs\n"
    assert (process.returncode, out, err) == (1, "", left)


async def test_blocking_verbs_work_inside_a_running_loop(app: Duetime) -> None:
    action = app.sync.schedule(Note("from within"))
    assert (await app.get(action.id)).payload == Note("from within")
    assert app.sync.cancel(action.id).state is State.cancelled
    assert [a.id for a in app.sync.find()] == [action.id]
