"""Cookies of pages: their names, and over which connections they count."""

from __future__ import annotations

from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import Literal

from duetime.admin.identity.request_facts import RequestFacts, is_local

SESSION_COOKIE, FORM_COOKIE, LANGUAGE_COOKIE = "duetime", "duetime-form", "duetime-lang"
# The zone that a reader chose, and the one that their browser tells.
ZONE_COOKIE, BROWSER_ZONE_COOKIE = "duetime-tz", "duetime-browser-tz"
THEME_COOKIE, NOTICE_COOKIE = "duetime-theme", "duetime-notice"
SECURE_PREFIX = "__Secure-"

# Over HTTPS; over plain HTTP on this machine; over plain HTTP between machines, where everybody on
# the way reads along.
Connection = Literal["https", "loopback", "open"]


def connection_of(facts: RequestFacts, base_url: str | None) -> Connection:
    """Return how a reader is connected. Behind a proxy, `base_url` says so."""
    if facts.scheme == "https" or (base_url or "").startswith("https:"):
        return "https"
    return "loopback" if is_local(facts) else "open"


@dataclass(frozen=True, slots=True)
class Cookies:
    """The cookies of a connection, for the pages below a path."""

    connection: Connection
    path: str

    @property
    def carry_sessions(self) -> bool:
        return self.connection != "open"

    def name(self, name: str) -> str:
        """Return the name under which a cookie is set and read here. A page that was not read over
        HTTPS can set no cookie with this prefix."""
        return f"{SECURE_PREFIX}{name}" if self.connection == "https" else name

    def found(self, facts: RequestFacts, name: str) -> list[str]:
        """Return the values of a cookie. Several are sent where mount points lie within each
        other."""
        wanted = self.name(name)
        pairs = (pair.partition("=") for text in facts.all("cookie") for pair in text.split(";"))
        return [value.strip() for key, _, value in pairs if key.strip() == wanted]

    def set(self, name: str, value: str, max_age: int) -> str:
        """Return the header that sets a cookie, or, with no time left, deletes it."""
        own = self.name(name)
        cookie: SimpleCookie = SimpleCookie({own: value})
        morsel = cookie[own]
        morsel["path"], morsel["max-age"] = self.path or "/", max_age
        morsel["httponly"], morsel["samesite"] = True, "Lax"
        morsel["secure"] = self.connection == "https"
        return morsel.OutputString()
