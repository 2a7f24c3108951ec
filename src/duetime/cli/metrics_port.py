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
from duetime.telemetry.prometheus import prometheus_registry, prometheus_text, require_exporter

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric
    from prometheus_client.registry import Collector

    from duetime.cli.worker_spec import WorkerSpec

# A process that takes longer is left out of this scrape with what it counted since the last one.
PATIENCE_SECONDS = 2.0
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
        self._lines: dict[socket.socket, Families] = {}
        self._ended = Families()
        self._lock = threading.Lock()

    def open_line(self) -> socket.socket:
        """Return the end of a line for a new process."""
        ours, theirs = socket.socketpair()
        ours.settimeout(PATIENCE_SECONDS)
        with self._lock:
            self._lines[ours] = Families()
        return theirs

    def collect(self) -> Iterable[Metric]:
        """Ask all processes. Called by the server's threads."""
        with self._lock:
            for line in [*self._lines]:
                self._ask(line)
            total = Families()
            total.add(self._ended)
            for counted in self._lines.values():
                total.add(counted)
        return total.metrics()

    def _ask(self, line: socket.socket) -> None:
        try:
            line.sendall(REQUEST)
            (length,) = LENGTH.unpack(_receive(line, LENGTH.size))
            self._lines[line] = Families.of(_receive(line, length).decode())
        except OSError:
            # It has ended; or it hangs, and an answer that came later would not be of that request.
            line.close()
            self._ended.add(self._lines.pop(line).counters())


def _receive(line: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        part = line.recv(size - len(received))
        if not part:
            raise ConnectionError("the process has ended")
        received += part
    return bytes(received)


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
