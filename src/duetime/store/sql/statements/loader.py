"""Finds the `.sql` files and compiles them for a dialect.

A file holds one statement, written once for both dialects wherever they agree:

- `duetime_actions` stands for the table under its configured prefix and schema;
- `:name` is a parameter, rendered in the driver's style;
- a line that ends in `-- if :name` is kept only if that parameter is given, one that ends in
  `-- unless :name` only if it is not;
- `:each_kind`, for PostgreSQL, is the `kind` of each row of the parameter `:rows`, which the
  statement reads by `unnest(:arrays) AS n (:columns)`: a column of `n` if its values vary, else
  one value for all rows;
- `{{columns}}` includes the file `_columns.sql`.

A file in `queries/<dialect>` overrides one of the same name in `queries/common`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple, TypeAlias

from duetime.store.flow import Statement
from duetime.store.sql.statements import pg_columns, sqlite_columns
from duetime.store.sql.statements.bulk_rows import COLUMN_TYPES, BulkRows, column_type
from duetime.store.sql.statements.table_names import DEFAULT_PREFIX, TableNames
from duetime.store.sql.statements.tokenizer import Token, tokenize

Dialect = Literal["sqlite", "postgres"]
# How a driver writes a parameter: `:name`, `%(name)s`, or `$1`.
ParamStyle = Literal["named", "pyformat", "dollar"]

# Stable within a statement, so the planner may use it as an index condition; and current even in
# a transaction that began long ago.
POSTGRES_NOW = (
    "coalesce(CAST({} AS bigint), "
    "CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))"
)

# The PostgreSQL type of each parameter; others are text. Every statement casts its parameters, so
# that neither a NULL nor the type that a driver infers can change the plan.
PARAM_TYPES: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *(
                "id",
                "token",
                "before",
                "after",
                "beyond",
                "lowest",
                "highest",
                "follows_id",
                "api_key",
            ),
            *("parent", "id_from", "id_to", "below", "above", "row_below", "row_above", "until_id"),
            *("actions_parent", "actions_id_from", "actions_id_to"),
            *("history_parent", "history_id_from", "history_id_to"),
        ),
        "uuid",
    ),
    **dict.fromkeys(
        (
            *("rows", "ids", "leases", "names", "apart"),
            *("any_kinds", "any_states", "range_states"),
        ),
        "json",
    ),
    **dict.fromkeys(
        (
            *("due_at", "delay", "lease", "ahead", "since", "limit", "keep", "keep_failed"),
            *("due_from", "due_before", "lock", "keep_worker", "front", "alive"),
            *("window", "most", "after_at", "after_delay", "until", "expires_at"),
            *("created_from", "created_before", "finished_from", "finished_before"),
            *("instant_below", "instant_above", "instant_from", "instant_to"),
            *("audited_since", "audited_before", "follows_at", "paused_at", "paused_until"),
            *("shift", "keep_bulk"),
            *("due_sign", "failures_sign", "follows_key", "examined"),
            *("step", "number", "every", "idle", "minute"),
        ),
        "bigint",
    ),
    **dict.fromkeys(("allowed", "local", "status", "everywhere", "part"), "smallint"),
    **dict.fromkeys(("priority", "version", "pid", "concurrency", "ended"), "integer"),
    **dict.fromkeys(("parked", "waiting", "retrying", "overdue"), "integer"),
    **dict.fromkeys(("allowed", "local"), "smallint"),
    "rescuing": "boolean",
    **{f"all_{name}": type_ for name, type_ in COLUMN_TYPES.items() if type_ != "json"},
}

# A caller's driver may be configured to adapt these types in its own way, but sends text as text.
_SENT_AS_TEXT = frozenset({"uuid", "json", "boolean"})

BoundStatement = tuple[str, Mapping[str, object] | tuple[object, ...]]

# Markers in `.sql` files that `place_columns` replaces.
EACH_PREFIX, ARRAYS_MARKER, COLUMNS_MARKER = ":each_", ":arrays", ":columns"

_CONDITION = re.compile(r"--\s*(if|unless)\s+:(\w+)\s*$")
_SQL_FOLDER = files("duetime.store.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """A file of `migrations/<dialect>`: its number, its name, and the text of its statements."""

    version: int
    name: str
    statements: tuple[str, ...]

    def steps(self) -> list[Statement]:
        """Return the statements as steps of a flow."""
        return [Statement(f"{self.name}:{part}", {}) for part in range(len(self.statements))]


Variant: TypeAlias = "tuple[str, frozenset[str], frozenset[str] | None]"


@dataclass(frozen=True, slots=True)
class CompiledStatement:
    """A statement's text, and its parameters in the order of `$1`, `$2`."""

    text: str
    names: tuple[str, ...]


