"""Which templates of phrases stand in the code, read from its syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "duetime"


def templates_in_code() -> dict[str, str]:
    """Return each template that is given to `phrase`, with its place."""
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for call in calls_of(tree, "phrase"):
            texts = list(texts_of(call.args[0], tree))
            place = f"{path.relative_to(SOURCE).as_posix()}:{call.lineno}"
            assert texts, f"{place}: write the template where this test can read it"
            found |= dict.fromkeys(texts, place)
    return found


def calls_of(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def texts_of(node: ast.expr, tree: ast.Module) -> Iterator[str]:
    """The strings that an expression may be: names stand for all that is assigned to them."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp():
            yield from texts_of(node.body, tree)
            yield from texts_of(node.orelse, tree)
        case ast.Subscript():
            yield from texts_of(node.value, tree)
        case ast.Dict():
            for value in node.values:
                yield from texts_of(value, tree)
        case ast.Tuple() | ast.List():
            for value in node.elts:
                yield from texts_of(value, tree)
        case ast.Name():
            for value in assigned(node.id, tree):
                yield from texts_of(value, tree)


def assigned(name: str, tree: ast.Module) -> Iterator[ast.expr]:
    """What is assigned to a name: directly, or by a loop over what another name holds."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)]) if target == name:
                yield node.value
            case ast.For(target=ast.Tuple(elts=names), iter=iterated):
                if any(isinstance(part, ast.Name) and part.id == name for part in names):
                    yield iterated
