"""Command groups whose errors show what a user typed without obeying it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from duetime.model.safe_text import safe_text

# The root of typer's errors. Not imported by name: typer may bring a copy of click of its own.
CLICK_EXCEPTION: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)


class SafeGroup(TyperGroup):
    """Makes the text of an error safe before typer prints it."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _safe_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with _safe_errors():
            return super().invoke(ctx)


@contextmanager
def _safe_errors() -> Iterator[None]:
    try:
        yield
    except CLICK_EXCEPTION as error:
        for name in ("message", "option_name", "param_hint"):
            text = getattr(error, name, None)
            if isinstance(text, str):
                setattr(error, name, safe_text(text))
        raise
