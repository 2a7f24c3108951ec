"""Attributes of an app that cannot be assigned, since other parts of the app hold them, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from duetime.errors import ConfigError

_IN_TESTS = "In a test write `with app.testing.override(clock=FakeClock()):`"
# What to do instead.
FIXED_ATTRIBUTES = {
    "clock": f"{_IN_TESTS}, elsewhere Duetime(..., clock=...)",
    "store": f"{_IN_TESTS}, which opens a store of its own, or override(store=...), or "
    "override(url=...); elsewhere Duetime(..., store=...)",
    "settings": f"{_IN_TESTS}, which takes the url of another store, too; elsewhere give settings "
    "as arguments, Duetime(url, lease=30), or as DUETIME_<NAME>",
    "runtime": f"{_IN_TESTS}",
}


class HasFixedAttributes:
    """Refuses assignments to them."""

    if not TYPE_CHECKING:  # Type checkers know that properties cannot be assigned.

        def __setattr__(self, name: str, value: object) -> None:
            if name in FIXED_ATTRIBUTES:
                raise ConfigError(
                    f"app.{name} cannot be assigned: store, workers and handlers would go on with "
                    f"the former {name}. {FIXED_ATTRIBUTES[name]}"
                )
            super().__setattr__(name, value)
