"""Why a run is asked to stop, and which reason counts if there are several."""

from __future__ import annotations

from typing import Literal, NamedTuple

from duetime.errors import InvalidArgument

StopReason = Literal["cancelled", "lost", "timeout", "shutdown"]

# The strongest reason first. A person's decision is never hidden by what merely happened. A lost
# lease means that another worker may run the action already, which a handler has to know before it
# hears of its time; a shutdown ends every run, and says nothing about this one.
STRONGEST_FIRST: tuple[StopReason, ...] = ("cancelled", "lost", "timeout", "shutdown")


class StopRequest(NamedTuple):
    """A request to stop, and by which actor if a person asked for it."""

    reason: StopReason
    by: str | None = None


def check_stop_reason(reason: StopReason) -> StopReason:
    if reason not in STRONGEST_FIRST:
        raise InvalidArgument("reason", reason, f"give one of {', '.join(STRONGEST_FIRST)}")
    return reason


def strongest_request(earlier: StopRequest | None, later: StopRequest) -> StopRequest:
    """Return the request that counts; of two for the same reason, the later."""
    if earlier is None:
        return later
    rank = STRONGEST_FIRST.index
    return earlier if rank(earlier.reason) < rank(later.reason) else later
