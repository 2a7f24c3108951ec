"""The table of settings in the documentation is the one in the code."""

from dataclasses import fields
from pathlib import Path

from duetime.config import DESCRIPTIONS, Settings

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
HEAD = ["| name | default | meaning |", "|---|---|---|"]
DAY = 86_400


def shown(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return f"`{str(value).lower()}`"
        case float() if value % DAY == 0:
            return f"`{value:.0f}` ({value / DAY:g} days)"
        case float():
            return f"`{value:g}`"
        case _:
            return f"`{value}`"


def settings_table() -> list[str]:
    rows = [
        f"| `{one.name}` | {shown(one.default)} | {DESCRIPTIONS[one.name]} |"
        for one in fields(Settings)
    ]
    return [*HEAD, *rows]


def test_the_documented_settings_are_those_of_the_code() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    first = lines.index(HEAD[0])
    documented = lines[first : lines.index("", first)]
    assert documented == settings_table()


def test_every_setting_is_described() -> None:
    assert set(DESCRIPTIONS) == {one.name for one in fields(Settings)}
