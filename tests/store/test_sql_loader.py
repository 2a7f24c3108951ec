"""`.sql` files are found, tokenized, and compiled for each dialect."""

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import get_args
from uuid import UUID

import pytest

from duetime.errors import ConfigError
from duetime.store.flow import Statement
from duetime.store.sql.statements.bulk_rows import BulkRows
from duetime.store.sql.statements.loader import (
    Dialect,
    ParamStyle,
    StatementLoader,
    StatementTemplate,
    load_template,
    place_columns,
)
from duetime.store.sql.statements.table_names import TableNames
from duetime.store.sql.statements.tokenizer import Token, tokenize

HOME = files("duetime.store.sql")
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
FILES = [
    file
    for folder in ("common", *DIALECTS)
    for file in sorted((HOME / "queries" / folder).iterdir(), key=lambda file: file.name)
]
STATEMENTS = sorted({file.name[:-4] for file in FILES if not file.name.startswith("_")})


def pieces(sql: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokenize(sql) if token.text.strip()]


def rendered(
    sql: str,
    dialect: Dialect = "postgres",
    names: TableNames | None = None,
    style: ParamStyle | None = None,
) -> str:
    loader = StatementLoader(dialect, names or TableNames(), style)
    return loader._compile(
        list(StatementTemplate.from_tokens(tokenize(sql)).select_lines(frozenset()))
    ).text


def selected(sql: str, *given: str) -> str:
    return "".join(
        token.text
        for token in StatementTemplate.from_tokens(tokenize(sql)).select_lines(frozenset(given))
    )


class TestTokens:
    def test_nothing_is_lost(self) -> None:
        for file in FILES:
            text = file.read_text("utf-8")
            assert "".join(token.text for token in tokenize(text)) == text

    @pytest.mark.parametrize(
        "quoted",
        [
            "'duetime_actions :name -- no'",
            "'it''s :name'",
            '"duetime_actions"',
            '"say "":name"""',
            "$$ duetime_actions :name ' $$",
            "$body$ :name $$ $body$",
            "'two\nlines :name'",
        ],
    )
    def test_quoted_text_is_one_token(self, quoted: str) -> None:
        assert pieces(f"SELECT {quoted}") == [("word", "SELECT"), ("quoted", quoted)]

    @pytest.mark.parametrize("comment", ["-- it's :name", "/* duetime_actions\n:name ' */"])
    def test_a_comment_is_one_token(self, comment: str) -> None:
        assert pieces(f"a {comment}\nb") == [
            ("word", "a"),
            ("comment", comment),
            ("word", "b"),
        ]

    def test_a_colon_alone_is_no_parameter(self) -> None:
        assert [kind for kind, _ in pieces("a::text b[1:2]")].count("parameter") == 0
        assert Token("parameter", ":now") in tokenize("(:now)")

    def test_an_unclosed_quote_is_reported_with_its_line(self) -> None:
        with pytest.raises(ValueError, match="line 2"):
            list(tokenize("SELECT 1,\n  'oops"))


class TestRendering:
    def test_tables_take_prefix_and_schema_and_indexes_only_the_prefix(self) -> None:
        sql = "CREATE INDEX duetime_actions_due ON duetime_actions (x)"
        assert rendered(sql, names=TableNames("my_", "app")) == (
            'CREATE INDEX "my_actions_due" ON "app"."my_actions" (x)'
        )

    def test_a_name_that_only_contains_the_prefix_is_unchanged(self) -> None:
        assert rendered("SELECT my_duetime_actions", names=TableNames("x_")) == (
            "SELECT my_duetime_actions"
        )

    def test_sqlite_takes_parameters_as_they_are(self) -> None:
        assert rendered("SELECT :id, 5 % 2", "sqlite") == "SELECT :id, 5 % 2"

    def test_postgres_parameters_are_cast_to_their_type(self) -> None:
        assert rendered("SELECT :id, :tenant, :due_at") == (
            "SELECT CAST(%(id)s AS uuid), CAST(%(tenant)s AS text), CAST(%(due_at)s AS bigint)"
        )

    def test_now_is_the_clock_of_the_database_unless_given(self) -> None:
        assert rendered("SELECT :now").startswith("SELECT coalesce(CAST(%(now)s AS bigint), ")
        assert "statement_timestamp()" in rendered("SELECT :now")

    def test_a_percent_sign_survives_the_driver(self) -> None:
        assert rendered("SELECT '100%', 5 % 2") == "SELECT '100%%', 5 %% 2"

    def test_comments_are_left_out(self) -> None:
        assert rendered("-- why\nSELECT 1 /* 100% */ -- end") == "SELECT 1"

    @pytest.mark.parametrize("prefix", ["", "1a", "a b", 'a"', "a;", "x" * 31])
    def test_a_prefix_that_needs_quoting_is_refused(self, prefix: str) -> None:
        with pytest.raises(ConfigError, match="prefix"):
            TableNames(prefix)

    def test_stores_with_other_names_listen_to_other_channels(self) -> None:
        names = [TableNames(), TableNames("a_"), TableNames("a_", "s"), TableNames(schema="s")]
        assert len({table_names.channel for table_names in names}) == 4
        assert len({table_names.migration_lock for table_names in names}) == 4
        assert all(
            re.fullmatch("[a-z][a-z0-9_]{1,62}", table_names.channel) for table_names in names
        )


