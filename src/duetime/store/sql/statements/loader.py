"""Finds the `.sql` files and compiles them for a dialect.

A file holds one statement, written once for both dialects wherever they agree:

- `duetime_actions` stands for the table under its configured prefix and schema;
- `:name` is a parameter, rendered in the driver's style;
- a line that ends in `-- if :name` is kept only if that parameter is given;
- `:each_kind`, for PostgreSQL, is the kind of each row `n` of the table `:rows`, which stands in
  `unnest(:arrays) AS n (:columns)`: a column if rows differ in it, else one value for all;
- `{{columns}}` includes the file `_columns.sql`.

A file in `queries/<dialect>` overrides one of the same name in `queries/common`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Literal

from duetime.store.flow import Statement
from duetime.store.sql.statements import pg_columns as arrays
from duetime.store.sql.statements import sqlite_columns as cells
from duetime.store.sql.statements.bulk_rows import COLUMN_TYPES, Table, type_of
from duetime.store.sql.statements.table_names import WRITTEN, Names
from duetime.store.sql.statements.tokenizer import Token, tokenize

Dialect = Literal["sqlite", "postgres"]
# How a driver writes a parameter: `:name`, `%(name)s`, or `$1`.
Style = Literal["named", "pyformat", "dollar"]

# Stable within a statement, so the planner may use it as an index condition, and real also
# in a transaction that began long ago.
POSTGRES_NOW = (
    "coalesce(CAST({} AS bigint), "
    "CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))"
)

# What PostgreSQL shall take each parameter for. Said in every statement, so that neither a
# NULL nor a driver's idea of the type can change the plan.
PARAM_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("id", "token", "before", "after", "beyond", "lowest", "highest"), "uuid"),
    **dict.fromkeys(("rows", "ids", "leases", "names", "apart"), "json"),
    **dict.fromkeys(
        (
            *("due_at", "delay", "lease", "ahead", "since", "limit", "keep", "keep_failed"),
            *("due_from", "due_before", "lock", "keep_worker", "front", "alive"),
            *("window", "after_at", "after_delay", "until"),
        ),
        "bigint",
    ),
    **dict.fromkeys(("priority", "version", "pid", "concurrency"), "integer"),
    "rescuing": "boolean",
    **{f"all_{name}": type_ for name, type_ in COLUMN_TYPES.items() if type_ != "json"},
}

# Other drivers, or their users, may have ideas of their own about these; all agree on text.
_FOREIGN = frozenset({"uuid", "json", "boolean"})

Bound = tuple[str, Mapping[str, object] | tuple[object, ...]]

# What `spread` writes in other words.
EACH, ARRAYS, COLUMNS = ":each_", ":arrays", ":columns"

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


@dataclass(frozen=True, slots=True)
class Compiled:
    """A statement's text, and its parameters in the order in which `$1`, `$2` name them."""

    text: str
    names: tuple[str, ...]


