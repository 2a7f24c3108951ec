"""`duetime worker`: as a process, because signals and exit codes are what it is about."""

import json
import logging
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer

from duetime import Duetime
from duetime.cli.worker import parse_queues, start_line, warnings
from duetime.logs import JsonFormatter

from .conftest import Duetimes, Start, read_until

LOOKS = """
import gc
from dataclasses import dataclass
from duetime import Duetime

app = Duetime("{url}")

@dataclass(frozen=True)
class Look:
    pass

@app.handler(kind="look")
async def look(payload: Look) -> None:
    from duetime.worker.worker import Worker

    young = any(item is Worker for item in gc.get_objects())
    print("saw it", "among garbage" if young else "set aside", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_running_handler_finish(
    duetime: Duetimes, shop: str, url: str, start: Start, number: signal.Signals
) -> None:
    made = json.loads(
        duetime.ok("actions", "schedule", "watch", '{"name": "x"}', "--app", shop, "--json")
    )
    worker = start("worker", shop)
    said = read_until(worker, "watching x")
    worker.send_signal(number)
    _, err = worker.communicate(timeout=30)
    assert worker.returncode == 0
    assert "1 running, with" in err
    assert said.startswith(f"duetime worker on {url}: all queues (100 slots); kinds: mail, watch\n")
    assert "duetime.worker: worker " in err
    assert "stopped" in err
    assert "Traceback" not in err
    shown = json.loads(duetime.ok("actions", "show", made["id"], "--url", url, "--json"))
    assert (shown["state"], shown["result"]) == ("succeeded", "stopped in order")


def test_only_the_queues_named_are_served(
    duetime: Duetimes, shop: str, url: str, start: Start
) -> None:
    for kind, payload in (("mail", '{"to": "ada"}'), ("watch", '{"name": "x"}')):
        duetime.ok("actions", "schedule", kind, payload, "--app", shop)
    worker = start("worker", shop, "--queue", "slow", "--concurrency", "3", "--log-level", "error")
    assert "queues slow only (3 slots)" in read_until(worker, "watching x")
    worker.terminate()
    _, err = worker.communicate(timeout=30)
    assert (worker.returncode, err) == (0, "")
    listed = json.loads(duetime.ok("actions", "list", "--url", url, "--json"))["items"]
    assert {item["kind"]: item["state"] for item in listed} == {
        "mail": "scheduled",
        "watch": "succeeded",
    }


@pytest.mark.parametrize("processes", ["1", "2"])
def test_the_worker_itself_is_not_looked_through_for_garbage(
    duetime: Duetimes, url: str, tmp_path: Path, start: Start, processes: str
) -> None:
    (tmp_path / "looks.py").write_text(LOOKS.format(url=url))
    duetime.ok("actions", "schedule", "look", "{}", "--app", "looks:app")
    worker = start("worker", "looks:app", "--processes", processes)
    assert read_until(worker, "saw it").endswith("saw it set aside\n")
    worker.terminate()
    worker.communicate(timeout=30)
    assert worker.returncode == 0


def test_what_is_hardly_meant_is_said(tmp_path: Path, start: Start) -> None:
    text = "from duetime import Duetime\napp = Duetime('memory://')\n"
    (tmp_path / "idle.py").write_text(text)
    worker = start("worker", "idle:app")
    assert worker.stderr is not None
    seen = []
    for line in worker.stderr:
        seen.append(line)
        if "started" in line:
            break
    worker.terminate()
    worker.communicate(timeout=30)
    assert worker.returncode == 0
    assert "warning: this app declares no handlers" in seen[0]
    assert "warning: memory:// is visible to this process only" in seen[1]


def test_queues_as_typed() -> None:
    assert parse_queues([]) is None
    assert parse_queues(["a", "b"]) == ["a", "b"]
    assert parse_queues(["a=5", "b=1"]) == {"a": 5, "b": 1}
    for wrong in (["a", "b=1"], ["a=x"], ["a=0"], ["a="]):
        with pytest.raises(typer.BadParameter):
            parse_queues(wrong)


def test_the_start_line_hides_the_password() -> None:
    app = Duetime("postgresql://me:secret@db.example/shop")
    line = start_line(app, 7, {"billing": 2})
    wanted = "duetime worker on postgresql://me:***@db.example/shop: "
    assert line == f"{wanted}queues billing (2), all others (7 slots); kinds: none"


def test_the_log_as_json(duetime: Duetimes, shop: str, start: Start) -> None:
    duetime.ok(
        "actions", "schedule", "mail", '{"to": "nobody"}', "--app", shop, "--tenant", "a\x1b"
    )
    for processes in ("1", "2"):
        worker = start(
            "worker", shop, "--log-format", "json", "--processes", processes, together=True
        )
        lines = read_until(worker, "failed" if processes == "1" else " started").splitlines()
        worker.terminate()
        said, _ = worker.communicate(timeout=30)
        documents = [json.loads(line) for line in [*lines, *said.splitlines()]]
        assert all(document["logger"].startswith("duetime.") for document in documents)
        assert {document["level"] for document in documents} >= {"info"}
        if processes == "1":
            failure = next(document for document in documents if "traceback" in document)
            assert failure["kind"] == "mail"
            assert failure["attempt"] == 1
            assert failure["tenant"] == "a\\x1b"
            assert "ValueError: no such person" in failure["traceback"]
            assert datetime.fromisoformat(failure["time"]).tzinfo is UTC


def test_a_record_of_any_logger_is_one_json_document() -> None:
    log = logging.getLogger("theirs")
    record = log.makeRecord(
        log.name, logging.WARNING, "f", 1, "odd \x9b %s", ("\n",), None, extra={"x": {1, 2}}
    )
    text = JsonFormatter().format(record)
    assert "\n" not in text
    assert "\x9b" not in text
    document = json.loads(text)
    assert document["message"] == "odd \x9b \n"
    assert document["x"] == "{1, 2}"
    assert set(document) == {"time", "level", "logger", "message", "x"}


def test_a_queue_that_no_handler_declares_is_pointed_out(app: Any) -> None:
    assert warnings(app, ["slow"]) == []
    [warning] = warnings(app, {"slwo": 3, "default": 1})
    assert "no handler declares the queue 'slwo' (did you mean 'slow'?)" in warning
