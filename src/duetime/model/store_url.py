"""URLs of databases as they may be shown: without passwords, also if they are malformed.

What is not known to be harmless is hidden: a password that holds `/`, `@`, `#` or `?` makes
another part of the URL out of its own end.
"""

from __future__ import annotations

import re
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
FILE = re.compile(r"(?P<user>)(?P<password>)(?P<place>sqlite:///[^?]*)(?:\?(?P<query>.*))?")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/{1,3}")
SECRET_NAME = re.compile(r"pass|pwd|secret|key|token|auth|cred", re.IGNORECASE)


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
