"""The functions through which a worker reaches time, randomness and threads, so that tests can
replace them."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

from duetime.model.clock import monotonic
from duetime.model.ids import NewId, TimeOrderedIds
from duetime.store.base import Store
from duetime.worker.claiming.precise_timer import PreciseTimer, precise_timer
from duetime.worker.leases.heartbeat import Heartbeat, Renewal, ThreadHeartbeat


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Time, randomness, worker names, threads and ids."""

    monotonic: Callable[[], float] = monotonic
    dice: Callable[[], float] = random.random
    name: Callable[[], str] = lambda: f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:8]}"
    heartbeat: Callable[[Store, Renewal], Heartbeat] = ThreadHeartbeat
    timer: Callable[[Callable[[], None]], PreciseTimer] = precise_timer
    ids: NewId = field(default_factory=TimeOrderedIds)
