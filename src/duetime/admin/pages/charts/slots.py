"""The slots of workers: how many are in use."""

from __future__ import annotations

from markupsafe import Markup

from duetime.admin.pages.charts.svg import chart, rect, text, width_of
from duetime.admin.pages.formats.numbers import compact, whole
from duetime.admin.pages.formats.phrases import LABELLED, Wording
from duetime.admin.pages.languages import Language

WIDTH, HEIGHT = 240, 32
BAR_TOP, BAR_HEIGHT = 22, 8
# Beside the remark.
COUNTS_WIDTH = 130
ALL_USED = Wording("all in use", "toutes occupées")
NO_SLOTS = Wording("no slots", "aucune place")
OF = Wording("{used} of {total}", "{used} sur {total}")


def slots_bar(used: int, total: int, label: str, language: Language) -> Markup:
    """Return a bar as long as the part of slots in use, under `87 / 200`."""
    used, total = max(used, 0), max(total, 0)
    part = min(used, total) / total if total else 0.0
    full = total > 0 and used >= total
    remark = NO_SLOTS if not total else ALL_USED if full else None
    words = OF.to(language, used=whole(used, language), total=whole(total, language))
    content = [
        text(0, 14, _counts(used, total, language), "strong"),
        rect(0, BAR_TOP, WIDTH, BAR_HEIGHT, "track", 4),
    ]
    if remark is not None:
        words = f"{words}, {remark.to(language)}"
        content.append(text(WIDTH, 14, remark.to(language), "late-text" if full else "", "end"))
    if used and total:
        # One slot of a thousand is seen, too.
        length = max(part * WIDTH, BAR_HEIGHT)
        content.append(rect(0, BAR_TOP, length, BAR_HEIGHT, "late" if full else "running", 4))
    return chart("slots", WIDTH, HEIGHT, LABELLED.to(language, label=label, text=words), *content)


def _counts(used: int, total: int, language: Language) -> str:
    """Return the exact counts, if there is room for them."""
    exact = f"{whole(used, language)} / {whole(total, language)}"
    return exact if width_of(exact) <= COUNTS_WIDTH else f"{compact(used)} / {compact(total)}"
