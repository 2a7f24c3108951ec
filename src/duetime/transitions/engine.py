"""Engines of SQLAlchemy, which may be others in disguise."""

from __future__ import annotations

from sqlalchemy import Engine


def origin(engine: Engine) -> Engine:
    """One with options of its own sends all through the one that it comes from."""
    while (parent := getattr(engine, "_proxied", None)) is not None:
        engine = parent
    return engine