class Loader:
    """The statements of one store, in the way one driver writes parameters."""

    def __init__(self, dialect: Dialect, names: Names, style: Style | None = None) -> None:
        self.dialect = dialect
        self.names = names
        self._foreign = style is not None
        self._style: Style = style or ("named" if dialect == "sqlite" else "pyformat")
        self._compiled: dict[tuple[str, frozenset[str], frozenset[str] | None], Compiled] = {}
        self._for_callers: dict[Style, Loader] = {}

    def for_caller(self, style: Style, located: str | None = None) -> Loader:
        """The same statements for a connection of the caller's."""
        known = self._for_callers.get(style)
        if known is None or known.names.located != located:
            names = replace(self.names, located=located)
            known = self._for_callers[style] = Loader(self.dialect, names, style)
        return known

    def sql(self, statement: Statement) -> str:
        """The text for this statement with the parameters that it gives."""
        return self._compiled_of(statement).text

    def bound(self, statement: Statement, now: int | None) -> Bound:
        """The text, and its parameters as a driver takes them: by name, or by their order."""
        compiled = self._compiled_of(statement)
        given: dict[str, object] = {"now": now}
        for name, value in statement.params.items():
            if not isinstance(value, Table):
                given[name] = value
            elif self.dialect == "sqlite":
                given |= value.cells(name)
            else:
                given |= value.arrays(name, foreign=self._foreign)
        if self._style == "dollar":
            return compiled.text, tuple(given.get(name) for name in compiled.names)
        return compiled.text, {name: given.get(name) for name in compiled.names}

    def _compiled_of(self, statement: Statement) -> Compiled:
        template = template_of(self.dialect, statement.name)
        given = frozenset(
            name for name in template.optional if statement.params.get(name) is not None
        )
        table = statement.params.get("rows") if template.spreads else None
        differing = table.differing if isinstance(table, Table) else None
        key = (statement.name, given, differing)
        found = self._compiled.get(key)
        if found is None:
            tokens = spread(list(template.kept(given)), differing)
            found = self._compiled[key] = self._compile(list(tokens))
        return found

    def migrations(self) -> list[Migration]:
        """Every migration, oldest first."""
        folder = _HERE / "migrations" / self.dialect
        found = (file.name for file in folder.iterdir())
        names = sorted(name.removesuffix(".sql") for name in found if name.endswith(".sql"))
        return [self._migration(name) for name in names]

    def _migration(self, name: str) -> Migration:
        parts = _migration_parts(self.dialect, name)
        statements = tuple(self._render(part, None) for part in parts)
        return Migration(int(name.split("_")[0]), name, statements)

    def _compile(self, tokens: Sequence[Token]) -> Compiled:
        names = _parameters(tokens)
        return Compiled(self._render(tokens, names), names)

    def _render(self, tokens: Iterable[Token], names: tuple[str, ...] | None) -> str:
        """Without names there are no parameters, and what stands there is for people to read."""
        text = "".join(self._piece(token, names) for token in tokens)
        return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())

    def _piece(self, token: Token, names: tuple[str, ...] | None) -> str:
        if token.kind == "comment":
            return ""
        if token.kind == "word" and token.text.startswith(WRITTEN):
            return self.names.of(token.text)
        if names is None:
            return token.text
        if token.kind == "parameter":
            return self._parameter(token.text[1:], names)
        # Such drivers read a bare percent sign as the start of a parameter.
        return token.text.replace("%", "%%") if self._style == "pyformat" else token.text

    def _parameter(self, name: str, names: tuple[str, ...]) -> str:
        written = {
            "named": f":{name}",
            "pyformat": f"%({name})s",
            "dollar": f"${names.index(name) + 1}",
        }[self._style]
        column = name.removeprefix("rows_")
        if column != name:
            return self._column(written, column)
        if self.dialect == "sqlite":
            return written
        if name == "now":
            return POSTGRES_NOW.format(written)
        type_ = PARAM_TYPES.get(name, "text")
        if self._foreign and type_ in _FOREIGN:
            return f"CAST(CAST({written} AS text) AS {type_})"
        return f"CAST({written} AS {type_})"

    def _column(self, parameter: str, column: str) -> str:
        if self.dialect == "sqlite":
            return cells.reading(parameter, column, type_of(column))
        return arrays.reading(parameter, type_of(column), foreign=self._foreign)


@dataclass(frozen=True, slots=True)
class Template:
    """A statement whose optional lines are not decided yet. One that `spreads` has rows, of which
    it is not known yet in what they differ."""

    tokens: tuple[Token, ...]
    optional: frozenset[str]
    spreads: bool

    @classmethod
    def of(cls, tokens: Iterable[Token]) -> Template:
        all_of_them = tuple(tokens)
        optional = frozenset(filter(None, map(_condition, all_of_them)))
        return cls(all_of_them, optional, any(token.text == ARRAYS for token in all_of_them))

    def kept(self, given: frozenset[str]) -> Iterator[Token]:
        for line in _lines(self.tokens):
            if all(_condition(token) in (None, *given) for token in line):
                yield from line


def spread(tokens: Sequence[Token], differing: frozenset[str] | None) -> Iterator[Token]:
    """The columns of a table in their places. Each that need not be an array is one the less to
    read, row by row. If nobody says which ones differ, all do."""
    asked = [token.text.removeprefix(EACH) for token in tokens if token.text.startswith(EACH)]
    apart = [n for n in dict.fromkeys(asked) if differing is None or n in differing]
    places = {ARRAYS: ", ".join(f":rows_{name}" for name in apart), COLUMNS: ", ".join(apart)}
    places |= {EACH + name: f"n.{name}" if name in apart else f":all_{name}" for name in asked}
    for token in tokens:
        yield from tokenize(places[token.text]) if token.text in places else (token,)


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


def _parameters(tokens: Iterable[Token]) -> tuple[str, ...]:
    named = (token.text[1:] for token in tokens if token.kind == "parameter")
    return tuple(dict.fromkeys(named))
