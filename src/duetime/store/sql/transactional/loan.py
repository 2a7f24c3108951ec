"""Limits a lent connection to its handler and the tasks that the handler started.

The next handler is lent the same connection, so late use must be refused."""

from __future__ import annotations

from contextvars import ContextVar

from duetime.errors import ConfigError


class Loan:
    """A handler's use of a connection; `over` is set when the handler has finished."""

    over = False


# Tasks and `asyncio.to_thread` threads inherit the loan from the handler that started them.
_current_loan: ContextVar[Loan | None] = ContextVar("duetime_loan", default=None)


def lend() -> Loan:
    """Begin a loan for the current context and the tasks started in it."""
    loan = Loan()
    _current_loan.set(loan)
    return loan


def refuse_after_loan() -> None:
    loan = _current_loan.get()
    if loan is not None and loan.over:
        raise ConfigError(
            "a task that a transactional=True handler started used its connection after the "
            "handler had ended: await the task inside the handler, or give it a connection of "
            "its own"
        )
