"""Sends messages as e-mails, by a mail server that asks for no more than SMTP."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from email.headerregistry import Address, BaseHeader, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import SMTP, Policy
from email.utils import format_datetime

from duetime.errors import ConfigError
from duetime.model.safe_text import safe_text
from duetime.notifications.addresses import address_of, is_address, name_of_mailbox
from duetime.notifications.config import Email
from duetime.notifications.message import Message
from duetime.notifications.transport import NotDelivered, Refused

try:
    import aiosmtplib
except ImportError as missing:
    raise ConfigError("e-mails need aiosmtplib: pip install 'duetime[notify]'") from missing

UNSAFE_IN_HEADER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# How encoded words begin (RFC 2047): what they hold may be the end of a line.
ENCODED_WORD = "=?"
MAX_REASON = 300


class LinkHeader(UnstructuredHeader, BaseHeader):
    """A header with a link, on one line: mail programs do not look for links in encoded words,
    which is how long lines are folded."""

    max_count = 1

    def fold(self, *, policy: Policy) -> str:
        return f"{self.name}: {self}{policy.linesep}"


HEADERS = HeaderRegistry()
HEADERS.map_to_type("list-unsubscribe", LinkHeader)
LINE_ENDS = SMTP.clone(header_factory=HEADERS)


class EmailTransport:
    """Sends each message on a connection of its own, within the timeout."""

    def __init__(self, config: Email) -> None:
        self._sender = config.sender
        self._server = config.server
        timeout = config.timeout
        self._timeout = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout

    async def send(self, message: Message) -> None:
        if not is_address(message.to):
            raise Refused("the address of the subscription is no address of e-mail")
        mail = make_mail(message, self._sender)
        with _as_failures(self._timeout):
            async with asyncio.timeout(self._timeout):
                await self._deliver(mail, message.to)

    async def _deliver(self, mail: EmailMessage, recipient: str) -> None:
        server = self._server
        client = aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            use_tls=server.encrypted,
            # None means: where it is offered. A password never goes over a connection in the clear.
            start_tls=False if server.encrypted else (True if server.user else None),
            username=server.user,
            password=server.password,
            timeout=self._timeout,
        )
        try:
            await client.connect()
            await client.sendmail(address_of(self._sender), [recipient], mail.as_bytes())
        finally:
            # What was accepted stays so: QUIT would only be another call that may fail.
            client.close()


def make_mail(message: Message, sender: str) -> EmailMessage:
    """Return a message as a mail, the same for each time that it is sent."""
    mail = EmailMessage(policy=LINE_ENDS)
    mail["From"] = Address(_header(name_of_mailbox(sender)), addr_spec=address_of(sender))
    mail["To"] = Address(addr_spec=message.to)
    mail["Subject"] = _header(message.subject)
    mail["Date"] = format_datetime(message.at)
    mail["Message-ID"] = f"<{message.id}@{address_of(sender).rpartition('@')[2]}>"
    # So that no out-of-office note answers.
    mail["Auto-Submitted"] = "auto-generated"
    if message.unsubscribe_link is not None:
        _add_unsubscription(mail, message.unsubscribe_link)
    mail.set_content(message.text)
    mail.add_alternative(message.html, subtype="html")
    # Last, since headers of content move to the first part when there is another.
    mail["Content-Language"] = _header(message.language)
    return mail


def _add_unsubscription(mail: EmailMessage, link: str) -> None:
    """Add what lets readers end the subscription by a button of their mail program (RFC 8058, which
    wants HTTPS)."""
    mail["List-Unsubscribe"] = f"<{_header(link)}>"
    if link.startswith("https:"):
        mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"


def _header(text: str) -> str:
    """Return a text that cannot begin another header, nor hold one that is encoded."""
    return UNSAFE_IN_HEADER.sub(" ", text).replace(ENCODED_WORD, "= ?").strip()


@contextmanager
def _as_failures(timeout: float) -> Iterator[None]:
    """Raise what a mail server answers as what that means for the message. These errors are not
    chained: they may hold the password."""
    try:
        yield
    except aiosmtplib.SMTPRecipientsRefused as error:
        first = error.recipients[0]
        raise _refused_or_later(first.code, first.message, "the recipient") from None
    except aiosmtplib.SMTPDataError as error:
        raise _refused_or_later(error.code, error.message, "the message") from None
    except aiosmtplib.SMTPResponseException as error:
        # Its sender or password is refused: the operator's to repair, so that it is tried again.
        raise NotDelivered(f"the mail server: {_answer(error.code, error.message)}") from None
    except TimeoutError:
        raise NotDelivered(f"the mail server did not answer within {timeout:g} s") from None
    except (aiosmtplib.SMTPException, OSError) as error:
        raise NotDelivered(f"the mail server failed: {_short(str(error))}") from None


def _refused_or_later(code: int, text: str, what: str) -> Refused | NotDelivered:
    if 500 <= code < 600:
        return Refused(f"the mail server refuses {what}: {_answer(code, text)}")
    return NotDelivered(f"the mail server: {_answer(code, text)}")


def _answer(code: int, text: str) -> str:
    return f"it answered {code} {_short(text)}"


def _short(text: str) -> str:
    return safe_text(text[:MAX_REASON])
