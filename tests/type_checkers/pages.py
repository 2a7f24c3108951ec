"""The examples of the documentation as modules, for type checkers.

Each page becomes a package. Lines stay where they are on the page, so that an error names its line
there. Examples that await run in a coroutine, as a reader would write them.
"""

import ast
import re
from pathlib import Path

from run_page import ROOT, Block, read_blocks

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def write_pages(directory: Path) -> None:
    for page in PAGES:
        name = re.sub(r"\W", "_", str(page.relative_to(ROOT).with_suffix("")))
        write_page(page, directory / f"page_{name}")


def write_page(page: Path, package: Path) -> None:
    """Write the python blocks of a page: those for files to these files, the others to one module
    for each part of the page that begins anew."""
    blocks = [
        block
        for block in read_blocks(page)
        if block.language == "python" and not {"fragment", "signatures"} & block.marks.keys()
    ]
    files = {b.marks["file"]: b for b in blocks if "file" in b.marks}
    own = {Path(name).parts[0].removesuffix(".py") for name in files}
    for name, block in files.items():
        added = [b.code for b in blocks if b.marks.get("append") == name]
        write(package / name, "\n" * (block.line - 1) + "\n".join([block.code, *added]), own)
    part: list[Block] = []
    for block in [b for b in blocks if not {"file", "append"} & b.marks.keys()]:
        if "new" in block.marks:
            write_part(package, part, own)
            part = []
        part.append(block)
    write_part(package, part, own)


def write_part(package: Path, part: list[Block], own: set[str]) -> None:
    if part:
        write(package / f"line_{part[0].line}.py", part_source(part), own)


def part_source(part: list[Block]) -> str:
    """The blocks, each at its line of the page; inside a coroutine if any of them awaits."""
    awaits = any(map(needs_coroutine, part))
    lines = ["async def page() -> None:"] * awaits
    lines = [""] * (part[0].line - 1 - len(lines)) + lines
    for block in part:
        lines += [""] * (block.line - 1 - len(lines))
        lines += [f"    {line}" if awaits and line else line for line in block.code.splitlines()]
    return "\n".join(lines)


def needs_coroutine(block: Block) -> bool:
    try:
        compile(block.code, "block", "exec", dont_inherit=True)
    except SyntaxError:
        compile(block.code, "block", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        return True
    return False


def write(path: Path, source: str, own: set[str]) -> None:
    """Write a module. What it imports of the page's own files is below the page's package."""
    package = next(parent.name for parent in path.parents if parent.name.startswith("page_"))
    for name in own:
        source = re.sub(rf"^(\s*)from {name}\b", rf"\1from {package}.{name}", source, flags=re.M)
        source = re.sub(
            rf"^(\s*)import {name}$", rf"\1from {package} import {name}", source, flags=re.M
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source + "\n", encoding="utf-8")
