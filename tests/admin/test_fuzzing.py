"""Made-up requests to every operation of the OpenAPI document: none is answered with a fault of
the server, with a status, a header or a document that the document does not describe, or as if it
were valid when it is not."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import SystemRandom

import pytest

from admin.fuzzing import Fuzzed, operations_of

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"


@pytest.fixture
def fuzzed(url: str) -> Iterator[Fuzzed]:
    """On every kind of store."""
    made = Fuzzed(url)
    yield made
    made.close()


@pytest.fixture
def memory_fuzzed() -> Iterator[Fuzzed]:
    made = Fuzzed("memory://")
    yield made
    made.close()


def test_requests_that_follow_each_other(fuzzed: Fuzzed) -> None:
    called = fuzzed.follow_links(20, derandomize=True)
    assert len(called) > 15


@pytest.mark.soak
def test_limits_of_every_value(memory_fuzzed: Fuzzed) -> None:
    assert list(memory_fuzzed.wrong_answers("coverage")) == []


@pytest.mark.soak
def test_many_requests_that_follow_each_other(fuzzed: Fuzzed) -> None:
    called = fuzzed.follow_links(600, derandomize=False, seed=new_seed())
    assert called == {*operations_of(json.loads(DOCUMENT.read_text("utf-8")))}


@pytest.mark.soak
@pytest.mark.parametrize("phase", ["coverage", "fuzzing"])
def test_many_requests_to_every_operation(fuzzed: Fuzzed, phase: str) -> None:
    assert list(fuzzed.wrong_answers(phase, seed=new_seed(), examples=100)) == []


def new_seed() -> int:
    """A seed that stands in the output of a test that fails."""
    seed = SystemRandom().getrandbits(64)
    print(f"seed {seed}")
    return seed
