"""Peers: comparable libraries, installed into .bench and driven by bench/peers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from trial import Missing, Spot, Take

from duetime.bench.figures import RoundFigures, lateness_figures

ROOT = Path(__file__).resolve().parent.parent
DRIVERS = ROOT / "bench" / "peers"
HOME = ROOT / ".bench"
REDIS = "BENCH_REDIS"
# No peer takes longer at its sizes, unless it hangs.
TIMEOUT_SECONDS = 180.0
DEFAULT_REDIS = "redis://127.0.0.1:6379/0"


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer, its driver and the most jobs it is given, so that a slow peer takes seconds."""

    driver: str
    drains: int = 100_000
    lateness: bool = True

    @property
    def is_node(self) -> bool:
        return self.driver.endswith(".mjs")


PEERS: Mapping[str, Peer] = {
    "Graphile Worker": Peer("drive_graphile.mjs"),
    "pg-boss": Peer("drive_pgboss.mjs", lateness=False),
    "PgQueuer": Peer("drive_pgqueuer.py"),
    "Procrastinate": Peer("drive_procrastinate.py", drains=2_000),
    "APScheduler": Peer("drive_apscheduler.py", drains=1_000),
    "Celery on Redis": Peer("drive_celery.py", drains=3_000, lateness=False),
}


def draining(full: int) -> dict[str, Take]:
    """Return a measurement for each peer: draining `full` jobs, or fewer for a slow peer."""
    return {name: _drain(name, min(full, peer.drains)) for name, peer in PEERS.items()}


def spreading(full: int, seconds: float) -> dict[str, Take]:
    return {name: _spread(name, full, seconds) for name, peer in PEERS.items() if peer.lateness}


def _drain(name: str, full: int) -> Take:
    async def take(spot: Spot) -> RoundFigures:
        rates: dict[str, float] = await _driven(name, spot, "drain", str(spot.count(full)))
        return rates

    return take


def _spread(name: str, full: int, seconds: float) -> Take:
    async def take(spot: Spot) -> RoundFigures:
        words = ["lateness", str(spot.count(full)), str(spot.seconds(seconds))]
        return lateness_figures((await _driven(name, spot, *words))["late"])

    return take


async def _driven(name: str, spot: Spot, *words: str) -> Any:
    peer = PEERS[name]
    if reason := missing(name):
        raise Missing(reason)
    program, folder = (_node(), HOME / "node") if peer.is_node else (_python(), DRIVERS)
    address = redis_url() if "Redis" in name else spot.url
    process = await asyncio.create_subprocess_exec(
        program,
        str(folder / peer.driver),
        *words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "BENCH_URL": address},
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), TIMEOUT_SECONDS)
    except TimeoutError:
        process.terminate()
        await process.wait()
        raise Missing(f"not finished in {TIMEOUT_SECONDS:.0f} s") from None
    lines = out.decode().strip().splitlines()
    if not lines or not lines[-1].startswith("{"):
        raise Missing(f"its driver failed: {err.decode()[-400:].strip()}")
    return json.loads(lines[-1])


def missing(name: str) -> str | None:
    """Return why a peer cannot be measured here, if so."""
    if "Redis" in name and not _answers(redis_url()):
        return f"no Redis answers at {redis_url()} (set {REDIS} to use another)"
    if PEERS[name].is_node:
        if not _node():
            return "node is not installed"
        return None if (HOME / "node" / "node_modules").is_dir() else "npm did not install it"
    return None if Path(_python()).exists() else "it is not installed"


def redis_url() -> str:
    return os.environ.get(REDIS, DEFAULT_REDIS)


def _answers(url: str) -> bool:
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 6379), timeout=1):
            return True
    except OSError:
        return False


def _node() -> str:
    return shutil.which("node") or ""


def _python() -> str:
    return str(HOME / "venv" / "bin" / "python")


# -- installing --------------------------------------------------------------------------


def install() -> list[str]:
    """Install missing peers at the versions pinned in bench/peers; return the failures."""
    HOME.mkdir(exist_ok=True)
    failed = []
    for folder, make in (("venv", _install_python), ("node", _install_node)):
        stamp = HOME / f"{folder}.installed"
        if stamp.exists() and stamp.read_text() == _pins():
            continue
        try:
            make(HOME / folder)
            stamp.write_text(_pins())
        except (OSError, subprocess.CalledProcessError) as error:
            output = getattr(error, "stderr", None) or str(error)
            failed.append(f"peers in .bench/{folder}: {output.strip()[-300:]}")
    return failed


def _pins() -> str:
    paths = [*sorted(DRIVERS.glob("*.mjs")), DRIVERS / "package.json", DRIVERS / "requirements.txt"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def _install_python(folder: Path) -> None:
    uv = shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")
    _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder))
    pins = str(DRIVERS / "requirements.txt")
    _run(uv, "pip", "install", "--quiet", "--python", _python(), "-r", pins)


def _install_node(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    # Node looks for packages beside the file that imports them.
    for path in [*DRIVERS.glob("*.mjs"), DRIVERS / "package.json"]:
        shutil.copy(path, folder)
    _run("npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--no-save")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603


def versions() -> dict[str, str]:
    """The pinned versions, as the report names them."""
    lines = (DRIVERS / "requirements.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    packages: dict[str, str] = json.loads((DRIVERS / "package.json").read_text())["dependencies"]
    return pinned | packages
