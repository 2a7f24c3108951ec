"""The page of field faults names each of them once, and tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "faults.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \| .* \| ([^|]*) \|$", PAGE, re.MULTILINE)
SHOWN = re.compile(r"`(tests/\S+\.py)` `(test_\w+)`")
WHY_NOT = re.compile(r"no leader: .*|comes with brokers")


def test_all_are_there() -> None:
    assert sorted(int(number) for number, _ in ROWS) == list(range(1, 58))


@pytest.mark.parametrize(("number", "shown"), ROWS)
def test_each_is_shown_or_says_why_not(number: str, shown: str) -> None:
    if WHY_NOT.fullmatch(shown):
        return
    for cited in shown.split(", "):
        match = SHOWN.fullmatch(cited)
        assert match, cited
        text = (ROOT / match[1]).read_text(encoding="utf-8")
        assert f"def {match[2]}(" in text