class TestOptionalLines:
    SQL = "SELECT 1\nWHERE TRUE\n  AND a = :a -- if :a\n  AND b -- if :b\nLIMIT 1"

    def test_a_line_is_kept_if_its_parameter_is_given(self) -> None:
        assert "a = :a" in selected(self.SQL, "a")
        assert "AND b" not in selected(self.SQL, "a")
        assert selected(self.SQL, "a", "b").count("AND") == 2
        assert selected(self.SQL).split() == ["SELECT", "1", "WHERE", "TRUE", "LIMIT", "1"]

    def test_words_that_look_like_a_condition_are_none_in_quotes(self) -> None:
        assert selected("SELECT '-- if :a'") == "SELECT '-- if :a'"

    def test_a_parameter_that_is_none_counts_as_not_given(self) -> None:
        loader = StatementLoader("sqlite", TableNames())
        without = loader.sql(Statement("find_ids", {"kind": None}))
        with_kind = loader.sql(Statement("find_ids", {"kind": "mail"}))
        assert "a.kind = :kind" not in without
        assert "a.kind = :kind" in with_kind
        assert "h.kind = :kind" in with_kind

    def test_variants_are_compiled_once(self) -> None:
        loader = StatementLoader("sqlite", TableNames())
        window = {"window": 1, "limit": 1}
        first, _ = loader.bind(Statement("find_ids", {"kind": "a", **window}), None)
        assert loader.bind(Statement("find_ids", {"kind": "b", **window}), None)[0] is first


class TestColumns:
    SQL = "SELECT :each_id, :each_kind, f(:each_lane) FROM unnest(:arrays) AS n (:columns)"

    def placed(self, *varying: str) -> str:
        tokens = place_columns([*tokenize(self.SQL)], frozenset(varying))
        return "".join(token.text for token in tokens)

    def test_a_column_in_which_rows_differ_is_read_row_by_row(self) -> None:
        assert self.placed("id", "lane") == (
            "SELECT n.id, :all_kind, f(n.lane) FROM unnest(:rows_id, :rows_lane) AS n (id, lane)"
        )

    def test_a_column_that_the_statement_does_not_use_is_not_read(self) -> None:
        assert self.placed("id", "payload") == (
            "SELECT n.id, :all_kind, f(:all_lane) FROM unnest(:rows_id) AS n (id)"
        )

    def test_each_set_of_columns_has_a_text_of_its_own(self) -> None:
        loader, id = StatementLoader("postgres", TableNames()), [UUID(int=1), UUID(int=2)]
        normalize, varied = (
            loader.bind(Statement("add_fresh", {"rows": BulkRows(id=id, kind=kind)}), None)
            for kind in (["a", "a"], ["a", "b"])
        )
        assert "n.kind" not in normalize[0]
        assert "n.kind" in varied[0]
        assert dict(normalize[1])["all_kind"] == "a"  # type: ignore[arg-type]
        assert dict(varied[1])["rows_kind"] == '{"a","b"}'  # type: ignore[arg-type]


class TestFiles:
    @pytest.mark.parametrize("dialect", DIALECTS)
    def test_a_dialects_file_comes_before_the_common_one(self, dialect: Dialect) -> None:
        names = [file.name for file in (HOME / "queries" / "common").iterdir()]
        assert not {file.name for file in (HOME / "queries" / dialect).iterdir()} & {*names}, (
            "a file of both dialects must differ from the common one, so there is no common one"
        )

    @pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
    def test_each_file_holds_one_statement_and_begins_with_a_comment(
        self, file: Traversable
    ) -> None:
        text = file.read_text("utf-8")
        tokens = list(tokenize(text))
        bare = "".join(token.text for token in tokens if token.kind not in ("quoted", "comment"))
        assert not re.search(r"::|%|\?|;", bare)
        assert file.name.startswith("_") or tokens[0].kind == "comment"
        assert max(map(len, text.splitlines())) <= 100

    @pytest.mark.parametrize("dialect", DIALECTS)
    def test_all_compile_in_every_variant(self, dialect: Dialect) -> None:
        loader = StatementLoader(dialect, TableNames())
        for name in STATEMENTS:
            try:
                template = load_template(dialect, name)
            except LookupError:
                continue  # of the other dialect
            for given in (dict.fromkeys(template.optional, 1), {}):
                text = loader.sql(Statement(name, given))
                assert "{{" not in text
                assert text.strip()

    def test_each_statement_is_named_by_a_flow(self) -> None:
        python = "".join(file.read_text("utf-8") for file in Path(str(HOME)).rglob("*.py"))
        unused = [name for name in STATEMENTS if f'"{name}"' not in python]
        assert unused == []

    def test_an_unknown_name_is_reported(self) -> None:
        with pytest.raises(LookupError, match=r"no nonsense.sql for sqlite"):
            StatementLoader("sqlite", TableNames()).sql(Statement("nonsense", {}))


def test_a_parameter_that_nothing_gives_is_refused() -> None:
    """It would be null, and the statement would find nothing."""
    loader = StatementLoader("sqlite", TableNames())
    with pytest.raises(LookupError, match="'find_records' is not given ids"):
        loader.bind(Statement("find_records", {"finished": True}), None)
