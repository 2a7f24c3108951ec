"""Every verb of the contract as a flow over `.sql` files."""

from __future__ import annotations

from abc import ABC

from duetime.store.sql.add_flows import AddFlows
from duetime.store.sql.chain_flows import ChainFlows
from duetime.store.sql.client_flows import ClientFlows
from duetime.store.sql.job_flows import JobFlows
from duetime.store.sql.stats_flows import StatsFlows
from duetime.store.sql.worker_flows import WorkerFlows


class SqlFlows(AddFlows, JobFlows, ClientFlows, ChainFlows, WorkerFlows, StatsFlows, ABC):
    """What the SQL stores share: all but connections, transactions and waking."""
