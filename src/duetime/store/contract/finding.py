"""The contract of finding actions: pages and groups of those that a filter matches."""

from __future__ import annotations

from abc import ABC, abstractmethod

from duetime.model.actions.found import Found
from duetime.model.filter import Filter
from duetime.model.groups import MAX_GROUPED, GroupField, Groups
from duetime.store.flow import Flow


class FindingContract(ABC):
    """The verbs of finding, a part of `duetime.store.base.Store`."""

    @abstractmethod
    def find(self, wanted: Filter) -> Flow[Found]:
        """Return up to `limit` matching actions that come after the position `follows`, in the
        order of `sort`: by that value, then by id. A sort by a time leaves out what has no such
        time.

        A store may examine no more than MAX_EXAMINED rows for a page. The page may then be short or
        empty, and its `next` is the position that was reached; it is None only if there is no
        further match. What keeps its value is found once on the way through all pages, whatever
        changes in between."""

    @abstractmethod
    def groups(self, by: GroupField, wanted: Filter, *, most: int = MAX_GROUPED) -> Flow[Groups]:
        """Count matching actions by a field, the newest `most` of each state: of those that
        have an error group, by it. `sort`, `follows` and `limit` do not count. A store may examine
        no more than MAX_EXAMINED rows of a state, or twice `most`. If there are more, each group
        that may lack some is `capped`, and `examined_since` is the creation time since which all
        are counted."""
