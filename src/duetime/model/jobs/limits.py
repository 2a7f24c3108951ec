"""The limits that a job sets for the runs of its occurrences: a retry policy and a timeout."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from duetime.model.actions.retry import Retry
from duetime.model.clock import seconds_of
from duetime.model.jobs.job import JobDefinition


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What a job created at run time says about its runs; what is None is left to the handler."""

    retry: Retry | None = None
    timeout: float | None = None

    def retry_beside(self, handler: Retry) -> Retry:
        """Return the policy of a run. Which exceptions are retried stays with the handler: a store
        keeps their names only, and imports nothing that it names."""
        own = self.retry
        return handler if own is None else own.for_exceptions_of(handler)


def limits_of(definition: JobDefinition) -> RunLimits:
    """Return the limits of a stored job. Raises ValueError if their text cannot be read."""
    retry, timeout = definition.retry, definition.timeout
    return RunLimits(
        None if retry is None else retry_of(retry),
        None if timeout is None else seconds_of(timeout),
    )


def retry_of(text: str) -> Retry:
    """Return the policy whose `repr` this is; nothing in the text is executed. Raises ValueError if
    it cannot be read."""
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError("it is not written as Retry(name=value, ...)")
        given = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        if given.get("delays") is not None:
            return Retry(delays=given["delays"])
        return Retry(**given)
    except (SyntaxError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"retry {text!r} cannot be read: {error}") from None
