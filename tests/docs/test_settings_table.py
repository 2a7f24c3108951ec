"""The table of settings in the documentation names those of the code, and their defaults."""

from dataclasses import fields
from pathlib import Path

from duetime.config import Settings

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
HEAD = ["| name | default | meaning |", "|---|---|---|"]
DAY = 86_400


def shown(value: object) -> str:
    match value:
        case None | "" | ():
            return "none"
        case bool():
            return f"`{str(value).lower()}`"
        case float() if value % DAY == 0:
            return f"`{value:.0f}` ({value / DAY:g} days)"
        case float():
            return f"`{value:g}`"
        case (*names,) if names:
            return ", ".join(f"`{name}`" for name in names)
        case _:
            return f"`{value}`"


def test_the_documented_settings_are_those_of_the_code() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    first = lines.index(HEAD[0])
    assert lines[first + 1] == HEAD[1]
    rows = [line.strip("| ").split(" | ") for line in lines[first + 2 : lines.index("", first)]]
    wanted = [(f"`{setting.name}`", shown(setting.default)) for setting in fields(Settings)]
    assert [(name, default) for name, default, _ in rows] == wanted
    assert all(meaning.strip() for *_, meaning in rows)
