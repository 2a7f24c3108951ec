"""How many attempts to authenticate have failed, by address."""

from __future__ import annotations

import threading
from collections import OrderedDict
from ipaddress import IPv6Address, ip_network

from duetime.admin.identity.request_facts import to_address
from duetime.model.clock import Clock

MAX_FAILURES = 10
WINDOW_SECONDS = 60.0
# Forgotten is what has not failed for longest.
MAX_ADDRESSES = 10_000
# Who has one address of IPv6 has a network of these.
IPV6_PREFIX = 64


class FailedAttempts:
    """Counts the failures of the last minute.

    Only what fails again is refused for them: whoever knows a secret is not locked out because
    others, maybe behind the same proxy, guess.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._instants: OrderedDict[str, list[float]] = OrderedDict()

    def add(self, address: str | None) -> float | None:
        """Count a failure. Return after how many seconds to try again if there were too many
        before it, else None."""
        now = self._clock.now().timestamp()
        with self._lock:
            place = _place(address)
            recent = [at for at in self._instants.pop(place, []) if 0 <= now - at < WINDOW_SECONDS]
            self._instants[place] = recent
            if len(recent) >= MAX_FAILURES:
                return WINDOW_SECONDS - (now - recent[0])
            recent.append(now)
            while len(self._instants) > MAX_ADDRESSES:
                self._instants.popitem(last=False)
            return None


def _place(address: str | None) -> str:
    found = to_address(address)
    if isinstance(found, IPv6Address):
        return str(ip_network(f"{found}/{IPV6_PREFIX}", strict=False))
    return str(found or address)
