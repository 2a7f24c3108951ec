"""Two transactions met, and one of them lost: what PostgreSQL calls it, through any driver."""

from __future__ import annotations

CODES = {"40001", "40P01", "55P03"}


def is_conflict(error: BaseException) -> bool:
    """psycopg and asyncpg say `sqlstate`, psycopg2 `pgcode`; SQLAlchemy keeps theirs in `orig`."""
    found = (getattr(error, "orig", None), error)
    return any(
        getattr(one, name, None) in CODES for one in found for name in ("sqlstate", "pgcode")
    )
