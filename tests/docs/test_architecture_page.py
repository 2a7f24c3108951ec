"""ARCHITECTURE.md speaks only of files and names that exist, and of every folder."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "duetime"
PAGE = ROOT / "ARCHITECTURE.md"

QUOTED = re.compile(r"`([^`\n]+)`")
NAME = re.compile(r"[A-Za-z_][\w.]*")


def lines() -> Iterator[tuple[int, list[str]]]:
    """What stands in backticks outside of code blocks, line by line."""
    text = re.sub(
        r"^```.*?^```$",
        lambda block: "\n" * block[0].count("\n"),
        PAGE.read_text(),
        flags=re.M | re.S,
    )
    for number, line in enumerate(text.splitlines(), start=1):
        if quoted := QUOTED.findall(line):
            yield number, quoted


def is_path(text: str) -> bool:
    return re.fullmatch(r"[\w./-]+", text) is not None and (
        text.endswith("/") or Path(text).suffix in {".py", ".sql", ".md", ".toml"}
    )


def file_of(path: str) -> Path | None:
    return next((base / path for base in (SOURCE, ROOT) if (base / path).exists()), None)


def names_in(file: Path) -> set[str]:
    """`function`, `Class` and `Class.method`, as the page writes them."""
    found = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ClassDef):
            methods = [
                each
                for each in node.body
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            ]
            found |= {node.name, *(f"{node.name}.{method.name}" for method in methods)}
            found |= {
                f"{node.name}.{target.id}"
                for each in node.body
                if isinstance(each, ast.Assign)
                for target in each.targets
                if isinstance(target, ast.Name)
            }
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def wrong(quoted: list[str]) -> Iterator[str]:
    """A name belongs to the nearest file before it on its line."""
    file: Path | None = None
    for text in quoted:
        if is_path(text):
            file = file_of(text)
            if file is None:
                yield f"{text} does not exist"
        elif (
            file is not None
            and file.suffix == ".py"
            and NAME.fullmatch(text)
            and text not in names_in(file)
        ):
            yield f"{file.relative_to(ROOT)} has no {text}"


def test_every_path_and_name_exists() -> None:
    found = [f"line {number}: {fault}" for number, quoted in lines() for fault in wrong(quoted)]
    assert found == []


def test_every_folder_has_its_line() -> None:
    folders = {
        f"{path.parent.relative_to(SOURCE).as_posix()}/" for path in SOURCE.rglob("__init__.py")
    } - {"./"}
    assert folders - {text for _, quoted in lines() for text in quoted} == set()


@pytest.mark.parametrize(
    ("quoted", "fault"),
    [
        (["app.py", "Duetime.schedule"], None),
        (["app.py", "Duetime.sheduel"], "src/duetime/app.py has no Duetime.sheduel"),
        (["no/such.py"], "no/such.py does not exist"),
    ],
)
def test_a_fault_would_be_noticed(quoted: list[str], fault: str | None) -> None:
    assert list(wrong(quoted)) == ([] if fault is None else [fault])
