"""The URL of a mail server: where it is, who signs in, and whether the connection is encrypted."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from duetime.errors import ConfigError
from duetime.model.store_url import mask_password

SUBMISSION_PORT, SMTPS_PORT = 587, 465


@dataclass(frozen=True, slots=True)
class MailServer:
    """A server. `encrypted` says that it speaks TLS from the first byte; else by STARTTLS."""

    host: str
    port: int
    encrypted: bool
    user: str | None = None
    password: str | None = field(default=None, repr=False)


def read_smtp_url(url: str) -> MailServer:
    """Return what an SMTP URL names. ConfigError, which shows no password, for any other."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _wrong_url(url) from None
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
        raise _wrong_url(url)
    if parts.path.strip("/") or parts.query or parts.fragment or "@" in (parts.password or ""):
        raise _wrong_url(url)
    if (parts.username is None) != (parts.password is None):
        raise _wrong_url(url)
    encrypted = parts.scheme == "smtps"
    return MailServer(
        parts.hostname,
        port or (SMTPS_PORT if encrypted else SUBMISSION_PORT),
        encrypted,
        _decoded(parts.username),
        _decoded(parts.password),
    )


def _decoded(text: str | None) -> str | None:
    return None if text is None else unquote(text)


def _wrong_url(url: str) -> ConfigError:
    return ConfigError(
        f"email={mask_password(url)!r} is not valid: give smtp://user:password@host:587 or "
        "smtps://user:password@host:465, with special characters percent-encoded, as %40 for @"
    )
