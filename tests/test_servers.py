"""The PostgreSQL servers that other tests use."""

from collections.abc import Callable

import psycopg
import pytest

from servers import OwnServer


def ask(url: str, question: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(question.encode()).fetchone()
        assert row is not None
        return row[0]


def test_a_database_is_empty_and_our_own(postgres_url: str) -> None:
    assert ask(postgres_url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0
    assert "duetime_test_" in str(ask(postgres_url, "SELECT current_database()"))


def test_a_private_server_takes_parameters_and_keeps_data_over_a_crash(
    private_postgres: Callable[..., OwnServer],
) -> None:
    server = private_postgres(max_connections="31")
    assert ask(server.url, "SHOW max_connections") == "31"
    with psycopg.connect(server.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS n")
    server.stop("immediate")
    with pytest.raises(psycopg.OperationalError):
        ask(server.url, "SELECT 1")
    server.start(max_connections="32")
    assert ask(server.url, "SHOW max_connections") == "32"
    server.restart()
    assert ask(server.url, "SELECT n FROM kept") == 7
    assert ask(server.url, "SELECT pg_backend_pid()") != server.pid
