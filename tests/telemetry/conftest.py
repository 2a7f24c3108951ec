"""The fixtures of these tests."""

from collections.abc import Iterator

import pytest

from api.apps import app, clock, durable_url, url
from telemetry.exporters import Metrics, Spans, measured, traced

__all__ = ["app", "clock", "durable_url", "meters", "spans", "url"]


@pytest.fixture
def spans() -> Iterator[Spans]:
    found = Spans()
    with traced(found):
        yield found


@pytest.fixture
def meters() -> Metrics:
    return measured()
