"""A flow that does its work and then breaks, so that its store must take the work back."""

from __future__ import annotations

from typing import Any

from duetime.store.flow import Flow, Steps


class Broken(Exception):
    """What a broken flow raises."""


def broken(*flows: Flow[Any]) -> Flow[Any]:
    """Do all of these in one transaction, then raise."""

    def steps() -> Steps[Any]:
        for flow in flows:
            yield from flow.start()
        raise Broken

    return Flow(steps)
