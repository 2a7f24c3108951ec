"""PostgreSQL's transaction conflicts: recognised through any driver, and retried after a pause."""

from __future__ import annotations

import random

CONFLICT_STATES = {"40001", "40P01", "55P03"}
MAX_CONFLICT_TRIES = 4
# Of migrations, which must not make others wait for long while they wait themselves: a minute.
MAX_PATIENT_TRIES = 300
FIRST_BACKOFF_SECONDS = 0.005
MAX_BACKOFF_SECONDS = 0.2


def is_conflict(error: BaseException) -> bool:
    """Return whether the error is a serialization failure, a deadlock or a lock timeout.

    psycopg and asyncpg have `sqlstate`, psycopg2 has `pgcode`; SQLAlchemy wraps either as `orig`.
    """
    errors = (getattr(error, "orig", None), error)
    return any(
        getattr(candidate, name, None) in CONFLICT_STATES
        for candidate in errors
        for name in ("sqlstate", "pgcode")
    )


def conflict_backoff(tries: int) -> float:
    """Return a random pause that grows with each try, so that two opponents do not meet again."""
    longest = min(FIRST_BACKOFF_SECONDS * 2 ** min(tries, 10), MAX_BACKOFF_SECONDS)
    return random.uniform(0, longest)  # noqa: S311 - not for cryptography