class StatementLoader:
    """Compiles the statements of one store, in one driver's parameter style."""

    def __init__(
        self, dialect: Dialect, names: TableNames, style: ParamStyle | None = None
    ) -> None:
        self.dialect = dialect
        self.names = names
        self._foreign = style is not None
        self._style: ParamStyle = style or ("named" if dialect == "sqlite" else "pyformat")
        self._compiled: dict[Variant, CompiledStatement] = {}
        self._for_callers: dict[ParamStyle, StatementLoader] = {}

    def for_caller(self, style: ParamStyle, found_schema: str | None = None) -> StatementLoader:
        """Return a loader of these statements for a caller's connection."""
        loader = self._for_callers.get(style)
        if loader is None or loader.names.found_schema != found_schema:
            names = replace(self.names, found_schema=found_schema)
            loader = self._for_callers[style] = StatementLoader(self.dialect, names, style)
        return loader

    def sql(self, statement: Statement) -> str:
        """Return the text of a statement, with the lines that its parameters select."""
        return self._compile_variant(self._variant(statement)).text

    def bind(self, statement: Statement, now: int | None) -> BoundStatement:
        """Return the text, and its parameters as the driver takes them: by name or by position."""
        compiled = self._compiled_for(statement)
        params: dict[str, object] = {"now": now}
        for name, value in statement.params.items():
            if not isinstance(value, BulkRows):
                params[name] = value
            elif self.dialect == "sqlite":
                params |= value.sqlite_params(name)
            else:
                params |= value.postgres_params(name, foreign=self._foreign)
        if self._style == "dollar":
            return compiled.text, tuple(params.get(name) for name in compiled.names)
        return compiled.text, {name: params.get(name) for name in compiled.names}

    def _compiled_for(self, statement: Statement) -> CompiledStatement:
        variant = self._variant(statement)
        compiled = self._compiled.get(variant)
        if compiled is None:
            compiled = self._compile_variant(variant)
            _check_given(statement, compiled.names)
            self._compiled[variant] = compiled
        return compiled

    def _variant(self, statement: Statement) -> Variant:
        """Return the name of a statement, the optional parameters that it has, and in which columns
        its rows differ."""
        template = load_template(self.dialect, statement.name)
        given = frozenset(
            name for name in template.optional if statement.params.get(name) is not None
        )
        rows = statement.params.get("rows") if template.has_rows else None
        return statement.name, given, rows.varying if isinstance(rows, BulkRows) else None

    def _compile_variant(self, variant: Variant) -> CompiledStatement:
        name, given, varying = variant
        template = load_template(self.dialect, name)
        return self._compile(list(place_columns(list(template.select_lines(given)), varying)))

    def migrations(self) -> list[Migration]:
        """Return all migrations, oldest first."""
        folder = _SQL_FOLDER / "migrations" / self.dialect
        files_ = (file.name for file in folder.iterdir())
        names = sorted(name.removesuffix(".sql") for name in files_ if name.endswith(".sql"))
        return [self._migration(name) for name in names]

    def _migration(self, name: str) -> Migration:
        parts = _migration_parts(self.dialect, name)
        statements = tuple(self._render(part, None) for part in parts)
        return Migration(int(name.split("_")[0]), name, statements)

    def _compile(self, tokens: Sequence[Token]) -> CompiledStatement:
        names = _parameters(tokens)
        return CompiledStatement(self._render(tokens, names), names)

    def _render(self, tokens: Iterable[Token], names: tuple[str, ...] | None) -> str:
        """Return the text of tokens. If `names` is None, the text has no parameters: it is a
        migration, which is also printed for people to read."""
        text = "".join(self._piece(token, names) for token in tokens)
        return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())

    def _piece(self, token: Token, names: tuple[str, ...] | None) -> str:
        if token.kind == "comment":
            return ""
        if token.kind == "word" and token.text.startswith(DEFAULT_PREFIX):
            return self.names.quoted(token.text)
        if names is None:
            return token.text
        if token.kind == "parameter":
            return self._parameter(token.text[1:], names)
        # Drivers of the pyformat style read a single percent sign as the start of a parameter.
        return token.text.replace("%", "%%") if self._style == "pyformat" else token.text

    def _parameter(self, name: str, names: tuple[str, ...]) -> str:
        parameter = {
            "named": f":{name}",
            "pyformat": f"%({name})s",
            "dollar": f"${names.index(name) + 1}",
        }[self._style]
        column = name.removeprefix("rows_")
        if column != name:
            return self._column(parameter, column)
        if self.dialect == "sqlite":
            return parameter
        if name == "now":
            return POSTGRES_NOW.format(parameter)
        type_ = PARAM_TYPES.get(name, "text")
        if self._foreign and type_ in _SENT_AS_TEXT:
            return f"CAST(CAST({parameter} AS text) AS {type_})"
        return f"CAST({parameter} AS {type_})"

    def _column(self, parameter: str, column: str) -> str:
        if self.dialect == "sqlite":
            return sqlite_columns.read_expression(parameter, column, column_type(column))
        return pg_columns.read_expression(parameter, column_type(column), foreign=self._foreign)


