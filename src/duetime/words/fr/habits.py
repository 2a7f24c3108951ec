"""How French writes numbers, durations and dates."""

from __future__ import annotations

from duetime.words.habits import NARROW_NO_BREAK_SPACE, Habits

FRENCH_HABITS = Habits(
    NARROW_NO_BREAK_SPACE,
    ",",
    (
        *("janv.", "févr.", "mars", "avr.", "mai", "juin"),
        *("juil.", "août", "sept.", "oct.", "nov.", "déc."),
    ),
    ("lun.", "mar.", "mer.", "jeu.", "ven.", "sam.", "dim."),
    "1er",
    "j",
)
