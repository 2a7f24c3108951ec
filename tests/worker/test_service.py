"""A service of a worker survives whatever its step raises, and stops working on what it fails on
each time."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from duetime.errors import StoreUnavailable
from duetime.worker import service as module
from duetime.worker.service import PROBLEM_AFTER_FAILURES, UNTIL_WOKEN, Service
from polling import until


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_BACKOFF_SECONDS", 0.001)
    monkeypatch.setattr(module, "MAX_BACKOFF_SECONDS", 0.002)


class Digester:
    """A service that fails on one of its inputs."""

    def __init__(self, error: Exception, *, forgets: bool = True) -> None:
        self._error = error
        self.inputs: list[str] = ["good"]
        self.digested: list[str] = []
        self.failures = 0
        # The problem that the service reports at the start of each failing step.
        self.reported: list[str | None] = []
        forget: Callable[[], str] | None = self._forget if forgets else None
        self.service = Service("digest", self._step, on_repeated_failure=forget)

    async def _step(self) -> float:
        while self.inputs:
            if self.inputs[0] == "bad":
                self.failures += 1
                self.reported.append(self.service.problem)
                raise self._error
            self.digested.append(self.inputs.pop(0))
        return UNTIL_WOKEN

    def _forget(self) -> str:
        return f"forgets the input {self.inputs.pop(0)!r}"

    def give(self, *inputs: str) -> None:
        self.inputs += inputs
        self.service.wake()

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.service.run())
        yield
        self.service.stop()
        await task


async def test_what_it_fails_on_each_time_is_forgotten_and_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    digester = Digester(OverflowError("too long"))
    async with digester.at_work():
        digester.give("bad", "next")
        await until(lambda: "next" in digester.digested)
    assert digester.failures == PROBLEM_AFTER_FAILURES
    assert digester.service.problem is None
    errors = [line for line in caplog.records if line.levelno == logging.ERROR]
    assert [line.getMessage() for line in errors] == [
        "digest failed and will be retried",
        "digest fails each time and forgets the input 'bad'",
    ]
    assert errors[0].exc_info


async def test_an_unavailable_store_makes_it_forget_nothing() -> None:
    digester = Digester(StoreUnavailable("no server"))
    async with digester.at_work():
        digester.give("bad")
        await until(lambda: digester.failures > 3 * PROBLEM_AFTER_FAILURES)
        assert digester.inputs == ["bad"]
        assert digester.service.problem == "digest is failing: no server"
        digester.inputs.clear()
        await until(lambda: digester.service.problem is None)


async def test_a_single_failure_is_no_problem() -> None:
    digester = Digester(ValueError("once"), forgets=False)
    async with digester.at_work():
        digester.give("bad")
        await until(lambda: digester.failures > PROBLEM_AFTER_FAILURES)
    before, after = digester.reported[:PROBLEM_AFTER_FAILURES], digester.reported[-1]
    assert before == [None] * PROBLEM_AFTER_FAILURES
    assert after == "digest is failing: once"


async def test_an_error_while_forgetting_does_not_end_the_service(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    digester = Digester(ValueError("always"))

    def fail() -> str:
        raise RuntimeError("cannot forget")

    monkeypatch.setattr(digester.service, "_on_repeated_failure", fail)
    async with digester.at_work():
        digester.give("bad")
        await until(lambda: digester.failures > 2 * PROBLEM_AFTER_FAILURES)
        digester.inputs.clear()
        digester.give("next")
        await until(lambda: "next" in digester.digested)
