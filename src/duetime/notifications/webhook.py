"""Sends messages as webhooks: signed, to public addresses, following nothing."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cached_property
from importlib.metadata import version

from duetime.errors import ConfigError
from duetime.model.clock import Clock
from duetime.model.safe_text import safe_text
from duetime.notifications.config import Webhook
from duetime.notifications.message import Message
from duetime.notifications.signing import signature
from duetime.notifications.targets import ForbiddenTarget, WebhookTarget, read_target, resolve
from duetime.notifications.transport import AddressGone, NotConfigured, NotDelivered, Refused

try:
    import httpx2
except ImportError as missing:
    raise ConfigError("webhooks need httpx2: pip install 'duetime[notify]'") from missing

GONE = 410
# Answers whose Retry-After says when to come back.
BUSY = (429, 503)
MAX_RETRY_AFTER = timedelta(days=1)
MAX_REASON = 300


class WebhookTransport:
    """Posts each message on a connection of its own, within the timeout."""

    def __init__(
        self,
        config: Webhook,
        clock: Clock,
        resolve_target: Callable[[WebhookTarget], Awaitable[list[str]]] = resolve,
    ) -> None:
        self._allow_hosts = frozenset(config.allow_hosts)
        self._clock = clock
        self._resolve = resolve_target
        timeout = config.timeout
        self._timeout = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout

    async def send(self, message: Message) -> None:
        with _as_failures(self._timeout):
            target = read_target(message.to, self._allow_hosts)
            async with asyncio.timeout(self._timeout):
                addresses = await self._resolve(target)
                response = await self._reach(target, addresses, message)
        self._judge(response)

    async def _reach(
        self, target: WebhookTarget, addresses: Sequence[str], message: Message
    ) -> httpx2.Response:
        """Post to the first of these addresses that can be reached."""
        for address in addresses[:-1]:
            with suppress(httpx2.ConnectError):
                return await self._post(target, address, message)
        return await self._post(target, addresses[-1], message)

    async def _post(self, target: WebhookTarget, address: str, message: Message) -> httpx2.Response:
        """Post to an address that was judged, and return the head of the answer. Nobody reads its
        body, so that it may be as long as it likes."""
        body = webhook_body(message)
        async with (
            httpx2.AsyncClient(
                verify=self._trusted,
                trust_env=False,
                follow_redirects=False,
                timeout=self._timeout,
            ) as client,
            client.stream(
                "POST",
                _url(target, address),
                content=body,
                headers=self._headers(target, message, body),
                # The name whose certificate is expected, and that the server is told.
                extensions={"sni_hostname": target.host},
            ) as response,
        ):
            return response

    def _headers(self, target: WebhookTarget, message: Message, body: bytes) -> Mapping[str, str]:
        if message.secret is None:
            raise NotConfigured(
                "webhooks of subscriptions in code are signed by Webhook(secret='whsec_...'), or "
                "the setting webhook_secret: give one"
            )
        timestamp = int(self._clock.now().timestamp())
        return {
            "Host": target.authority,
            "User-Agent": f"duetime/{version('duetime')}",
            "Content-Type": "application/json",
            "webhook-id": str(message.id),
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(message.secret, str(message.id), timestamp, body),
        }

    @cached_property
    def _trusted(self) -> ssl.SSLContext:
        """Who is trusted to vouch for a server. Reading that takes a tenth of a second."""
        return httpx2.create_ssl_context()

    def _judge(self, response: httpx2.Response) -> None:
        status = response.status_code
        if 200 <= status < 300:
            return
        if status == GONE:
            raise AddressGone("the address of the webhook answered 410 Gone")
        moved = "; redirects are not followed" if 300 <= status < 400 else ""
        after = self._retry_after(response) if status in BUSY else None
        raise NotDelivered(f"the address of the webhook answered {status}{moved}", after)

    def _retry_after(self, response: httpx2.Response) -> timedelta | None:
        wait = read_retry_after(response.headers.get("retry-after", ""), self._clock.now())
        return None if wait is None else min(wait, MAX_RETRY_AFTER)


def webhook_body(message: Message) -> bytes:
    """Return the body, the same for each time that a message is sent."""
    document = {
        "type": message.topic,
        "timestamp": message.at.astimezone(UTC).isoformat(),
        "data": message.data,
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def read_retry_after(text: str, now: datetime) -> timedelta | None:
    """Return how long an answer asks to wait, in seconds or until an instant; None if neither."""
    if text.isascii() and text.isdigit():
        return timedelta(seconds=min(int(text[:9]), MAX_RETRY_AFTER.total_seconds()))
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(aware - now, timedelta())


def _url(target: WebhookTarget, address: str) -> str:
    host = f"[{address}]" if ":" in address else address
    return f"{target.scheme}://{host}:{target.port}{target.path}"


@contextmanager
def _as_failures(timeout: float) -> Iterator[None]:
    """Raise what went wrong as what that means for the message. Errors are not chained: they hold
    the URL, whose query may be a secret."""
    try:
        yield
    except ForbiddenTarget as error:
        raise Refused(f"the webhook is not sent: {error}") from None
    except (TimeoutError, httpx2.TimeoutException):
        raise NotDelivered(f"the webhook was not answered within {timeout:g} s") from None
    except (httpx2.TransportError, OSError) as error:
        reason = safe_text(str(error)[:MAX_REASON]) or type(error).__name__
        raise NotDelivered(f"the address of the webhook cannot be reached: {reason}") from None
