"""Row transitions on SQLAlchemy models: a column says when its row changes, and how."""

from duetime.model.transition import Pending, Report, RowError, Tally, TransitionView
from duetime.transitions.declare import declare, transition
from duetime.transitions.ledger import LEDGER
from duetime.transitions.soft_delete import SoftDeletable
from duetime.transitions.timestamps import Instant

__all__ = [
    "LEDGER",
    "Instant",
    "Pending",
    "Report",
    "RowError",
    "SoftDeletable",
    "Tally",
    "TransitionView",
    "declare",
    "transition",
]
