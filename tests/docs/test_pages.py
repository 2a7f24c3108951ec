"""Pages are short, reachable, and link to what exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
READMES = [ROOT / "README.md", *sorted((ROOT / "examples").rglob("README.md"))]
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
MOST_LINES = 200

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))


def links(page: Path) -> list[tuple[Path, str]]:
    """File and anchor of every link into the repository."""
    prose = FENCED.sub("", page.read_text(encoding="utf-8"))
    targets = [match["target"] for match in LINK.finditer(prose)]
    pairs = [target.partition("#") for target in targets if "://" not in target]
    return [((page.parent / path).resolve() if path else page, anchor) for path, _, anchor in pairs]


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    prose = FENCED.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@every_page
def test_a_page_is_short(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("page", [*READMES, *PAGES], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    broken = [
        f"{target}#{anchor}"
        for target, anchor in links(page)
        if not target.exists() or (anchor and anchor not in anchors(target))
    ]
    assert broken == []


def test_the_index_links_every_page() -> None:
    index = DOCS / "README.md"
    linked = {target for target, _ in links(index)}
    assert set(PAGES) - {index} <= linked
