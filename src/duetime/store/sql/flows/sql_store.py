"""All verbs of the store contract, as flows of `.sql` statements."""

from __future__ import annotations

from abc import ABC

from duetime.store.sql.flows.actions import ActionFlows
from duetime.store.sql.flows.add import AddFlows
from duetime.store.sql.flows.chains import ChainFlows
from duetime.store.sql.flows.claims import ClaimFlows
from duetime.store.sql.flows.damaged import DamagedFlows
from duetime.store.sql.flows.jobs import JobFlows
from duetime.store.sql.flows.stats import StatsFlows


class SqlStore(
    AddFlows, JobFlows, ActionFlows, ChainFlows, ClaimFlows, DamagedFlows, StatsFlows, ABC
):
    """The base of the SQL stores: everything but connections, transactions and wakes."""
