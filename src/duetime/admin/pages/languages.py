"""In which language a page is shown: the reader's choice, or what the browser asks for."""

from __future__ import annotations

from typing import Literal, get_args

Language = Literal["en", "fr"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
# Languages in their own words.
LANGUAGE_NAMES: dict[Language, str] = {"en": "English", "fr": "Français"}
MAX_HEADER_LENGTH = 1000


def to_language(text: str | None) -> Language | None:
    return next((language for language in LANGUAGES if language == text), None)


def language_asked_for(accept_language: str | None) -> Language:
    """Return the best of our languages for an `Accept-Language` header; English if it has none."""
    best: Language = "en"
    best_quality = 0.0
    for part in (accept_language or "")[:MAX_HEADER_LENGTH].split(","):
        tag, _, parameters = part.partition(";")
        language = to_language(tag.strip().lower().partition("-")[0])
        quality = _quality(parameters)
        if language is not None and quality > best_quality:
            best, best_quality = language, quality
    return best


def _quality(parameters: str) -> float:
    name, _, value = parameters.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        quality = float(value)
    except ValueError:
        return 0.0
    return quality if 0 <= quality <= 1 else 0.0
