"""What users' test suites need: a clock to move and an app to drive."""

from duetime.testing.clock import FakeClock

__all__ = ["FakeClock"]
