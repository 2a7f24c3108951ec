"""mypy --strict and basedpyright understand what users write, and find what they mistype.

Each runs once over all files: most of the time goes into reading the libraries that they import.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from run_page import ROOT
from type_checkers.pages import write_pages

HERE = Path(__file__).parent
SAMPLES = ("accepted.py", "refused.py")
# An application, which imports its own modules from here.
EXAMPLE = Path("examples", "saas")
# These libraries have no types of their own.
UNTYPED = ("django", "asyncpg")
ON_DJANGO = """
[mypy-page_docs_howto_django.*]
disallow_subclassing_any = False
warn_return_any = False
"""
ERROR = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+): error: (?P<text>.*)$", re.MULTILINE)

# Each file with the lines in which an error was found, and what it says.
Findings = dict[str, dict[int, str]]


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with all that is checked."""
    directory = tmp_path_factory.mktemp("code")
    for name in SAMPLES:
        shutil.copy(HERE / name, directory)
    write_pages(directory)
    shutil.copytree(ROOT / EXAMPLE, directory / EXAMPLE, ignore=shutil.ignore_patterns(".*"))
    return directory


@pytest.fixture(scope="module", params=["mypy", "basedpyright"])
def findings(request: pytest.FixtureRequest, code: Path) -> Findings:
    return run_mypy(code) if request.param == "mypy" else run_basedpyright(code)


def run_mypy(code: Path) -> Findings:
    sections = "".join(f"[mypy-{name}.*]\nignore_missing_imports = True\n" for name in UNTYPED)
    config = code / "mypy.ini"
    config.write_text(
        f"[mypy]\nstrict = True\nexplicit_package_bases = True\n{sections}{ON_DJANGO}"
    )
    done = checked(
        [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", "cache", "."],
        code,
    )
    found: Findings = {}
    for error in ERROR.finditer(done.stdout):
        found.setdefault(error["file"], {})[int(error["line"])] = error["text"]
    return found


def run_basedpyright(code: Path) -> Findings:
    options = {
        "include": ["."],
        # Django's own code is read instead of types, and understood in part.
        "exclude": ["page_docs_howto_django"],
        "extraPaths": [str(EXAMPLE)],
        "typeCheckingMode": "standard",
        "pythonVersion": f"{sys.version_info.major}.{sys.version_info.minor}",
    }
    (code / "pyrightconfig.json").write_text(json.dumps(options))
    command = Path(sysconfig.get_path("scripts")) / "basedpyright"
    done = checked([str(command), "--outputjson", "--pythonpath", sys.executable], code)
    found: Findings = {}
    for finding in json.loads(done.stdout)["generalDiagnostics"]:
        if finding["severity"] == "error":
            name = str(Path(finding["file"]).relative_to(code.resolve()))
            found.setdefault(name, {})[finding["range"]["start"]["line"] + 1] = finding["message"]
    return found


def checked(command: list[str], code: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MYPYPATH": os.pathsep.join([str(ROOT / "src"), str(EXAMPLE)])}
    done = subprocess.run(
        command, cwd=code, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1, done.stdout + done.stderr  # refused.py has errors
    return done


def test_users_code_and_all_examples_are_understood(findings: Findings) -> None:
    assert {name: errors for name, errors in findings.items() if name != "refused.py"} == {}


def test_what_is_mistyped_is_found(findings: Findings) -> None:
    lines = (HERE / "refused.py").read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("# E")}
    assert findings["refused.py"].keys() == marked


def test_every_page_with_examples_and_the_example_are_checked(code: Path) -> None:
    assert len([*code.glob("page_*")]) > 25
    assert len([*(code / EXAMPLE).rglob("*.py")]) > 8