class LineCondition(NamedTuple):
    """A line is kept if the parameter is given, or, unless that is `wanted`, if it is not."""

    param: str
    wanted: bool


@dataclass(frozen=True, slots=True)
class StatementTemplate:
    """A statement whose optional lines are not selected yet. If it `has_rows`, their columns are
    not placed yet either."""

    tokens: tuple[Token, ...]
    optional: frozenset[str]
    has_rows: bool

    @classmethod
    def from_tokens(cls, tokens: Iterable[Token]) -> StatementTemplate:
        listed = tuple(tokens)
        optional = frozenset(found.param for found in map(_condition, listed) if found)
        return cls(listed, optional, any(token.text == ARRAYS_MARKER for token in listed))

    def select_lines(self, given: frozenset[str]) -> Iterator[Token]:
        for line in _lines(self.tokens):
            conditions = filter(None, map(_condition, line))
            if all((found.param in given) == found.wanted for found in conditions):
                yield from line


def place_columns(tokens: Sequence[Token], varying: frozenset[str] | None) -> Iterator[Token]:
    """Replace the column markers by parameters: an array for each column in `varying`, or for
    every column if that is None, and one value for each other column, which spares the server an
    array to read row by row."""
    columns = [
        token.text.removeprefix(EACH_PREFIX)
        for token in tokens
        if token.text.startswith(EACH_PREFIX)
    ]
    arrays = [name for name in dict.fromkeys(columns) if varying is None or name in varying]
    texts = {
        ARRAYS_MARKER: ", ".join(f":rows_{name}" for name in arrays),
        COLUMNS_MARKER: ", ".join(arrays),
    }
    texts |= {
        EACH_PREFIX + name: f"n.{name}" if name in arrays else f":all_{name}" for name in columns
    }
    for token in tokens:
        yield from tokenize(texts[token.text]) if token.text in texts else (token,)


# Files are read and tokenized once per process: only table names differ between stores.


@cache
def load_template(dialect: Dialect, name: str) -> StatementTemplate:
    if ":" not in name:
        return StatementTemplate.from_tokens(_expand(dialect, name))
    migration, part = name.split(":")
    return StatementTemplate.from_tokens(_migration_parts(dialect, migration)[int(part)])


@cache
def _migration_parts(dialect: Dialect, name: str) -> tuple[tuple[Token, ...], ...]:
    text = (_SQL_FOLDER / "migrations" / dialect / f"{name}.sql").read_text("utf-8")
    return tuple(tuple(part) for part in _split(tokenize(text)))


def _condition(token: Token) -> LineCondition | None:
    match = _CONDITION.match(token.text) if token.kind == "comment" else None
    return LineCondition(match[2], match[1] == "if") if match else None


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
        file = _SQL_FOLDER / "queries" / folder / f"{name}.sql"
        if file.is_file():
            return file.read_text("utf-8").strip()
    raise LookupError(f"there is no {name}.sql for {dialect}")


def _split(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    """Yield the statements of a script, without the semicolons between them."""
    part: list[Token] = []
    for token in tokens:
        if token.kind == "semicolon":
            yield part
            part = []
        else:
            part.append(token)
    if any(token.text.strip() and token.kind != "comment" for token in part):
        yield part


def _check_given(statement: Statement, names: Iterable[str]) -> None:
    """Refuse a statement with a parameter that its flow does not give. It would be null, so that
    the statement would find nothing. Columns of rows may be left out: they are null then."""
    bulk = [name for name, value in statement.params.items() if isinstance(value, BulkRows)]
    columns = ("all_", *(f"{name}_" for name in bulk)) if bulk else ()
    unknown = {*names} - {"now", *statement.params}
    if missing := sorted(name for name in unknown if not name.startswith(columns)):
        raise LookupError(f"the statement {statement.name!r} is not given {', '.join(missing)}")


def _parameters(tokens: Iterable[Token]) -> tuple[str, ...]:
    named = (token.text[1:] for token in tokens if token.kind == "parameter")
    return tuple(dict.fromkeys(named))
