"""All families of tests in one class."""

from __future__ import annotations

from duetime.testing.conformance.adding import Adding
from duetime.testing.conformance.auditing import Auditing
from duetime.testing.conformance.cancelling import Cancelling
from duetime.testing.conformance.chaining import Chaining
from duetime.testing.conformance.claiming import Claiming
from duetime.testing.conformance.completing import Completing
from duetime.testing.conformance.counting import Counting
from duetime.testing.conformance.damaged import Damaged
from duetime.testing.conformance.editing import Editing
from duetime.testing.conformance.finding import Finding
from duetime.testing.conformance.keys import Keys
from duetime.testing.conformance.parking import Parking
from duetime.testing.conformance.performing import Performing
from duetime.testing.conformance.pruning import Pruning
from duetime.testing.conformance.reading import Reading
from duetime.testing.conformance.renewing import Renewing
from duetime.testing.conformance.rescheduling import Rescheduling
from duetime.testing.conformance.rescuing import Rescuing
from duetime.testing.conformance.retrying import Retrying
from duetime.testing.conformance.settling import Settling
from duetime.testing.conformance.sweeping import Sweeping
from duetime.testing.conformance.ticking import Ticking
from duetime.testing.conformance.waking import Waking


class StoreConformance(
    Adding,
    Keys,
    Reading,
    Finding,
    Cancelling,
    Rescheduling,
    Retrying,
    Claiming,
    Damaged,
    Completing,
    Renewing,
    Rescuing,
    Sweeping,
    Chaining,
    Settling,
    Parking,
    Pruning,
    Waking,
    Auditing,
    Performing,
    Counting,
    Editing,
    Ticking,
):
    """Tests of the contract in `duetime.store.base`, family by family."""
