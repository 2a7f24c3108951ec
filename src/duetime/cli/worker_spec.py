"""What `duetime worker` was asked for, as one process hands it to another."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from duetime.worker.claiming.slots import Queues


@dataclass(frozen=True, slots=True)
class Order:
    """The app by its name, and how to run it in each of so many processes."""

    app: str
    concurrency: int | None = None
    queues: Queues = None
    log_level: str = "info"
    processes: int = 1

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Order:
        return cls(**json.loads(text))
