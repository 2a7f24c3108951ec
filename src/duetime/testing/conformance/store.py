"""All families of tests in one class."""

from __future__ import annotations

from duetime.testing.conformance.adding import Adding
from duetime.testing.conformance.adding_figures import AddingFigures
from duetime.testing.conformance.answering import Answering
from duetime.testing.conformance.api_keys import KeysOfHttp
from duetime.testing.conformance.auditing import Auditing
from duetime.testing.conformance.bulking import Bulking
from duetime.testing.conformance.cancelling import Cancelling
from duetime.testing.conformance.chaining import Chaining
from duetime.testing.conformance.claiming import Claiming
from duetime.testing.conformance.clearing import Clearing
from duetime.testing.conformance.completing import Completing
from duetime.testing.conformance.counting import Counting
from duetime.testing.conformance.damaged import Damaged
from duetime.testing.conformance.editing import Editing
from duetime.testing.conformance.erasing import Erasing
from duetime.testing.conformance.expiring import Expiring
from duetime.testing.conformance.explaining import Explaining
from duetime.testing.conformance.filtering import Filtering
from duetime.testing.conformance.finding import Finding
from duetime.testing.conformance.finding_audit import FindingAudit
from duetime.testing.conformance.finding_ids import FindingIds
from duetime.testing.conformance.granting import Granting
from duetime.testing.conformance.keys import Keys
from duetime.testing.conformance.listing_jobs import (
    EditingByTenant,
    ListingJobs,
    ReadingDefinitions,
)
from duetime.testing.conformance.listing_runs import ListingOccurrences, ListingRuns
from duetime.testing.conformance.notifying import Notifying
from duetime.testing.conformance.parking import Parking
from duetime.testing.conformance.pausing import Pausing
from duetime.testing.conformance.performing import Performing
from duetime.testing.conformance.pruning import Pruning
from duetime.testing.conformance.reading import Reading
from duetime.testing.conformance.reading_timeline import ReadingTimeline
from duetime.testing.conformance.renewing import Renewing
from duetime.testing.conformance.repeating import Repeating
from duetime.testing.conformance.reporting import Reporting
from duetime.testing.conformance.rescheduling import Rescheduling
from duetime.testing.conformance.rescuing import Rescuing
from duetime.testing.conformance.retrying import Retrying
from duetime.testing.conformance.settling import Settling
from duetime.testing.conformance.signing_in import SigningIn
from duetime.testing.conformance.sorting import Sorting
from duetime.testing.conformance.subscribing import Subscribing
from duetime.testing.conformance.sweeping import Sweeping
from duetime.testing.conformance.ticking import Ticking
from duetime.testing.conformance.tracing import KeepingTraces
from duetime.testing.conformance.waking import Waking


class StoreConformance(
    Adding,
    Keys,
    FindingIds,
    Reading,
    Finding,
    Filtering,
    Sorting,
    Cancelling,
    Rescheduling,
    Retrying,
    Repeating,
    Bulking,
    Erasing,
    Claiming,
    KeepingTraces,
    Damaged,
    Completing,
    Expiring,
    Renewing,
    Rescuing,
    Sweeping,
    Chaining,
    Settling,
    Parking,
    Pausing,
    Explaining,
    Pruning,
    Clearing,
    Waking,
    Auditing,
    FindingAudit,
    Performing,
    Counting,
    AddingFigures,
    ReadingTimeline,
    Editing,
    EditingByTenant,
    ListingJobs,
    ListingOccurrences,
    ListingRuns,
    ReadingDefinitions,
    Reporting,
    Ticking,
    Granting,
    KeysOfHttp,
    SigningIn,
    Answering,
    Subscribing,
    Notifying,
):
    """Tests of the contract in `duetime.store.base`, family by family."""
