"""E-mails, to real servers: what they hold, how they get there, what it means if they do not."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from certificates import certificate
from duetime.notifications import Email, Message, NotDelivered, Notifications, Refused
from duetime.notifications.email import EmailTransport, make_mail
from duetime.notifications.transports import transport_for
from notifications.mail_server import (
    PASSWORD,
    USER,
    Mailbox,
    Step,
    answers,
    hangs_up,
    mail_server,
    never_answers,
)
from notifications.message_samples import BASE_URL, message

SENDER = "The Shop <ops@shop.example.org>"
# What the server warns of, in tests in which it takes passwords without STARTTLS.
CLEAR_PASSWORDS = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
LINES = [
    *("x\r\nBcc: all@example.org", "x\nBcc: y", "x\rBcc: y"),
    *("x\u2028Bcc: y", "x\x00\x0by", "x\x85y"),
    # Encoded words, which a parser of headers decodes.
    *("x =?utf-8?q?=0D=0ABcc:_y=40example.org?= z", "=?utf-8?b?DQpCY2M6IHk=?="),
]


def transport(
    mailbox: Mailbox, *, scheme: str = "smtp", timeout: float = 20, password: str | None = None
) -> EmailTransport:
    user = "" if password is None else f"{USER}:{quote(password, safe='')}@"
    url = f"{scheme}://{user}127.0.0.1:{mailbox.port}"
    made = transport_for("email", Notifications(email=Email(url, SENDER, timeout)))
    assert isinstance(made, EmailTransport)
    return made


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """What a server needs that is trusted as 127.0.0.1."""
    context, file = certificate(tmp_path, "127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    return context


# -- what a mail holds -----------------------------------------------------------------------------


async def test_a_mail_arrives_whole() -> None:
    sent = message(language="fr", zone="Europe/Paris")
    async with mail_server() as mailbox:
        await transport(mailbox).send(sent)
    (mail,) = mailbox.mails
    assert mailbox.recipients == ["ops@example.org"]
    assert mail["From"] == SENDER
    assert mail["To"] == "ops@example.org"
    assert mail["Subject"] == "La tâche «\N{NO-BREAK SPACE}billing-daily\N{NO-BREAK SPACE}» échoue"
    assert mail["Message-ID"] == f"<{sent.id}@shop.example.org>"
    assert mail["Date"].datetime == sent.at
    assert mail["Content-Language"] == "fr"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert parts(mail) == {"plain": sent.text, "html": sent.html}


def parts(mail: object) -> dict[str, str]:
    texts = {"plain": "", "html": ""}
    for kind in texts:
        body = mail.get_body((kind,))  # type: ignore[attr-defined]
        texts[kind] = body.get_content().replace("\r\n", "\n").removesuffix("\n")
    return {"plain": texts["plain"] + "\n", "html": texts["html"]}


def test_a_mail_can_be_unsubscribed_by_one_click() -> None:
    sent = message()
    mail = make_mail(sent, SENDER)
    assert mail["List-Unsubscribe"] == f"<{BASE_URL}/unsubscribe/{token(sent)}>"
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


def token(sent: Message) -> str:
    return (sent.unsubscribe_link or "").rpartition("/")[2]


def test_a_long_link_stays_on_one_line_as_it_is() -> None:
    link = f"https://{'long-name.' * 12}example.org/duetime/unsubscribe/{token(message())}"
    written = make_mail(replace(message(), unsubscribe_link=link), SENDER).as_bytes()
    assert f"\r\nList-Unsubscribe: <{link}>\r\n".encode() in written


def test_one_click_needs_https() -> None:
    sent = replace(message(), unsubscribe_link="http://127.0.0.1/unsubscribe/x")
    mail = make_mail(sent, SENDER)
    assert mail["List-Unsubscribe"] == "<http://127.0.0.1/unsubscribe/x>"
    assert mail["List-Unsubscribe-Post"] is None


def test_a_mail_is_the_same_each_time_that_it_is_sent() -> None:
    first, again = (make_mail(message(), SENDER) for _ in range(2))
    assert dict(first.items()) == dict(again.items())


@pytest.mark.parametrize("text", LINES)
async def test_no_value_begins_another_header(text: str) -> None:
    sent = replace(
        message(), subject=text, language=text, unsubscribe_link=f"https://h.example/{text}"
    )
    async with mail_server() as mailbox:
        await transport(mailbox).send(sent)
    (mail,) = mailbox.mails
    expected = set(make_mail(message(), SENDER).keys())
    assert set(mail.keys()) == expected
    assert mail["Bcc"] is None
    assert mailbox.recipients == ["ops@example.org"]


@pytest.mark.parametrize(
    "address",
    [
        *(f"ops@example.org{end}" for end in ("\r\nRCPT TO:<x@y.org>", "\n", " ", ",x@y.org", ">")),
        *("ops", "@example.org", "ops@", "a b@example.org", '"a b"@example.org', "ops@exämple.org"),
        *("Ops <ops@example.org>", f"{'x' * 250}@example.org", ""),
        *("a..b@example.org", ".a@example.org", "a.@example.org"),
        *("=?utf-8?q?v=40evil.org?=@example.org", "=?utf-8?q?a?=@example.org"),
    ],
)
async def test_what_is_no_address_gets_no_mail(address: str) -> None:
    async with mail_server() as mailbox:
        with pytest.raises(Refused, match="no address"):
            await transport(mailbox).send(replace(message(), to=address))
    assert mailbox.recipients == []


# -- how it gets there -----------------------------------------------------------------------------


async def test_starttls_and_a_password(trusted: ssl.SSLContext) -> None:
    async with mail_server(certificate=trusted, sign_in=True) as mailbox:
        await transport(mailbox, password=PASSWORD).send(message())
    assert (mailbox.users, mailbox.encrypted) == ([USER], [True])


async def test_starttls_is_used_where_it_is_offered(trusted: ssl.SSLContext) -> None:
    async with mail_server(certificate=trusted) as mailbox:
        await transport(mailbox).send(message())
    assert mailbox.encrypted == [True]


@CLEAR_PASSWORDS
async def test_smtps(trusted: ssl.SSLContext) -> None:
    async with mail_server(smtps=trusted, sign_in=True) as mailbox:
        await transport(mailbox, scheme="smtps", password=PASSWORD).send(message())
    assert (mailbox.users, len(mailbox.mails)) == ([USER], 1)


@CLEAR_PASSWORDS
async def test_a_password_is_never_sent_in_the_clear() -> None:
    """Not even to a server that would take it."""
    async with mail_server(sign_in=True) as mailbox:
        with pytest.raises(NotDelivered, match="STARTTLS"):
            await transport(mailbox, password=PASSWORD).send(message())
    assert (mailbox.users, mailbox.mails) == ([], [])


async def test_a_server_must_prove_who_it_is(tmp_path: Path) -> None:
    stranger, _ = certificate(tmp_path, "127.0.0.1")
    async with mail_server(certificate=stranger, sign_in=True) as mailbox:
        with pytest.raises(NotDelivered, match="certificate"):
            await transport(mailbox, password=PASSWORD).send(message())
    assert mailbox.users == []


async def test_a_wrong_password_is_tried_again_and_never_shown(trusted: ssl.SSLContext) -> None:
    async with mail_server(certificate=trusted, sign_in=True) as mailbox:
        with pytest.raises(NotDelivered, match="535") as refused:
            await transport(mailbox, password="Hunter2!").send(message())
    assert "Hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


# -- what it means if it does not ------------------------------------------------------------------

LATER: dict[str, dict[str, Step]] = {
    "busy": {"on_recipient": answers("451 try again later")},
    "full for now": {"on_data": answers("452 no space")},
    "hangs up at the recipient": {"on_recipient": hangs_up},
    "hangs up in the middle": {"on_data": hangs_up},
}


@pytest.mark.parametrize("steps", LATER.values(), ids=LATER)
async def test_a_mail_is_sent_again(steps: dict[str, Step]) -> None:
    async with mail_server(**steps) as mailbox:  # type: ignore[arg-type]
        with pytest.raises(NotDelivered):
            await transport(mailbox).send(message())
    assert mailbox.mails == []


@pytest.mark.parametrize("step", ["on_recipient", "on_data"])
async def test_a_server_that_never_answers(step: str) -> None:
    async with mail_server(**{step: never_answers}) as mailbox:  # type: ignore[arg-type]
        with pytest.raises(NotDelivered, match=r"did not answer within 0\.2 s"):
            await transport(mailbox, timeout=0.2).send(message())


async def test_a_server_that_is_not_there(unused_tcp_port_factory: Callable[[], int]) -> None:
    with pytest.raises(NotDelivered, match="mail server"):
        await transport(Mailbox(unused_tcp_port_factory())).send(message())


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (
            {"on_recipient": answers("550 5.1.1 no such user")},
            "refuses the recipient.*such user",
        ),
        ({"on_data": answers("554 5.7.1 looks like spam")}, "refuses the message.*like spam"),
    ],
)
async def test_a_refusal_is_final(steps: dict[str, Step], reason: str) -> None:
    async with mail_server(**steps) as mailbox:  # type: ignore[arg-type]
        with pytest.raises(Refused, match=reason):
            await transport(mailbox).send(message())
    assert mailbox.mails == []
