"""For how long a handler, and what it started, may use the connection that it was lent: the next
handler has the same one."""

from __future__ import annotations

from contextvars import ContextVar

from duetime.errors import ConfigError


class Loan:
    over = False


# Tasks, and threads of `asyncio.to_thread`, inherit it from the handler that started them.
_ours: ContextVar[Loan | None] = ContextVar("duetime_loan", default=None)


def lend() -> Loan:
    """To whatever runs in this context, and what that starts."""
    loan = Loan()
    _ours.set(loan)
    return loan


def refuse_late() -> None:
    loan = _ours.get()
    if loan is not None and loan.over:
        raise ConfigError(
            "a task that a transactional=True handler started used its connection after the "
            "handler had ended: await the task inside the handler, or give it a connection of "
            "its own"
        )
