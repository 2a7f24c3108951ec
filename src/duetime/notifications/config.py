"""How an app notifies: its transports, templates and languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from duetime.config import Settings
from duetime.errors import ConfigError, InvalidArgument, shown
from duetime.model.notifications.subscription import EMAIL, IN_APP, WEBHOOK, ChannelRules
from duetime.model.store_url import mask_password
from duetime.model.validation import seconds
from duetime.notifications.addresses import is_mailbox
from duetime.notifications.signing import read_webhook_secret
from duetime.notifications.smtp_url import MailServer, read_smtp_url
from duetime.notifications.transport import Transport
from duetime.words.languages import LANGUAGES

STARS = "***"


@dataclass(frozen=True, slots=True)
class Email:
    """A mail server and the address that mails come from, as `Shop <ops@example.org>`.

    `smtp://` uses STARTTLS where the server offers it; with a user it must. `smtps://` is TLS from
    the start. A call to the server may take `timeout` seconds.
    """

    url: str
    sender: str
    timeout: float | timedelta = 30.0

    def __post_init__(self) -> None:
        read_smtp_url(self.url)
        _check_sender(self.sender)
        _check_timeout(self.timeout)

    def __repr__(self) -> str:
        return f"Email({mask_password(self.url)!r}, sender={self.sender!r})"

    @property
    def server(self) -> MailServer:
        return read_smtp_url(self.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """How webhooks are sent. `secret` (`whsec_...`) signs those of subscriptions in code; stored
    subscriptions have their own. Hosts of `allow_hosts` may be local and without TLS."""

    secret: str | None = None
    allow_hosts: Sequence[str] = ()
    timeout: float | timedelta = 10.0

    def __post_init__(self) -> None:
        _check_timeout(self.timeout)
        object.__setattr__(self, "allow_hosts", _hosts(self.allow_hosts))
        if self.secret is not None:
            try:
                read_webhook_secret(self.secret)
            except ValueError as error:
                raise ConfigError(str(error)) from None

    def __repr__(self) -> str:
        secret = None if self.secret is None else STARS
        return f"Webhook(secret={secret!r}, allow_hosts={list(self.allow_hosts)!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifications:
    """How an app notifies: by e-mail, by webhook, by transports of its own, by name; in which
    languages, and from which folder of templates that replace ours or add a language."""

    email: Email | None = None
    webhook: Webhook | None = None
    transports: Mapping[str, Transport] = field(default_factory=dict)
    templates: str | Path | None = None
    languages: Sequence[str] = LANGUAGES

    def __post_init__(self) -> None:
        object.__setattr__(self, "languages", tuple(self.languages))
        for name in self.transports:
            _check_transport_name(name)
        _check_languages(self.languages, self.templates)
        if self.templates is not None:
            # Imported here, since it needs Jinja2, which apps without templates may lack.
            from duetime.notifications.placeholders import refuse_wrong_templates

            refuse_wrong_templates(Path(self.templates), self.languages)

    @property
    def rules(self) -> ChannelRules:
        """What a subscription may ask for."""
        hosts = () if self.webhook is None else tuple(self.webhook.allow_hosts)
        return ChannelRules(
            channels=self.channels, languages=tuple(self.languages), allowed_hosts=hosts
        )

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that a subscription may have."""
        given = {EMAIL: self.email, WEBHOOK: self.webhook}
        return (IN_APP, *(name for name, value in given.items() if value), *self.transports)


def notifications_of(settings: Settings, given: Notifications | None) -> Notifications:
    """Return how an app notifies: as the argument says, or else as the settings do."""
    if given is not None:
        return given
    return Notifications(
        email=_email_of(settings),
        webhook=_webhook_of(settings),
        templates=settings.notification_templates,
        languages=settings.notification_languages,
    )


def _email_of(settings: Settings) -> Email | None:
    if settings.email is None:
        return None
    if settings.email_sender is None:
        raise ConfigError("option email needs email_sender: give the address that mails come from")
    return Email(settings.email, settings.email_sender)


def _webhook_of(settings: Settings) -> Webhook | None:
    secret, hosts = settings.webhook_secret, settings.webhook_allow_hosts
    return Webhook(secret=secret, allow_hosts=hosts) if secret or hosts else None


def _check_sender(value: str) -> None:
    if not is_mailbox(value):
        raise ConfigError(
            f"sender={shown(value)} is not valid: give an address such as ops@example.org or "
            "Shop <ops@example.org>, its domain in ASCII"
        )


def _check_timeout(value: float | timedelta) -> None:
    try:
        number = seconds("timeout", value)
    except InvalidArgument as error:
        raise ConfigError(str(error)) from None
    if number == 0:
        raise ConfigError(f"timeout={shown(value)} is not valid: give more than 0 seconds")


def _hosts(given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise ConfigError(f"allow_hosts={given!r} is not valid: give a list of names of hosts")
    for host in given:
        if not isinstance(host, str) or not host or set(host) & set("/@? "):
            raise ConfigError(
                f"allow_hosts has {shown(host)}: give names of hosts, as hooks.internal, or "
                "addresses, as 10.0.0.7"
            )
    return tuple(host.strip("[]").lower().rstrip(".") for host in given)


def _check_transport_name(name: str) -> None:
    if name in (EMAIL, WEBHOOK, IN_APP) or not name or not name.isprintable():
        raise ConfigError(
            f"transports has {shown(name)}: give another name, since {EMAIL}, {WEBHOOK} and "
            f"{IN_APP} are ours"
        )


def _check_languages(languages: Sequence[str], templates: str | Path | None) -> None:
    if templates is not None and not Path(templates).is_dir():
        raise ConfigError(f"templates={str(templates)!r} is not a folder")
    for code in languages:
        added = templates is not None and (Path(templates) / code).is_dir()
        if code not in LANGUAGES and not added:
            raise ConfigError(
                f"language {shown(code)} has no templates: add them by "
                f"`duetime notifications translate {code} FOLDER`, and give the folder as "
                f"templates; duetime itself has {', '.join(LANGUAGES)}"
            )
    if not languages:
        raise ConfigError("languages is empty: give at least one, as en")
