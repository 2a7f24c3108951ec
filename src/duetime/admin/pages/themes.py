"""Light or dark: the reader's choice, or else the browser's."""

from __future__ import annotations

from typing import Literal, get_args

Theme = Literal["auto", "light", "dark"]
THEMES: tuple[Theme, ...] = get_args(Theme)


def to_theme(text: str | None) -> Theme | None:
    return next((theme for theme in THEMES if theme == text), None)
