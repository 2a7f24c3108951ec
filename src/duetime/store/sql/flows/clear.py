"""Emptying a store, for all SQL stores."""

from __future__ import annotations

from abc import ABC

from duetime.store.base import Store
from duetime.store.flow import Statement, Steps, flow

CLEARING_STATEMENTS = (
    *("clear_actions", "clear_history", "clear_runs", "clear_tracebacks"),
    *("clear_jobs", "clear_ticks", "clear_audit", "clear_workers", "clear_queues", "clear_reports"),
    *("clear_bulks", "clear_figures", "clear_answers", "clear_subscriptions", "clear_events"),
    *("clear_notifications", "clear_reads", "clear_episodes"),
    *("clear_grants", "clear_api_keys", "clear_links", "clear_sessions"),
)


class ClearFlows(Store, ABC):
    @flow()
    def clear(self) -> Steps[None]:
        for statement in CLEARING_STATEMENTS:
            yield Statement(statement, {})
