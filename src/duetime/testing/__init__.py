"""What users' test suites need: a clock to move and an app to drive."""

from duetime.testing.clock import FakeClock
from duetime.testing.conventions import check_conventions

__all__ = ["FakeClock", "check_conventions"]
