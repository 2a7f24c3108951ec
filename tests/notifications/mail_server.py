"""A mail server that does what a test wants: takes mails, refuses them, is slow, hangs up."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

USER, PASSWORD = "mailer", "s3cr:t@/"
# What answers a step of the conversation; None lets it go on.
Step = Callable[["Conversation"], Awaitable[str | None]]


@dataclass
class Mailbox:
    """Where a server is, and what it took."""

    port: int
    mails: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)
    users: list[str] = field(default_factory=list)


class Conversation:
    """One connection, as a step sees it."""

    def __init__(self, server: SMTP) -> None:
        self._server = server

    def hang_up(self) -> None:
        assert isinstance(self._server.transport, asyncio.Transport)
        self._server.transport.abort()


async def goes_on(_: Conversation) -> str | None:
    return None


def answers(text: str) -> Step:
    async def answer(_: Conversation) -> str | None:
        return text

    return answer


async def never_answers(_: Conversation) -> str | None:
    await asyncio.get_running_loop().create_future()
    return None


async def hangs_up(conversation: Conversation) -> str | None:
    conversation.hang_up()
    return "421 nobody reads this"


class MailHandler:
    """What aiosmtpd calls at each step."""

    def __init__(self, mailbox: Mailbox, on_recipient: Step, on_data: Step) -> None:
        self._mailbox = mailbox
        self._on_recipient = on_recipient
        self._on_data = on_data

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        answer = await self._on_recipient(Conversation(server))
        if answer is not None:
            return answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        answer = await self._on_data(Conversation(server))
        if answer is not None:
            return answer
        content = envelope.content
        assert isinstance(content, bytes)
        parsed = message_from_bytes(content, policy=policy.default)
        assert isinstance(parsed, EmailMessage)
        self._mailbox.mails.append(parsed)
        self._mailbox.recipients += envelope.rcpt_tos
        self._mailbox.encrypted.append(session.ssl is not None)
        return "250 OK"


@asynccontextmanager
async def mail_server(
    *,
    on_recipient: Step = goes_on,
    on_data: Step = goes_on,
    certificate: ssl.SSLContext | None = None,
    smtps: ssl.SSLContext | None = None,
    sign_in: bool = False,
) -> AsyncIterator[Mailbox]:
    """Run a server in this loop. With a `certificate` it offers STARTTLS, with `smtps` it speaks
    TLS from the first byte, and with `sign_in` it takes no mail without the right password."""
    loop = asyncio.get_running_loop()
    mailbox = Mailbox(0)

    def authenticated(
        server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any
    ) -> AuthResult:
        assert isinstance(data, LoginPassword)
        mailbox.users.append(data.login.decode())
        right = (data.login, data.password) == (USER.encode(), PASSWORD.encode())
        # The server answers by itself: handled by none.
        return AuthResult(success=right, handled=False)

    def connected() -> SMTP:
        return SMTP(
            MailHandler(mailbox, on_recipient, on_data),
            hostname="mail.example.org",
            tls_context=certificate,
            auth_required=sign_in,
            auth_require_tls=certificate is not None,
            authenticator=authenticated if sign_in else None,
            loop=loop,
        )

    server = await loop.create_server(connected, "127.0.0.1", 0, ssl=smtps)
    mailbox.port = server.sockets[0].getsockname()[1]
    try:
        yield mailbox
    finally:
        server.close()
        for task in _tasks_of_server():
            task.cancel()


def _tasks_of_server() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if "SMTP._handle_client" in repr(task)]
