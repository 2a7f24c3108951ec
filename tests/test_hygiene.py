"""Rules for the repository that are checked by machine."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "duetime"
TESTS = ROOT / "tests"

# Put together from halves, so that this file does not contain what it looks for.
PLACES = ["/wo" + "rk/", "/op" + "t/", "/ro" + "ot/"]
HOSTS = ["pypi" + ".org", "files.python" + "hosted", "registry.npm" + "js"]
FOREIGN = re.compile("|".join([*(rf"(?<![\w.-]){place}" for place in PLACES), *HOSTS]))

# Calls that run whatever text they are given, and the files that may make them, with the reason.
DANGEROUS = {"eval", "exec", "import_module", "resolve_name", "__import__"}
MAY_BE_DANGEROUS: dict[str, str] = {
    "__init__.py": "imports its own names when they are first asked for",
    "notifications/__init__.py": "imports its own names when they are first asked for",
    "app.py": "discover() imports the package that the program names",
    "cli/loading.py": "imports the app that the command line names",
    "words/languages.py": "imports a language, of those that it names",
    "pytest_plugin.py": "imports the app that the settings of pytest name",
}

# Time comes from a clock that tests can set.
WALL_CLOCK = {"datetime.now", "datetime.utcnow", "date.today", "time.time", "time.time_ns"}
CLOCK = "model/clock.py"

# Files that may poll, because the process or library gives no signal.
MAY_POLL: dict[str, str] = {
    "faults/ledger.py": "a server that restarts",
    "faults/campaign.py": "the pace of a campaign, and what its processes have done",
    "joining/test_transactional_ends.py": "a handler checks whether it was cancelled",
    "worker/test_rescue.py": "the time at which a lease expires",
}

MAX_FILE = 500
MAX_FUNCTION = 45


def shared_files() -> list[Path]:
    """All files that are, or would be, in the repository."""
    # safe.directory: the clone of another user is fine to list.
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others"]
    try:
        done = subprocess.run(
            [*command, "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"git cannot list the files of this directory: {error}")
    paths = (ROOT / name for name in done.stdout.split("\0") if name)
    return [path for path in paths if path.is_file()]


def parsed(directory: Path) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(directory.rglob("*.py")):
        yield path.relative_to(directory).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Every call with the dotted name of what is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func)


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = []
    for path in shared_files():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        for number, line in enumerate(text.splitlines(), start=1):
            if FOREIGN.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert found == []


def test_nothing_is_unpickled() -> None:
    assert [name for name, tree in parsed(SOURCE) if "pickle" in set(imports(tree))] == []


def test_only_allowed_files_run_given_text() -> None:
    dangerous = {
        name
        for name, tree in parsed(SOURCE)
        for _, called in calls(tree)
        if called.split(".")[-1] in DANGEROUS
    }
    # Equality: a permission that is no longer used has to go.
    assert dangerous == set(MAY_BE_DANGEROUS)


def test_only_the_clock_reads_the_time() -> None:
    found = [
        f"{name}:{call.lineno}: {called}()"
        for name, tree in parsed(SOURCE)
        for call, called in calls(tree)
        if name != CLOCK and ".".join(called.split(".")[-2:]) in WALL_CLOCK
    ]
    assert found == []


def test_no_test_sleeps() -> None:
    found = [
        f"{name}:{call.lineno}"
        for name, tree in parsed(TESTS)
        for call, called in calls(tree)
        if called.split(".")[-1] == "sleep"
        and call.args
        and isinstance(call.args[0], ast.Constant)
        and call.args[0].value != 0
    ]
    assert found == []


def test_only_allowed_files_poll() -> None:
    """Waiting for an event that is never set is a sleep."""
    polling = {
        name
        for name, tree in parsed(TESTS)
        for call, called in calls(tree)
        if called.endswith("Event().wait") and (call.args or call.keywords)
    }
    assert polling == set(MAY_POLL)


def test_files_and_functions_are_short() -> None:
    found = []
    for name, tree in parsed(SOURCE):
        length = len((SOURCE / name).read_text(encoding="utf-8").splitlines())
        if length > MAX_FILE:
            found.append(f"{name}: {length} lines")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > MAX_FUNCTION:
                    found.append(f"{name}:{node.lineno}: {node.name} has {length} lines")
    assert found == []
