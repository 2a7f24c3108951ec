"""Pages say at their top what is to be installed for their examples."""

import ast
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from run_page import Block, is_not_for_a_page, read_blocks, read_commands

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
INSTALL = re.compile(r"pip install (?P<what>[^`\n#]+)")

# What an import, or a word in an example, is installed as; all else goes by its own name.
EXTRAS = {
    "sqlalchemy": "duetime[sqlalchemy]",
    "psycopg": "duetime[postgres]",
    "pytest_asyncio": "pytest-asyncio",
    "opentelemetry": "opentelemetry-sdk",
}
WORDS = {
    '"duetime", ': "duetime[cli]",
    "aiosqlite": "aiosqlite",
    'Duetime("postgresql': "duetime[postgres]",
    "Duetime.connect(": "duetime[client]",
    "--asyncio-mode": "pytest-asyncio",
}
COMMANDS = {"duetime": "duetime[cli]", "pytest": "pytest"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_names_what_it_needs(page: Path) -> None:
    blocks = [block for block in read_blocks(page) if "fragment" not in block.marks]
    needed = {need for block in blocks for need in needs(block, written(blocks))}
    assert needed <= installed(page.read_text("utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_before_anything_else(page: Path) -> None:
    text = page.read_text("utf-8")
    first = INSTALL.search(text)
    if first is None:
        return
    line = text[: first.start()].count("\n") + 1
    assert [block.line for block in read_blocks(page) if block.line < line] == []


def written(blocks: list[Block]) -> set[str]:
    """Modules that the page itself brings."""
    files = [Path(block.marks["file"]) for block in blocks if "file" in block.marks]
    return {file.parts[0].removesuffix(".py") for file in files}


def needs(block: Block, written: set[str]) -> Iterator[str]:
    if block.language == "python":
        known = {*sys.stdlib_module_names, "duetime", *written}
        for name in imported(block.code) - known:
            # What duetime itself needs comes with it.
            if name != "pydantic":
                yield EXTRAS.get(name, name)
    if block.language == "console":
        for _, command, _ in read_commands(block):
            if not is_not_for_a_page(command, ""):
                words = {word for word in shlex.split(command) if word in COMMANDS}
                yield from (COMMANDS[word] for word in words)
    if "postgres" in block.marks:
        yield "duetime[postgres]"
    yield from (package for word, package in WORDS.items() if word in block.code)


def imported(code: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").partition(".")[0])
    return names


def installed(text: str) -> set[str]:
    """Packages, and each extra of duetime by itself."""
    found = {word for match in INSTALL.finditer(text) for word in shlex.split(match["what"])}
    extras = {extra for word in found for extra in re.findall(r"duetime\[([\w,]+)\]", word)}
    return found | {f"duetime[{name}]" for extra in extras for name in extra.split(",")}
