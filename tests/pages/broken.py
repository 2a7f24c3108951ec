"""An app with a kind of action that fails."""

from dataclasses import dataclass

import pytest

from duetime import Duetime, Retry


@dataclass(frozen=True)
class Broken:
    """Its handler raises this text."""

    text: str = "no bridge"


@pytest.fixture
def failing_app(memory_app: Duetime) -> Duetime:
    @memory_app.handler(kind="broken", retry=Retry(attempts=1))
    async def fail(broken: Broken) -> None:
        raise ValueError(broken.text)

    return memory_app
