"""A client that a public generator makes from the committed OpenAPI document, at work."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from duetime import Duetime
from environments import install
from run_page import ROOT

GENERATOR = "openapi-python-client==0.29.1"
APP = """
from dataclasses import dataclass
from duetime import Duetime

app = Duetime("sqlite:///served.db")

@dataclass(frozen=True)
class Note:
    text: str

@app.handler(kind="note")
async def note(payload: Note) -> str:
    return payload.text.upper()
"""
LISTENING = re.compile(r"running on (http://[\d.]+:\d+)")
JOURNEY = """
import sys
from uuid import UUID

from generated import AuthenticatedClient
from generated.api.duetime import (
    bulk_actions, cancel_action, find_actions, find_audit, get_action, get_job, get_kinds, me,
    pause_job, put_job, schedule_action, schedule_many_actions, trigger_job,
)
from generated.models import (
    BulkBody, BulkBodyVerb, BulkFilter, FindActionsStateType0Item, JobBody, NewActionBody,
    PauseBody, Problem, ScheduleBody, ScheduleManyBody,
)

url, key = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=key)
assert me.sync(client=client).administrator
[kind] = get_kinds.sync(client=client).items
assert kind.kind == "note"

body = ScheduleBody(kind="note", payload={"text": "hello"}, correlation_id="order-42")
made = schedule_action.sync(client=client, body=body)
done = get_action.sync(made.id, client=client, wait=30)
assert (str(done.state), done.result) == ("succeeded", "HELLO"), done
assert done.correlation_id == "order-42"
assert done.created_at.tzinfo is not None

later = ScheduleBody(kind="note", payload={"text": "x"}, delay=3600, key="k")
first = schedule_action.sync_detailed(client=client, body=later)
second = schedule_action.sync_detailed(client=client, body=later)
assert (first.status_code, second.status_code) == (201, 200)
assert first.headers["location"] == second.headers["location"]
assert cancel_action.sync_detailed(first.parsed.id, client=client, note="no").status_code == 204
again = cancel_action.sync(first.parsed.id, client=client)
assert isinstance(again, Problem)
assert (again.type_, again.state) == ("urn:duetime:illegal-state", "cancelled")

many = [NewActionBody(kind="note", payload={"text": str(n)}, delay=3600) for n in range(3)]
schedule_many_actions.sync(client=client, body=ScheduleManyBody(actions=many))
scheduled = [FindActionsStateType0Item.SCHEDULED]
page = find_actions.sync(client=client, state=scheduled, limit=2)
rest = find_actions.sync(client=client, state=scheduled, limit=2, cursor=page.next_cursor)
assert (len(page.items), len(rest.items), rest.next_cursor) == (2, 1, None)
bulk = BulkBody(verb=BulkBodyVerb.CANCEL, filter_=BulkFilter(kind=["note"]), note="over")
assert bulk_actions.sync(client=client, body=bulk).changed == 3

job = JobBody(kind="note", payload={"text": "x"}, recurrence="0 6 * * *")
put = put_job.sync_detailed("shop-daily", client=client, body=job)
assert put.status_code == 201
missing = put_job.sync("shop-daily", client=client, body=job)
assert missing.type_ == "urn:duetime:precondition-required"
edited = put_job.sync("shop-daily", client=client, body=job, if_match=put.headers["etag"])
assert edited.name == "shop-daily"
paused = pause_job.sync_detailed("shop-daily", client=client, body=PauseBody(note="x"))
assert paused.status_code == 204
assert get_job.sync("shop-daily", client=client).paused_by == edited.created_by
assert trigger_job.sync("shop-daily", client=client).job == "shop-daily"
verbs = [entry.verb for entry in find_audit.sync(client=client, subject="shop-daily").items]
assert verbs == ["trigger", "pause", "put"], verbs
print("arrived")
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of `duetime serve`, and the key of an administrator."""
    (tmp_path / "shop.py").write_text(APP)
    app = Duetime(f"sqlite:///{tmp_path / 'served.db'}")
    key = app.sync.api_keys.create("journey", ["root"]).key
    app.sync.close()
    command = [sys.executable, "-m", "duetime.cli", "serve", "shop:app", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--admin-role", "root"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert process.stderr is not None
    addresses = (LISTENING.search(line) for line in process.stderr)
    yield next(found[1] for found in addresses if found), key
    process.terminate()
    process.communicate(timeout=60)


@pytest.mark.soak
def test_a_generated_client_makes_a_journey(tmp_path: Path, served: tuple[str, str]) -> None:
    python = install(tmp_path / "venv", GENERATOR)
    document = ROOT / "docs" / "reference" / "openapi.json"
    generator = str(Path(python).with_name("openapi-python-client"))
    words = ["generate", "--path", str(document), "--meta", "none", "--output-path", "generated"]
    made = subprocess.run([generator, *words], cwd=tmp_path, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    # Exports are lines of JSON, which it has no type for; everything else it understands.
    warned = re.findall(r"WARNING parsing (\S+ \S+) within", made.stdout)
    assert set(warned) <= {"GET /api/actions/export", "GET /api/audit/export"}
    (tmp_path / "journey.py").write_text(JOURNEY)
    done = subprocess.run(
        [python, "journey.py", *served], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout == "arrived\n", done.stdout + done.stderr
