"""All verbs of the store contract, as flows of `.sql` statements."""

from __future__ import annotations

from abc import ABC

from duetime.store.sql.flows.access import AccessFlows
from duetime.store.sql.flows.actions import ActionFlows
from duetime.store.sql.flows.add import AddFlows
from duetime.store.sql.flows.answers import AnswerFlows
from duetime.store.sql.flows.audit import AuditFlows
from duetime.store.sql.flows.bulks import BulkFlows
from duetime.store.sql.flows.chains import ChainFlows
from duetime.store.sql.flows.claims import ClaimFlows
from duetime.store.sql.flows.clear import ClearFlows
from duetime.store.sql.flows.damaged import DamagedFlows
from duetime.store.sql.flows.erasures import ErasureFlows
from duetime.store.sql.flows.expiry import ExpiryFlows
from duetime.store.sql.flows.figures import FigureFlows
from duetime.store.sql.flows.groups import GroupFlows
from duetime.store.sql.flows.job_definitions import JobDefinitionFlows
from duetime.store.sql.flows.job_reads import JobReadFlows
from duetime.store.sql.flows.jobs import JobFlows
from duetime.store.sql.flows.notifications import NotificationFlows
from duetime.store.sql.flows.queues import QueueFlows
from duetime.store.sql.flows.sessions import SessionFlows
from duetime.store.sql.flows.stats import StatsFlows
from duetime.store.sql.flows.subscriptions import SubscriptionFlows
from duetime.store.sql.flows.timeline import TimelineFlows
from duetime.store.sql.flows.transitions import TransitionFlows


class SqlStore(
    AccessFlows,
    AnswerFlows,
    SessionFlows,
    AddFlows,
    JobDefinitionFlows,
    JobFlows,
    BulkFlows,
    ErasureFlows,
    JobReadFlows,
    ActionFlows,
    AuditFlows,
    ChainFlows,
    ClaimFlows,
    ClearFlows,
    DamagedFlows,
    FigureFlows,
    GroupFlows,
    NotificationFlows,
    SubscriptionFlows,
    QueueFlows,
    ExpiryFlows,
    StatsFlows,
    TimelineFlows,
    TransitionFlows,
    ABC,
):
    """The base of the SQL stores: everything but connections, transactions and wakes."""
