"""Which known word is suggested for an unknown one."""

import pytest

from duetime.errors import MAX_WORD_LENGTH, did_you_mean, nearest


@pytest.mark.parametrize(
    ("word", "suggested"), [("hihg", "high"), ("norml", "normal"), ("urgent", None), ("", None)]
)
def test_the_nearest_known_word_is_suggested(word: str, suggested: str | None) -> None:
    assert nearest(word, ["low", "normal", "high", "critical"]) == suggested


def test_nothing_is_suggested_for_a_long_text() -> None:
    longest = "x" * MAX_WORD_LENGTH
    assert did_you_mean(longest, [longest])
    assert did_you_mean(longest + "x", [longest]) == ""
