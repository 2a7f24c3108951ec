"""Attributes of measurements: few enough that what stores metrics can bear them."""

from __future__ import annotations

from functools import lru_cache

from duetime.model.lane import parse_lane

# Different values of an attribute; what comes after them is counted as OTHER.
MAX_VALUES = 200
MAX_TENANTS = 1_000
OTHER = "other"
# The tenant of what has none.
GLOBAL = "global"

Attributes = dict[str, str]


class CappedValues:
    """The values of one attribute: the first ones that come keep their names."""

    def __init__(self, limit: int = MAX_VALUES) -> None:
        self._limit = limit
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        if value in self._known:
            return value
        if len(self._known) >= self._limit:
            return OTHER
        self._known.add(value)
        return value


class ActionAttributes:
    """Makes the attributes of measurements of actions, the same object for the same values."""

    def __init__(self, *, tenants: bool = True) -> None:
        """Without `tenants`, measurements do not name them."""
        self._tenants = tenants
        self._tenant = CappedValues(MAX_TENANTS)
        self._kind, self._queue, self._job = CappedValues(), CappedValues(), CappedValues()
        self.of_queue = lru_cache(maxsize=4096)(self._of_queue)
        self.of_lane = lru_cache(maxsize=4096)(self._of_lane)

    def of_tenant(self, tenant: str | None) -> dict[str, str]:
        """Return the attribute of a tenant, if measurements name any."""
        if not self._tenants:
            return {}
        return {"duetime.tenant": GLOBAL if tenant is None else self._tenant(tenant)}

    def _of_lane(
        self, kind: str, tenant: str | None, lane: str, job: str | None, outcome: str | None = None
    ) -> Attributes:
        return self.of_queue(kind, tenant, parse_lane(lane).queue, job, outcome)

    def _of_queue(
        self,
        kind: str,
        tenant: str | None,
        queue: str,
        job: str | None = None,
        outcome: str | None = None,
    ) -> Attributes:
        attributes = {"duetime.kind": self._kind(kind), "duetime.queue": self._queue(queue)}
        attributes |= self.of_tenant(tenant)
        if job is not None:
            attributes["duetime.job"] = self._job(job)
        if outcome is not None:
            attributes["duetime.outcome"] = outcome
        return attributes
