"""Traces in log records, on the page of an action, and what `doctor` says of the SDK."""

import json
import logging

import pytest

from admin.client import admin_of, client_of
from api.apps import Note
from duetime import Duetime
from duetime.errors import ConfigError
from duetime.logs import JsonFormatter, RunFilter, get_log
from duetime.telemetry.diagnosis import describe_telemetry
from telemetry.exporters import Spans, context_of, links_of


class Lines(logging.Handler):
    """Keeps the records as `duetime worker --log-format json` writes them."""

    def __init__(self) -> None:
        super().__init__()
        self.addFilter(RunFilter())
        self.setFormatter(JsonFormatter())
        self.documents: list[dict[str, object]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.documents.append(json.loads(self.format(record)))


async def test_log_records_of_a_run_name_it_and_its_trace(url: str, spans: Spans) -> None:
    lines, root = Lines(), list(logging.getLogger().handlers)
    shop = logging.getLogger("shop")
    shop.addHandler(lines)
    logging.getLogger("duetime.test").addHandler(lines)
    async with Duetime(url) as app:

        @app.handler(kind="note")
        async def note(payload: Note) -> None:
            shop.warning("packed")
            get_log("duetime.test").warning("packed")

        action = await app.schedule(Note(), tenant="acme", correlation_id="order:7")
        await app.testing.drain()
        shop.warning("outside")
    trace_id, span_id = context_of(spans.only("duetime.execute"))
    inside = {
        "action_id": str(action.id),
        "kind": "note",
        "attempt": 1,
        "tenant": "acme",
        "correlation_id": "order:7",
        "trace_id": f"{trace_id:032x}",
        "span_id": f"{span_id:016x}",
    }
    names = ("time", "level", "logger", "message")
    fields = [{k: v for k, v in line.items() if k not in names} for line in lines.documents]
    assert fields == [inside, inside, {}]
    assert logging.getLogger().handlers == root
    shop.removeHandler(lines)
    logging.getLogger("duetime.test").removeHandler(lines)
    assert len(links_of(spans.only("duetime.execute"))) == 1


async def test_the_page_of_an_action_links_to_its_trace(spans: Spans) -> None:
    async with Duetime("memory://") as app:
        app.handler(kind="note")(_note)
        action = await app.schedule(Note())
        trace_id = f"{context_of(spans.only('duetime.schedule'))[0]:032x}"
        for address, wanted in (
            ("https://jaeger.example/trace/{trace_id}", True),
            (None, False),
        ):
            async with client_of(admin_of(app, trace_url=address)) as client:
                shown = (await client.get(f"/actions/{action.id}")).text
            assert trace_id in shown
            assert (f'href="https://jaeger.example/trace/{trace_id}"' in shown) is wanted


@pytest.mark.parametrize(
    "address", ["https://jaeger.example/", "javascript:alert({trace_id})", "{trace_id}", 7]
)
def test_an_address_that_leads_to_no_trace_is_refused(address: object) -> None:
    with pytest.raises(ConfigError, match="trace_url"):
        admin_of(Duetime("memory://"), trace_url=address)


def test_doctor_says_what_is_exported(spans: Spans) -> None:
    assert "spans by InMemorySpanExporter" in describe_telemetry()


async def _note(payload: Note) -> None: ...
