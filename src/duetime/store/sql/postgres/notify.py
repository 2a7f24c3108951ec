"""NOTIFY messages between processes: their format, and the throttle that limits their number.

A message carries wakes for other processes, or a ping that a listener sends to itself. Losing one
costs a poll, never an action.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from duetime.errors import DuetimeError
from duetime.logs import get_log
from duetime.model.clock import MAX_INSTANT, MIN_INSTANT, monotonic
from duetime.model.lane import PAUSES_LANE, is_lane
from duetime.store.flow import Wake

log = get_log("duetime.store")

# PostgreSQL accepts payloads of less than 8000 bytes.
MAX_PAYLOAD_BYTES = 7999
MAX_SENDER_LENGTH = 100
MAX_PING = 2**62


@dataclass(frozen=True, slots=True)
class Notice:
    """A message from one store object to all others: lanes that became due, or a ping to itself.

    `due` is None if a message cannot name all the lanes, or is about a pause: receivers look at
    every lane.
    """

    sender: str
    due: tuple[tuple[str, int], ...] | None = ()
    ping: int | None = None


def wake_message(sender: str, wakes: Sequence[Wake]) -> str:
    # A pause is nothing that a message tells: it only makes the receivers look.
    if any(wake.lane == PAUSES_LANE for wake in wakes):
        return json.dumps({"from": sender, "due": None})
    due = [[wake.lane, wake.due_at] for wake in wakes]
    text = json.dumps({"from": sender, "due": due}, separators=(",", ":"))
    return text if len(text) <= MAX_PAYLOAD_BYTES else json.dumps({"from": sender, "due": None})


def ping_message(sender: str, ping: int) -> str:
    return json.dumps({"from": sender, "due": [], "ping": ping})


def parse_message(payload: str) -> Notice:
    """Return the message. Any role that may connect can send one, so nothing of it is believed
    before it was checked: ValueError, or another exception of the parser, for all that duetime does
    not send. Keys that this version does not know are ignored: a newer one may have sent them."""
    message = json.loads(payload, parse_constant=_refuse_constant)
    if not isinstance(message, dict):
        raise ValueError("it is not a JSON object")
    due, ping = message.get("due", []), message.get("ping")
    return Notice(
        _sender(message.get("from")),
        None if due is None else tuple(_wakes(due)),
        None if ping is None else _number("ping", ping, 0, MAX_PING),
    )


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _sender(value: object) -> str:
    if not isinstance(value, str) or len(value) > MAX_SENDER_LENGTH:
        raise ValueError("its sender is not valid")
    return value


def _wakes(due: object) -> Iterator[tuple[str, int]]:
    if not isinstance(due, list):
        raise ValueError("its lanes are not a list")
    for pair in due:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError("a lane is not a pair of name and instant")
        lane, due_at = pair
        if not isinstance(lane, str) or not is_lane(lane):
            raise ValueError(f"{lane!r:.80} is not a lane")
        yield lane, _number("instant", due_at, MIN_INSTANT, MAX_INSTANT)


def _number(name: str, value: object, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"its {name} is not a number from {least} to {most}")
    return value


# Each NOTIFY takes a lock that all commits of the server with a NOTIFY share. So many per second
# are sent at once; further wakes are collected and sent together at that rate.
MAX_NOTIFIES_PER_SECOND = 50


class NotifyThrottle:
    """Token bucket for NOTIFY: few wakes get a message each, many share one."""

    def __init__(self, send: Callable[[Sequence[Wake]], Awaitable[None]]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._tokens = float(MAX_NOTIFIES_PER_SECOND)
        self._refilled_at = 0.0
        self._pending: dict[str, Wake] = {}
        self._timer_loop: asyncio.AbstractEventLoop | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def take_sendable(self, wakes: Sequence[Wake]) -> Sequence[Wake]:
        """Return the wakes that the caller must send now; the running loop sends the others."""
        if not wakes:
            return ()
        with self._lock:
            if self._take_token():
                return wakes
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                return wakes  # there is no loop to send them later
            self._start_timer(loop, 1 / MAX_NOTIFIES_PER_SECOND)
            self._collect(wakes)
            return ()

    def send_later(self, wakes: Sequence[Wake]) -> Sequence[Wake]:
        """Send wakes from the running loop; without a loop, return them for the caller to send."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return wakes
        with self._lock:
            if wakes:
                self._start_timer(loop, 0 if self._take_token() else 1 / MAX_NOTIFIES_PER_SECOND)
            self._collect(wakes)
        return ()

    def _start_timer(self, loop: asyncio.AbstractEventLoop, delay: float) -> None:
        """Start one timer for all pending wakes; a timer of a closed loop never fires."""
        if self._timer_loop is None or self._timer_loop.is_closed():
            self._timer_loop = loop
            loop.call_later(delay, self._send_pending)

    async def flush(self) -> None:
        """Send pending wakes, and wait for messages that are being sent."""
        self._send_pending()
        if self._sending:
            await asyncio.wait(self._sending)

    def _take_token(self) -> bool:
        now = monotonic()
        gained = (now - self._refilled_at) * MAX_NOTIFIES_PER_SECOND
        self._tokens = min(self._tokens + gained, MAX_NOTIFIES_PER_SECOND)
        self._refilled_at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _collect(self, wakes: Sequence[Wake]) -> None:
        for wake in wakes:
            known = self._pending.get(wake.lane)
            if known is None or wake.due_at < known.due_at:
                self._pending[wake.lane] = wake

    def _send_pending(self) -> None:
        with self._lock:
            wakes, self._pending = [*self._pending.values()], {}
            self._timer_loop = None
        if wakes:
            task = asyncio.get_running_loop().create_task(self._send_quietly(wakes))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _send_quietly(self, wakes: Sequence[Wake]) -> None:
        with log_failed_notify():
            await self._send(wakes)


@contextmanager
def log_failed_notify() -> Iterator[None]:
    """Log a failed NOTIFY instead of raising: the next poll finds the committed change."""
    try:
        yield
    except DuetimeError as error:
        log.warning("other processes were not woken; their next poll finds the change: %s", error)
