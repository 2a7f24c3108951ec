"""Addresses of e-mail, as messages are sent from them and to them."""

from __future__ import annotations

import re

# What may stand on a line of a header and in a command of SMTP, without quotes or comments; without
# the beginning of an encoded word, `=?`, as which the header would be read.
ADDRESS = re.compile(
    r"(?!.*=\?)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*"
)
MAX_ADDRESS_LENGTH = 254
MAILBOX = re.compile(r"(?P<name>[^<>@,;:\"\\]*)<(?P<address>[^<>]*)>")


def is_address(text: object) -> bool:
    """Return whether a text is one address, such as `ops@example.org`, and nothing else."""
    return (
        isinstance(text, str)
        and len(text) <= MAX_ADDRESS_LENGTH
        and ADDRESS.fullmatch(text) is not None
    )


def is_mailbox(text: object) -> bool:
    """Return whether a text is an address, perhaps with a name: `Shop <ops@example.org>`."""
    if not isinstance(text, str) or not text.isprintable():
        return False
    return is_address(address_of(text))


def address_of(mailbox: str) -> str:
    return _split(mailbox)[1]


def name_of_mailbox(mailbox: str) -> str:
    return _split(mailbox)[0]


def _split(mailbox: str) -> tuple[str, str]:
    found = MAILBOX.fullmatch(mailbox.strip())
    return (found["name"].strip(), found["address"]) if found else ("", mailbox.strip())
