"""Every verb of the contract as a flow over `.sql` files."""

from __future__ import annotations

from abc import ABC

from duetime.store.sql.flows.actions import ClientFlows
from duetime.store.sql.flows.add import AddFlows
from duetime.store.sql.flows.chains import ChainFlows
from duetime.store.sql.flows.claims import WorkerFlows
from duetime.store.sql.flows.jobs import JobFlows
from duetime.store.sql.flows.stats import StatsFlows


class SqlFlows(AddFlows, JobFlows, ClientFlows, ChainFlows, WorkerFlows, StatsFlows, ABC):
    """What the SQL stores share: all but connections, transactions and waking."""
