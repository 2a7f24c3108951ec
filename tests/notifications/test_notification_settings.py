"""By what an app notifies: an argument says so, or settings do."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from duetime import Duetime
from duetime.config import Settings
from duetime.errors import ConfigError
from duetime.notifications import Email, Message, NotConfigured, Notifications, Webhook
from duetime.notifications.config import notifications_of
from duetime.notifications.transports import transport_for
from notifications.message_samples import WEBHOOK_SECRET

URL = "smtp://mailer:hunter2@mail.example.org"
SENDER = "ops@example.org"
MAIL = {"email": URL, "email_sender": SENDER}


class Pager:
    async def send(self, message: Message) -> None:
        raise NotImplementedError


def test_settings_say_by_what_an_app_notifies(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "de").mkdir()
    settings = {
        "EMAIL": URL,
        "EMAIL_SENDER": SENDER,
        "WEBHOOK_SECRET": WEBHOOK_SECRET,
        "WEBHOOK_ALLOW_HOSTS": "Hooks.internal, [::1]",
        "NOTIFICATION_TEMPLATES": str(tmp_path),
        "NOTIFICATION_LANGUAGES": "fr, de",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"DUETIME_{name}", value)
    config = notifications_of(Duetime("memory://").settings, None)
    assert config.email == Email(URL, SENDER)
    assert config.webhook == Webhook(secret=WEBHOOK_SECRET, allow_hosts=["hooks.internal", "::1"])
    assert (config.templates, config.languages) == (str(tmp_path), ("fr", "de"))
    assert config.channels == ("in-app", "email", "webhook")


def test_without_settings_an_app_notifies_on_its_pages_only() -> None:
    config = notifications_of(Settings(), None)
    assert config == Notifications()
    assert config.channels == ("in-app",)


def test_the_argument_replaces_the_settings() -> None:
    given = Notifications(transports={"pager": Pager()})
    settings = Settings(email=URL, email_sender=SENDER)
    assert notifications_of(settings, given) is given
    assert given.channels == ("in-app", "pager")
    Duetime("memory://", notifications=given)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"email": URL}, "email needs email_sender"),
        ({"email": "mail.example.org", "email_sender": SENDER}, "give smtp://user:password@host"),
        ({"email": URL, "email_sender": "ops"}, "sender='ops' is not valid"),
        ({"webhook_secret": "hunter2"}, "give whsec_"),
        ({"webhook_allow_hosts": ["https://x/"]}, "allow_hosts has 'https://x/'"),
        ({"webhook_allow_hosts": 5}, "a list, or a text with commas"),
        ({**MAIL, "notification_languages": "xx"}, "duetime notifications translate xx FOLDER"),
        ({**MAIL, "notification_languages": []}, "give at least one"),
        ({**MAIL, "notification_templates": "/nowhere"}, "templates='/nowhere' is not a folder"),
        ({"emial": URL}, "did you mean 'email'"),
    ],
)
def test_wrong_settings_are_refused_when_the_app_is_made(
    arguments: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason) as refused:
        Duetime("memory://", **arguments)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda: Email("smtp://host/path", SENDER), "give smtp://"),
        (lambda: Email("smtp://user@host", SENDER), "give smtp://"),
        (lambda: Email("smtp://user:pa@ss@host", SENDER), "give smtp://"),
        (lambda: Email("smtp://host:99999", SENDER), "give smtp://"),
        (lambda: Email("smtp://host", "Ops <ops@example.org>\r\nBcc: x@y.org"), "sender"),
        (lambda: Email("smtp://host", SENDER, timeout=0), "more than 0 seconds"),
        (lambda: Email("smtp://host", SENDER, timeout=float("nan")), "finite"),
        (lambda: Webhook(timeout=timedelta(-1)), "negative"),
        (lambda: Webhook(allow_hosts="localhost"), "give a list"),
        (lambda: Notifications(transports={"email": Pager()}), "give another name"),
        (lambda: Notifications(transports={"": Pager()}), "give another name"),
    ],
)
def test_wrong_arguments_are_refused(made: Any, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        made()


def test_secrets_are_not_shown() -> None:
    settings = Settings(email=URL, email_sender=SENDER, webhook_secret=WEBHOOK_SECRET)
    config = notifications_of(settings, None)
    for shown in (repr(settings), repr(config), repr(config.email and config.email.server)):
        assert "hunter2" not in shown
        assert WEBHOOK_SECRET not in shown
    assert "smtp://mailer:***@mail.example.org" in repr(settings)


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("smtp://mail", 587),
        ("smtps://mail", 465),
        ("smtp://mail:25", 25),
    ],
)
def test_ports_of_mail_servers(url: str, port: int) -> None:
    assert Email(url, SENDER).server.port == port


def test_special_characters_of_a_password() -> None:
    server = Email("smtp://ops%40shop:p%40ss%2Fword@mail", SENDER).server
    assert (server.user, server.password) == ("ops@shop", "p@ss/word")


# -- transports ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("channel", "remedy"),
    [
        ("email", r"Notifications\(email=Email"),
        ("webhook", "webhook_secret"),
        ("slack", r"transports=\{name: transport\}"),
    ],
)
def test_a_channel_without_a_transport(channel: str, remedy: str) -> None:
    with pytest.raises(NotConfigured, match=remedy):
        transport_for(channel, Notifications())


def test_a_transport_of_users() -> None:
    pager = Pager()
    assert transport_for("pager", Notifications(transports={"pager": pager})) is pager


def test_libraries_are_loaded_when_they_are_needed() -> None:
    program = (
        "import sys; import duetime.notifications; from duetime.app import Duetime; "
        "Duetime('memory://', email='smtp://h', email_sender='a@b.c', webhook_allow_hosts='x'); "
        "print([name for name in ('aiosmtplib', 'httpx2', 'jinja2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
