"""Row transitions on SQLAlchemy models: a column says when its row changes, and how."""

from importlib.util import find_spec

if find_spec("sqlalchemy") is None:
    raise ModuleNotFoundError(
        "row transitions need SQLAlchemy: pip install 'duetime[sqlalchemy]'", name="sqlalchemy"
    )

from duetime.model.kept_report import KeptReport
from duetime.model.transition import (
    ParkedRow,
    Pending,
    Report,
    RowError,
    Tally,
    TransitionView,
)
from duetime.transitions.declare import declare, transition
from duetime.transitions.ledger import LEDGER
from duetime.transitions.soft_delete import SoftDeletable
from duetime.transitions.timestamps import Instant

__all__ = [
    "LEDGER",
    "Instant",
    "KeptReport",
    "ParkedRow",
    "Pending",
    "Report",
    "RowError",
    "SoftDeletable",
    "Tally",
    "TransitionView",
    "declare",
    "transition",
]
