"""The arguments of `duetime worker`, as the supervisor passes them to its children."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from duetime.worker.claiming.slots import QueuesArgument


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """The name of an app, how many worker processes to run, and how to run each."""

    app: str
    concurrency: int | None = None
    queues: QueuesArgument = None
    log_level: str = "info"
    log_format: str = "text"
    alive_file: str | None = None
    processes: int = 1
    metrics_port: int | None = None
    metrics_host: str = "127.0.0.1"

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> WorkerSpec:
        return cls(**json.loads(text))
