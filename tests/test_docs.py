"""Every example in the documentation runs (how: see run_page.py)."""

from pathlib import Path

import pytest

from run_page import ROOT, PageError, read_blocks, run_apart

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


on_every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@on_every_page
def test_examples_run(page: Path, request: pytest.FixtureRequest) -> None:
    run_examples(page, request)


@pytest.mark.soak
@on_every_page
def test_examples_run_again_on_the_same_database(
    page: Path, request: pytest.FixtureRequest
) -> None:
    run_examples(page, request, again=True)


def run_examples(page: Path, request: pytest.FixtureRequest, *, again: bool = False) -> None:
    reason = url = None
    if any("postgres" in block.marks for block in read_blocks(page)):
        try:
            url = request.getfixturevalue("postgres_url")
        except pytest.skip.Exception as skipped:
            reason = skipped.msg
    try:
        output = run_apart(page, url, again=again)
    except PageError as error:
        pytest.fail(str(error), pytrace=False)
    if reason:
        # What needs no server has run and passed; the rest is named.
        pytest.skip(f"{reason}\n{output}")


def test_few_blocks_are_kept_from_running() -> None:
    blocks = [block for page in PAGES for block in read_blocks(page)]
    assert sum("fragment" in block.marks for block in blocks) <= 6
