"""Helpers for the test suites of users: a clock that tests move, and a check of names."""

from duetime.testing.clock import FakeClock
from duetime.testing.conventions import check_conventions

__all__ = ["FakeClock", "check_conventions"]
