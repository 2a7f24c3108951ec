"""Finds the `.sql` files and compiles them for a dialect.

A file holds one statement, written once for both dialects wherever they agree:

- `duetime_actions` stands for the table under its configured prefix and schema;
- `:name` is a parameter, rendered in the driver's style;
- a line that ends in `-- if :name` is kept only if that parameter is given;
- `{{columns}}` includes the file `_columns.sql`.

A file in `queries/<dialect>` overrides one of the same name in `queries/common`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from duetime.store.flow import Statement
from duetime.store.sql.names import WRITTEN, Names
from duetime.store.sql.tokens import Token, tokenize

Dialect = Literal["sqlite", "postgres"]

# Stable within a statement, so the planner may use it as an index condition, and real also
# in a transaction that began long ago.
POSTGRES_NOW = (
    "coalesce(CAST(%(now)s AS bigint), "
    "CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))"
)

# What PostgreSQL shall take each parameter for. Said in every statement, so that neither a
# NULL nor a driver's idea of the type can change the plan.
PARAM_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("id", "token", "before"), "uuid"),
    **dict.fromkeys(("rows", "ids", "leases"), "json"),
    **dict.fromkeys(
        (
            *("due_at", "delay", "lease", "ahead", "since", "limit", "keep", "keep_failed"),
            *("due_from", "due_before", "lock", "keep_worker", "front"),
        ),
        "bigint",
    ),
    **dict.fromkeys(("priority", "version", "pid", "concurrency"), "integer"),
    "rescuing": "boolean",
}

_CONDITION = re.compile(r"--\s*if\s+:(\w+)\s*$")
_HERE = files("duetime.store.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One file of `migrations/<dialect>`: its number, and its statements ready to print."""

    version: int
    name: str
    statements: tuple[str, ...]

    def steps(self) -> list[Statement]:
        """Its statements ready to be performed."""
        return [Statement(f"{self.name}:{part}", {}) for part in range(len(self.statements))]


class Loader:
    """The statements of one store."""

    def __init__(self, dialect: Dialect, names: Names) -> None:
        self.dialect = dialect
        self.names = names
        self._compiled: dict[tuple[str, frozenset[str]], str] = {}

    def sql(self, statement: Statement) -> str:
        """The text for this statement with the parameters that it gives."""
        template = template_of(self.dialect, statement.name)
        given = frozenset(
            name for name in template.optional if statement.params.get(name) is not None
        )
        key = (statement.name, given)
        text = self._compiled.get(key)
        if text is None:
            text = self._compiled[key] = self._render(template.kept(given), parameters=True)
        return text

    def migrations(self) -> list[Migration]:
        """Every migration, oldest first."""
        folder = _HERE / "migrations" / self.dialect
        found = (file.name for file in folder.iterdir())
        names = sorted(name.removesuffix(".sql") for name in found if name.endswith(".sql"))
        return [self._migration(name) for name in names]

    def _migration(self, name: str) -> Migration:
        parts = _migration_parts(self.dialect, name)
        statements = tuple(self._render(part, parameters=False) for part in parts)
        return Migration(int(name.split("_")[0]), name, statements)

    def _render(self, tokens: Iterable[Token], *, parameters: bool) -> str:
        text = "".join(self._piece(token, parameters) for token in tokens)
        return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())

    def _piece(self, token: Token, parameters: bool) -> str:
        if token.kind == "comment":
            return ""
        if token.kind == "word" and token.text.startswith(WRITTEN):
            return self.names.of(token.text)
        if self.dialect == "sqlite" or not parameters:
            return token.text
        if token.kind == "parameter":
            return _postgres_parameter(token.text[1:])
        # With parameters, psycopg reads a bare percent sign as the start of one.
        return token.text.replace("%", "%%")


@dataclass(frozen=True, slots=True)
class Template:
    """A statement whose optional lines are not decided yet."""

    tokens: tuple[Token, ...]
    optional: frozenset[str]

    @classmethod
    def of(cls, tokens: Iterable[Token]) -> Template:
        all_of_them = tuple(tokens)
        return cls(all_of_them, frozenset(filter(None, map(_condition, all_of_them))))

    def kept(self, given: frozenset[str]) -> Iterator[Token]:
        for line in _lines(self.tokens):
            if all(_condition(token) in (None, *given) for token in line):
                yield from line


# Read and taken apart once per process: only the names of tables differ between stores.


@cache
def template_of(dialect: Dialect, name: str) -> Template:
    if ":" not in name:
        return Template.of(_expand(dialect, name))
    migration, part = name.split(":")
    return Template.of(_migration_parts(dialect, migration)[int(part)])


@cache
def _migration_parts(dialect: Dialect, name: str) -> tuple[tuple[Token, ...], ...]:
    text = (_HERE / "migrations" / dialect / f"{name}.sql").read_text("utf-8")
    return tuple(tuple(part) for part in _split(tokenize(text)))


def _condition(token: Token) -> str | None:
    match = _CONDITION.match(token.text) if token.kind == "comment" else None
    return match[1] if match else None


def _lines(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    line: list[Token] = []
    for token in tokens:
        line.append(token)
        if token.kind == "newline":
            yield line
            line = []
    yield line


def _expand(dialect: Dialect, name: str) -> Iterator[Token]:
    for token in tokenize(_read(dialect, name)):
        if token.kind == "fragment":
            yield from _expand(dialect, "_" + token.text.strip("{}"))
        else:
            yield token


def _read(dialect: Dialect, name: str) -> str:
    for folder in (dialect, "common"):
        file = _HERE / "queries" / folder / f"{name}.sql"
        if file.is_file():
            return file.read_text("utf-8").strip()
    raise LookupError(f"there is no {name}.sql for {dialect}")


def _split(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    """The statements of a script, without the semicolons between them."""
    part: list[Token] = []
    for token in tokens:
        if token.kind == "semicolon":
            yield part
            part = []
        else:
            part.append(token)
    if any(token.text.strip() and token.kind != "comment" for token in part):
        yield part


def _postgres_parameter(name: str) -> str:
    if name == "now":
        return POSTGRES_NOW
    return f"CAST(%({name})s AS {PARAM_TYPES.get(name, 'text')})"
