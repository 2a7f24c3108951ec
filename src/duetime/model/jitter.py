"""Jitter: how much later than its tick an occurrence is due, so that herds spread."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256

from duetime.model.clock import to_micros
from duetime.model.duration import micros


def jitter_of(job: str, tick: datetime, jitter: float | timedelta) -> timedelta:
    """In [0, jitter), and the same in every process: a tick is due at one instant only."""
    digest = sha256(f"{job}\n{to_micros(tick)}".encode()).digest()
    chance = int.from_bytes(digest[:8], "big")
    return timedelta(microseconds=chance * micros("jitter", jitter) >> 64)
