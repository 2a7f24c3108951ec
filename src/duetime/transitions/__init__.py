"""Row transitions on SQLAlchemy models: a column says when its row changes, and how."""

from duetime.model.transition import Pending, Report, RowError, Tally, TransitionView
from duetime.transitions.column import declare, transition
from duetime.transitions.instant import Instant
from duetime.transitions.ledger import LEDGER
from duetime.transitions.softly import SoftDeletable

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
