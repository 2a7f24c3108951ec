"""The port of `duetime worker --metrics-port`, from which Prometheus reads; and how a supervisor
asks its processes for what they have counted."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from duetime.cli.failures import CommandError
from duetime.model.clock import monotonic
from duetime.telemetry.prometheus import prometheus_registry, prometheus_text, require_exporter

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric
    from prometheus_client.registry import Collector

    from duetime.cli.worker_spec import WorkerSpec

# How long all processes have to answer. Of one that is later, its last answer counts.
PATIENCE_SECONDS = 2.0
# However late it is, what has arrived already is read.
MIN_PATIENCE_SECONDS = 0.01
REQUEST = b"?"
LENGTH = struct.Struct("!I")
# The gauges that add up; of any other one, which one process reads for all, the largest counts.
SUMMED_GAUGES = frozenset({"duetime_slots_used"})
ADDED_UP = frozenset({"counter", "histogram", "summary"})

Sample = tuple[str, tuple[tuple[str, str], ...]]


@contextmanager
def metrics_port(spec: WorkerSpec, collector: Collector | None = None) -> Iterator[None]:
    """Serve the metrics of this process, or those of a collector, as the options say."""
    if spec.metrics_port is None:
        yield
        return
    registry = prometheus_registry() if collector is None else _registry_of(collector)
    from prometheus_client import start_http_server

    try:
        server, thread = start_http_server(spec.metrics_port, spec.metrics_host, registry)
    except OSError as error:
        raise CommandError(
            f"--metrics-port {spec.metrics_port}: nothing can listen on {spec.metrics_host}: "
            f"{error.strerror}; give a port that is free, and an address of this machine"
        ) from None
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _registry_of(collector: Collector) -> CollectorRegistry:
    require_exporter()
    from prometheus_client import CollectorRegistry

    registry = CollectorRegistry()
    registry.register(collector)
    return registry


# -- a process and its supervisor ----------------------------------------------------


def answer_scrapes(line: socket.socket) -> None:
    """Answer the supervisor, in a thread: a blocked event loop does not hold it up."""
    prometheus_registry()
    threading.Thread(target=_answer, args=(line,), name="duetime-metrics", daemon=True).start()


def _answer(line: socket.socket) -> None:
    with line, suppress(OSError):
        while line.recv(1):
            text = prometheus_text()
            line.sendall(LENGTH.pack(len(text)) + text)


class SummedMetrics:
    """Adds up what the processes of a supervisor have counted. What a process had counted when it
    was last asked still counts once it has ended: a sum that fell would look like a new start."""

    def __init__(self) -> None:
        self._lines: list[MetricsLine] = []
        self._ended = Families()
        self._lock = threading.Lock()

    def open_line(self) -> socket.socket:
        """Return the end of a line for a new process."""
        ours, theirs = socket.socketpair()
        with self._lock:
            self._lines.append(MetricsLine(ours))
        return theirs

    def collect(self) -> Iterable[Metric]:
        """Ask all processes. Called by the server's threads."""
        with self._lock:
            deadline = monotonic() + PATIENCE_SECONDS
            for line in [*self._lines]:
                if not line.ask(deadline):
                    self._lines.remove(line)
                    self._ended.add(line.counted.counters())
            total = Families()
            total.add(self._ended)
            for line in self._lines:
                total.add(line.counted)
        return total.metrics()


class MetricsLine:
    """The supervisor's end of the line to one process, and what that process last answered."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._received = bytearray()
        # Whether an answer is still to come: of a process that starts, or hangs.
        self._asked = False
        self.counted = Families()

    def ask(self, deadline: float) -> bool:
        """Ask the process, and wait for its answer until the deadline; return False if the process
        has ended."""
        try:
            if self._asked:
                self._receive(deadline)
            self._line.sendall(REQUEST)
            self._asked = True
            self._receive(deadline)
        except TimeoutError:
            return True
        except OSError:
            self._line.close()
            return False
        return True

    def _receive(self, deadline: float) -> None:
        (length,) = LENGTH.unpack(self._take(LENGTH.size, deadline, keep=True))
        answer = self._take(LENGTH.size + length, deadline)[LENGTH.size :]
        self._asked = False
        self.counted = Families.of(answer.decode())

    def _take(self, size: int, deadline: float, *, keep: bool = False) -> bytes:
        """Return so many bytes. What came before a deadline is there for the next time."""
        while len(self._received) < size:
            self._line.settimeout(max(deadline - monotonic(), MIN_PATIENCE_SECONDS))
            part = self._line.recv(65_536)
            if not part:
                raise ConnectionError("the process has ended")
            self._received += part
        taken = bytes(self._received[:size])
        if not keep:
            del self._received[:size]
        return taken


class Families:
    """Metrics by name, with their samples by name and labels."""

    def __init__(self) -> None:
        self._headers: dict[str, tuple[str, str]] = {}
        self._samples: dict[str, dict[Sample, float]] = {}

    @classmethod
    def of(cls, text: str) -> Families:
        from prometheus_client.parser import text_string_to_metric_families

        made = cls()
        for family in text_string_to_metric_families(text):
            made._headers[family.name] = (family.documentation, family.type)
            made._samples[family.name] = {
                (sample.name, tuple(sorted(sample.labels.items()))): sample.value
                for sample in family.samples
            }
        return made

    def counters(self) -> Families:
        """Return what only ever grows: the gauges of a process end with it."""
        kept = Families()
        for name, (text, form) in self._headers.items():
            if form in ADDED_UP:
                kept._headers[name] = (text, form)
                kept._samples[name] = self._samples[name]
        return kept

    def add(self, other: Families) -> None:
        for name, header in other._headers.items():
            self._headers[name] = header
            summed = header[1] in ADDED_UP or name in SUMMED_GAUGES
            mine = self._samples.setdefault(name, {})
            for sample, value in other._samples[name].items():
                before = mine.get(sample, 0.0)
                mine[sample] = before + value if summed else max(before, value)

    def metrics(self) -> list[Metric]:
        from prometheus_client import Metric

        made = []
        for name, (text, form) in self._headers.items():
            metric = Metric(name, text, form)
            for (sample, labels), value in self._samples[name].items():
                metric.add_sample(sample, dict(labels), value)
            made.append(metric)
        return made
