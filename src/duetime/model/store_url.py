"""URLs of databases as they may be shown: without passwords, also if they are malformed.

What is not known to be harmless is hidden: a password that holds `/`, `@`, `#` or `?` makes
another part of the URL out of its own end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

HIDDEN = "***"

HOST = r"(?:\[[^\]\s@]*\]|[^\s@/?#:,\[\]]*)(?::\d*)?"
PLACE = rf"(?P<place>{HOST}(?:,{HOST})*(?:/[^@?]*)?)"
# As libpq reads a URL: user and password end at the first `@`, if no `/` comes before it. After
# that one there is no other: it would be the end of a password that holds an `@` itself.
WELL_FORMED = re.compile(
    rf"(?P<user>[A-Za-z][A-Za-z0-9+.-]*://(?:[^:@/]*(?=[:@]))?)(?P<password>:[^@/]*@|@)?{PLACE}"
    r"(?:\?(?P<query>(?(password)[^@]*|.*)))?",
    re.DOTALL,
)
# A slash is missing, or the password holds one, or an `@`: it ends at the last `@`.
MALFORMED = re.compile(
    rf"(?P<user>[A-Za-z][A-Za-z0-9+.-]*:/{{1,2}}[^:/?#@\s]*)(?P<password>:.*@){PLACE}"
    r"(?:\?(?P<query>[^@]*))?",
    re.DOTALL,
)
FILE = re.compile(
    r"(?P<user>)(?P<password>)(?P<place>sqlite(?:\+\w+)?:///[^?]*)(?:\?(?P<query>.*))?"
)
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/{1,3}")
SECRET_NAME = re.compile(r"pass|pwd|secret|key|token|auth|cred", re.IGNORECASE)


# The schemes of each store. SQLAlchemy names the application's driver behind a plus sign; it does
# not matter here, since duetime has its own.
STORE_SCHEMES: Mapping[str, Sequence[str]] = {
    "memory": ("memory",),
    "sqlite": ("sqlite", "sqlite+pysqlite", "sqlite+aiosqlite"),
    "postgresql": (
        *("postgresql", "postgres", "postgresql+psycopg", "postgresql+psycopg_async"),
        *("postgresql+psycopg2", "postgresql+asyncpg"),
    ),
}
_STORE_BY_SCHEME = {name: store for store, names in STORE_SCHEMES.items() for name in names}


def plain_url(url: str) -> str | None:
    """Return the URL with the scheme of its store alone; None if it names no store."""
    scheme, found, rest = url.partition("://")
    store = _STORE_BY_SCHEME.get(scheme) if found else None
    if scheme == "postgresql+asyncpg":
        # What libpq calls sslmode.
        rest = re.sub(r"(?<=[?&])ssl=", "sslmode=", rest)
    return None if store is None else f"{store}://{rest}"


def mask_password(url: str) -> str:
    """Return a URL with its passwords hidden, for messages and logs."""
    text = url.strip()
    match = FILE.fullmatch(text) or WELL_FORMED.fullmatch(text) or MALFORMED.fullmatch(text)
    if match is None or (match["password"] is None and "@" in (match["query"] or "")):
        return _hide_unreadable(text)
    password = match["password"] or ""
    hidden = f":{HIDDEN}@" if password.startswith(":") else password
    query = "" if match["query"] is None else f"?{_mask_query(match['query'])}"
    return f"{match['user']}{hidden}{match['place']}{query}"


def is_well_formed(url: str) -> bool:
    """Return whether it is certain which part of a server's URL is the password."""
    return WELL_FORMED.fullmatch(url) is not None


def _mask_query(query: str) -> str:
    """Hide everything from the first secret on: an `&` in it would begin another parameter."""
    if set(query) & set("@#"):
        return HIDDEN
    shown: list[str] = []
    for parameter in query.split("&"):
        name, equals, _ = parameter.partition("=")
        if not equals:
            return "&".join([*shown, HIDDEN])
        if SECRET_NAME.search(unquote(name)):
            return "&".join([*shown, f"{name}={HIDDEN}"])
        shown.append(parameter)
    return "&".join(shown)


def _hide_unreadable(text: str) -> str:
    scheme = SCHEME.match(text)
    start = scheme[0] if scheme else ""
    # What holds none of these is the name of a file, for example.
    return start + HIDDEN if set(text[len(start) :]) & set(":@=?#") else text
