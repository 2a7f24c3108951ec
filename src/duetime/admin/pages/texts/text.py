"""A text of the pages, in each of their languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Text(NamedTuple):
    """A text in each language; `{names}` are filled in."""

    en: str
    fr: str


Texts = Mapping[str, Text]
