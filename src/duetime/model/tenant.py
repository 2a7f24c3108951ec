"""The current tenant and actor: set for a context, or passed explicitly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Final, Literal

from duetime.errors import ConfigError


class _Any(Enum):
    any = "any"

    def __repr__(self) -> str:
        return "ANY"


class _Ambient(Enum):
    ambient = "ambient"

    def __repr__(self) -> str:
        return "AMBIENT"


ANY: Final = _Any.any
AMBIENT: Final = _Ambient.ambient

AnyTenant = Literal[_Any.any]
Ambient = Literal[_Ambient.ambient]
Scope = str | None | AnyTenant


def sees(scope: Scope, tenant: str | None) -> bool:
    """Return whether rows of this tenant are within the scope."""
    return scope is ANY or scope == tenant


# The actor if none is given.
SYSTEM = "system"

_tenant: ContextVar[str | None] = ContextVar("duetime_tenant", default=None)
_by: ContextVar[str] = ContextVar("duetime_by", default=SYSTEM)


def current_tenant() -> str | None:
    """The tenant of the running handler, or of the enclosing `app.acting(...)`."""
    return _tenant.get()


def current_by() -> str:
    return _by.get()


@contextmanager
def acting(*, tenant: str | Ambient | None = AMBIENT, by: str | None = None) -> Iterator[None]:
    """Set the default tenant and actor of every verb inside the context."""
    tenant_token = _tenant.set(current_tenant() if tenant is AMBIENT else tenant)
    by_token = _by.set(current_by() if by is None else by)
    try:
        yield
    finally:
        try:
            _by.reset(by_token)
            _tenant.reset(tenant_token)
        except ValueError:
            raise ConfigError(
                "app.acting() was entered in one context and left in another, so its tenant and "
                "actor had no effect in between: a framework ran a generator written with `def` "
                "in a thread; write it with `async def`"
            ) from None


def enter(tenant: str | None, by: str) -> None:
    """Make them current for the rest of this context. Each run has a new context, so default
    values need not be set."""
    if tenant is not None:
        _tenant.set(tenant)
    if by != SYSTEM:
        _by.set(by)
