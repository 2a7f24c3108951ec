"""Where a worker touches what tests must hold still."""

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
from duetime.worker.claiming.precise_timer import Alarm, alarm
from duetime.worker.leases.heartbeat import Heartbeat, Renewal, ThreadBeat


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Time, chance, names, threads."""

    monotonic: Callable[[], float] = monotonic
    dice: Callable[[], float] = random.random
    name: Callable[[], str] = lambda: f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:8]}"
    heartbeat: Callable[[Store, Renewal], Heartbeat] = ThreadBeat
    alarm: Callable[[Callable[[], None]], Alarm] = alarm
    ids: NewId = field(default_factory=TimeOrderedIds)
