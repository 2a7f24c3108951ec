"""The code speaks the words of the glossary: one meaning each, the nouns named."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "duetime"
TESTS = ROOT / "tests"

# Words that once meant several things, as parts of a name. The glossary has the words to use.
RETIRED = {
    "aside",
    "astray",
    "bell",
    "born",
    "fruitful",
    "heard",
    "lack",
    "lacking",
    "lacks",
    "telling",
    "told",
    "unasked",
    "wish",
    "withheld",
}
# Each of these is part of what is stored or public, and so keeps its name.
KEPT: dict[str, str] = {
    "lacking": "a public attribute of WaitTimeout",
    "poll_unheard": "a setting",
}
# Constants must say of what they are the most, the first or the longest.
BARE_CONSTANTS = {"AGAIN", "EVERY", "FEW", "FIRST", "LAST", "LONGEST", "MANY", "MOST", "MUCH"}
BARE_CONSTANTS |= {"PATIENCE", "PAUSE", "SHORTEST"}


def modules(*folders: Path) -> Iterator[tuple[str, ast.Module]]:
    for folder in folders:
        yield from modules_in(folder)


@cache
def modules_in(folder: Path) -> list[tuple[str, ast.Module]]:
    return [
        (path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(folder.rglob("*.py"))
    ]


def defined(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every name that a module gives to something, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno


def words(name: str) -> set[str]:
    return set(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_"))


def test_no_class_name_is_used_twice() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file, tree in modules(SOURCE):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{file}:{node.lineno}")
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_name_holds_a_retired_word() -> None:
    found = [
        f"{file}:{line}: {name}"
        for file, tree in modules(SOURCE, TESTS)
        for name, line in defined(tree)
        if words(name) & RETIRED and name not in KEPT
    ]
    assert found == []


def test_every_exception_is_still_needed() -> None:
    names = {name for _, tree in modules(SOURCE) for name, _ in defined(tree)}
    assert set(KEPT) - names == set()


def test_names_say_what_they_hold() -> None:
    found = [
        f"{file}:{line}: {name}"
        for file, tree in modules(SOURCE, TESTS)
        for name, line in defined(tree)
        if name == "one" or name.lstrip("_") in BARE_CONSTANTS
    ]
    assert found == []


def test_every_test_names_its_subject() -> None:
    """`test_one_that_was_retired` says what was retired only to those who see the test above."""
    found = [
        f"{file}:{line}: {name}"
        for file, tree in modules(TESTS)
        for name, line in defined(tree)
        if re.match(r"test_(an?_\w+_)?ones?(_that|_which|_of_an?|_among)_", name)
    ]
    assert found == []


def docstrings(*folders: Path) -> Iterator[tuple[str, str]]:
    for file, tree in modules(*folders):
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield file, ast.get_docstring(node) or ""


def test_every_docstring_stands_alone() -> None:
    """One that begins with "The same" says nothing where the other cannot be seen."""
    found = [
        f"{file}: {text.splitlines()[0]}"
        for file, text in docstrings(SOURCE, TESTS)
        if text.startswith("The same")
    ]
    assert found == []


def test_no_docstring_of_a_test_holds_a_retired_word() -> None:
    found = [
        f"{file}: {word} in {text.splitlines()[0]}"
        for file, text in docstrings(TESTS)
        if file != "tests/test_vocabulary.py"
        for word in re.findall(r"\b[a-z]+\b", re.sub(r"`[^`]*`", "", text.lower()))
        if word in RETIRED
    ]
    assert found == []
