"""The alive file of `duetime worker`, and `duetime alive`, which checks its age.

A liveness probe asks whether a process should be restarted: whether its event loop still turns.
Whether the store answers is another question, which `duetime doctor` answers; restarting workers
would not bring a store back.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from duetime.cli.failures import CommandError
from duetime.cli.output import print_lines
from duetime.cli.times import now, parse_delay
from duetime.logs import get_log
from duetime.model.validation import amount

log = get_log("duetime.worker")

BEAT_SECONDS = 5.0
# Three beats that did not come, and as much again for a busy machine.
DEFAULT_MAX_AGE_SECONDS = 30.0


def alive(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The worker's --alive-file.")],
    max_age: Annotated[
        float | None,
        typer.Option(
            parser=parse_delay, metavar="TIME", help="How old the file may be; default: 30s."
        ),
    ] = None,
) -> None:
    """Check that a worker is alive, by its alive file; exit 1 if it is not."""
    try:
        modified = Path(file).stat().st_mtime
    except OSError as error:
        raise CommandError(f"not alive: {file}: {error.strerror}") from None
    age = max(0.0, now().timestamp() - modified)
    limit = DEFAULT_MAX_AGE_SECONDS if max_age is None else max_age
    if age > limit:
        raise CommandError(
            f"not alive: {file} is {amount(round(age))} old, and {amount(round(limit))} are "
            "allowed: a handler blocks the event loop, or the process is gone"
        )
    print_lines(f"alive: {amount(round(age))} ago")


class AliveFile:
    """A file whose modification time says when a worker was last alive; removed at the end."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._failing = False

    def create(self) -> None:
        try:
            self._path.touch()
        except OSError as error:
            raise CommandError(
                f"--alive-file {self._path} cannot be written: {error.strerror}"
            ) from None

    def touch(self) -> None:
        """Renew the file. A failure is logged once: the check of its age tells the rest."""
        try:
            self._path.touch()
        except OSError as error:
            if not self._failing:
                log.warning("alive file %s cannot be written: %s", self._path, error)
            self._failing = True
        else:
            self._failing = False

    def remove(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._path)


@asynccontextmanager
async def touching(
    path: str | None, hangs: Callable[[], bool] = lambda: False
) -> AsyncIterator[None]:
    """Renew the file at `path` from the running event loop, unless another one `hangs`; nothing
    without a path."""
    if path is None:
        yield
        return
    file = AliveFile(path)
    file.create()
    try:
        async with beating(lambda: None if hangs() else file.touch()):
            yield
    finally:
        file.remove()


@asynccontextmanager
async def beating(beat: Callable[[], None]) -> AsyncIterator[None]:
    """Call `beat` now, and every few seconds for as long as the event loop turns."""

    async def repeat() -> None:
        while True:
            beat()
            await asyncio.sleep(BEAT_SECONDS)

    task = asyncio.create_task(repeat())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
