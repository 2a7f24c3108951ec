"""The contract of bulks: one act on many actions, in steps of bounded size."""

from __future__ import annotations

from abc import ABC, abstractmethod

from duetime.model.bulk import BulkAnswer, BulkCall, BulkCount, BulkOrder
from duetime.store.flow import Flow


class BulkContract(ABC):
    """The verbs of bulks, a part of `duetime.store.base.Store`."""

    @abstractmethod
    def count_bulk(self, order: BulkOrder) -> Flow[BulkCount]:
        """Count the actions that such a bulk would be about: those of its selection and tenant that
        are in the state that its verb needs, up to MAX_COUNTED of them, with the newest
        SAMPLE_SIZE. Changes nothing."""

    @abstractmethod
    def step_bulk(self, call: BulkCall) -> Flow[BulkAnswer]:
        """Take a step of a bulk, which the call at step 0 stores, and return what it did. A step
        that was taken before returns its answer again and changes nothing. InvalidArgument, and
        nothing is changed, if the call is not of the bulk's tenant, actor, verb and selection, or
        names a step that is not due yet.

        `model.bulk` decides: a step takes the next BULK_SIZE actions of `count_bulk`, or as many of
        its ids, from the newest id downward, none with the id of an earlier step or above. It
        changes them as the single verbs do (audited, waking), in the transaction that records the
        step. Those that another transaction has locked, that are in another state by now, or that
        the verb refuses, are skipped. The call at step 0 writes the bulk's own audit entry."""
