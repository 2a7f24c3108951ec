"""A flow that does its work and then raises, so that its store must roll the work back."""

from __future__ import annotations

from typing import Any

from duetime.store.flow import Flow, Steps


class Broken(Exception):
    """Raised by a broken flow."""


def broken(*flows: Flow[Any]) -> Flow[Any]:
    """Perform all flows in one transaction, then raise Broken."""

    def steps() -> Steps[Any]:
        for flow in flows:
            yield from flow.start()
        raise Broken

    return Flow(steps)
