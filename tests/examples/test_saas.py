"""The example application does what its README says, and its tests pass on both databases."""

import os
import subprocess
import sys

import pytest

from run_page import ROOT, PageError, read_blocks, run_apart

SAAS = ROOT / "examples" / "saas"


def test_the_commands_of_the_readme_run(request: pytest.FixtureRequest) -> None:
    """Its own tests are among them. What needs PostgreSQL is left out if there is none."""
    try:
        url = request.getfixturevalue("postgres_url")
    except pytest.skip.Exception:
        url = None
    try:
        run_apart(SAAS / "README.md", url, project=SAAS)
    except PageError as error:
        pytest.fail(str(error), pytrace=False)


def test_its_tests_pass_on_postgresql(postgres_url: str) -> None:
    environment = {**os.environ, "SAAS_TEST_URL": postgres_url}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=SAAS, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_has_no_example_that_does_not_run() -> None:
    assert not any("fragment" in block.marks for block in read_blocks(SAAS / "README.md"))
