"""The contract of erasures: the data of actions is wiped, the actions stay."""

from __future__ import annotations

from abc import ABC, abstractmethod

from duetime.model.erasure import Erased, ErasureOrder
from duetime.store.flow import Flow


class ErasureContract(ABC):
    """The verb of erasures, a part of `duetime.store.base.Store`."""

    @abstractmethod
    def erase(self, order: ErasureOrder) -> Flow[Erased]:
        """Erase up to ERASURE_SIZE matching actions: first cancel scheduled ones, each audited,
        then wipe what was cancelled and finished ones, the newest id first, with ids below
        `before`. Wiping sets the payload to null, drops result, progress, error and trace, and
        deletes earlier runs and the traceback. Actions that have none of it count as wiped
        before. Running actions are left alone; so are those that another transaction has locked.
        One audit entry tells what was erased, unless nothing was."""
