"""Where a server is, and how its client says who it is."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from duetime.errors import ConfigError, shown
from duetime.model.store_url import mask_password

Token = str | Callable[[], str]

EXAMPLE = "give the address under which the API is mounted, such as https://host/duetime"


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address under which an API is mounted, without a slash at its end. A `loopback` one is
    on this machine."""

    url: str
    loopback: bool

    def __str__(self) -> str:
        return self.url


def to_server_address(url: str) -> ServerAddress:
    """Return the address. ConfigError for one to which a token would travel in clear text."""
    if not isinstance(url, str):
        raise ConfigError(f"{shown(url)} is no address: {EXAMPLE}")
    parts = _split(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{shown(mask_password(url))} is no address of a server: {EXAMPLE}")
    if "@" in parts.netloc:
        raise ConfigError(f"{parts.hostname}: the address holds a user or a password: give token=")
    if parts.query or parts.fragment:
        raise ConfigError(f"{shown(url)} has a query or a fragment: {EXAMPLE}")
    loopback = _is_loopback(parts.hostname)
    if parts.scheme == "http" and not loopback:
        raise ConfigError(
            f"{shown(url)} would send the token in clear text: give https://; plain http:// is for "
            "servers on this machine only"
        )
    return ServerAddress(url.rstrip("/"), loopback)


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ConfigError(f"{shown(mask_password(url))} is no address: {error}") from None
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True, slots=True)
class Credential:
    """The token that a client sends, or the function that is asked for one before each request.
    It is shown nowhere."""

    token: Token | None = field(repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.token, str):
            _checked(self.token)
        elif self.token is not None and not callable(self.token):
            raise ConfigError(
                f"the token is of type {type(self.token).__name__}: give a text, or a function "
                "that returns one"
            )

    def headers(self) -> dict[str, str]:
        if self.token is None:
            return {}
        token = self.token if isinstance(self.token, str) else self.token()
        return {"Authorization": f"Bearer {_checked(token)}"}


def _checked(token: object) -> str:
    """Return the token without white space around it, which files end with."""
    text = token.strip() if isinstance(token, str) else ""
    if not text:
        raise ConfigError(
            "the token is empty: give an API key, dt_..., or a token of your provider"
        )
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise ConfigError("the token holds characters that no header can carry: copy it again")
    return text
