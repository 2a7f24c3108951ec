"""Webhooks, to real receivers: what they get, whom they can trust, and what their answers mean."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from certificates import certificate
from duetime.model.clock import SystemClock
from duetime.notifications import (
    AddressGone,
    Message,
    NotConfigured,
    NotDelivered,
    Notifications,
    Refused,
    Webhook,
)
from duetime.notifications.signing import make_webhook_secret, read_webhook_secret
from duetime.notifications.targets import WebhookTarget
from duetime.notifications.transports import transport_for
from duetime.notifications.webhook import WebhookTransport, read_retry_after, webhook_body
from duetime.testing import FakeClock
from notifications.message_samples import AT, WEBHOOK_SECRET, message
from remote.serving import Stub, answering, listening, response

LOCAL = ["127.0.0.1", "localhost", "hooks.example.org"]


def to(url: str, **changes: Any) -> Message:
    sent = message(channel="webhook", address=url)
    return replace(sent, **changes)


def transport(timeout: float = 20, hosts: list[str] = LOCAL) -> WebhookTransport:
    return WebhookTransport(Webhook(allow_hosts=hosts, timeout=timeout), SystemClock())


@contextmanager
def receiver(status: int = 200, *headers: str) -> Iterator[Stub]:
    with answering(lambda _: response(status, headers=headers)) as stub:
        yield stub


# -- what a receiver gets --------------------------------------------------------------------------


async def test_a_receiver_can_verify_a_message() -> None:
    with receiver() as stub:
        sent = to(f"{stub.url}/hook?key=1")
        await transport().send(sent)
    (request,) = stub.requests
    assert request.line == "POST /hook?key=1 HTTP/1.1"
    assert request.headers["host"] == stub.url.removeprefix("http://")
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"].startswith("duetime/")
    assert request.headers["webhook-id"] == str(sent.id)
    verified = Verifier(WEBHOOK_SECRET).verify(request.body.decode(), request.headers)
    assert verified == {"type": "job-failing", "timestamp": AT.isoformat(), "data": sent.data}
    assert verified["data"]["events"][0]["data"]["job"] == "billing-daily"


@pytest.mark.parametrize("changed", ["body", "webhook-id", "webhook-timestamp"])
async def test_a_changed_message_is_not_verified(changed: str) -> None:
    with receiver() as stub:
        await transport().send(to(stub.url))
    (request,) = stub.requests
    headers, body = dict(request.headers), request.body.decode()
    if changed == "body":
        body = body.replace("billing", "payroll")
    else:
        headers[changed] = str(int(headers[changed].replace("-", ""), 16) + 1)
    with pytest.raises(WebhookVerificationError):
        Verifier(WEBHOOK_SECRET).verify(body, headers)


async def test_another_secret_does_not_verify() -> None:
    with receiver() as stub:
        await transport().send(to(stub.url))
    (request,) = stub.requests
    other = make_webhook_secret(lambda size: b"x" * size)
    with pytest.raises(WebhookVerificationError):
        Verifier(other).verify(request.body.decode(), request.headers)


async def test_a_repetition_has_the_same_id_and_body() -> None:
    with receiver() as stub:
        for _ in range(2):
            await transport().send(to(stub.url))
    first, again = stub.requests
    assert first.body == again.body
    assert first.headers["webhook-id"] == again.headers["webhook-id"]


async def test_the_timestamp_is_that_of_the_clock() -> None:
    clock = FakeClock(datetime(2026, 1, 1, tzinfo=UTC))
    config = Notifications(webhook=Webhook(allow_hosts=LOCAL))
    with receiver() as stub:
        await transport_for("webhook", config, clock).send(to(stub.url))
    assert stub.requests[0].headers["webhook-timestamp"] == "1767225600"


async def test_a_webhook_without_a_secret_is_not_sent() -> None:
    with receiver() as stub, pytest.raises(NotConfigured, match="webhook_secret"):
        await transport().send(to(stub.url, secret=None))
    assert stub.requests == []


# -- what an answer means --------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 201, 202, 204])
async def test_any_success_is_a_delivery(status: int) -> None:
    with receiver(status) as stub:
        await transport().send(to(stub.url))
    assert len(stub.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 502, 503])
async def test_a_failure_is_tried_again(status: int) -> None:
    with (
        receiver(status) as stub,
        pytest.raises(NotDelivered, match=f"answered {status}") as failed,
    ):
        await transport().send(to(stub.url))
    assert failed.value.retry_after is None


async def test_gone_ends_the_subscription() -> None:
    with receiver(410) as stub, pytest.raises(AddressGone, match="410"):
        await transport().send(to(stub.url))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(status: int) -> None:
    with (
        receiver() as other,
        receiver(status, f"Location: {other.url}/") as stub,
        pytest.raises(NotDelivered, match=f"{status}; redirects are not followed"),
    ):
        await transport().send(to(stub.url))
    assert other.requests == []


@pytest.mark.parametrize(
    ("status", "given", "wait"),
    [
        (429, "120", timedelta(minutes=2)),
        (503, "0", timedelta()),
        (503, "Fri, 01 Jan 2100 00:00:00 GMT", timedelta(days=1)),
        (503, "Thu, 01 Jan 1970 00:00:00 GMT", timedelta()),
        (429, "99999999999999999999", timedelta(days=1)),
        (429, "soon", None),
        (429, "-5", None),
        (500, "120", None),
    ],
)
async def test_retry_after(status: int, given: str, wait: timedelta | None) -> None:
    with receiver(status, f"Retry-After: {given}") as stub, pytest.raises(NotDelivered) as failed:
        await transport().send(to(stub.url))
    assert failed.value.retry_after == wait


def test_retry_after_is_counted_by_the_clock() -> None:
    now = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
    assert read_retry_after("Mon, 01 Jun 2026 12:05:00 GMT", now) == timedelta(minutes=5)


# -- hostile and broken receivers ------------------------------------------------------------------


async def test_an_endless_body_is_not_read() -> None:
    head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\nstart"
    with answering(lambda _: head.encode()) as stub:
        await transport().send(to(stub.url))
    assert len(stub.requests) == 1


async def test_an_endless_head_is_not_read() -> None:
    lines = "".join(f"X-{n}: {'y' * 1000}\r\n" for n in range(2000))
    with (
        answering(lambda _: f"HTTP/1.1 200 OK\r\n{lines}\r\n".encode()) as stub,
        pytest.raises(NotDelivered, match="cannot be reached"),
    ):
        await transport().send(to(stub.url))


@pytest.mark.parametrize("answer", [b"", b"SMTP 220\r\n\r\n", b"HTTP/1.1 2"])
async def test_no_answer_of_http(answer: bytes) -> None:
    with (
        answering(lambda _: answer) as stub,
        pytest.raises(NotDelivered, match="cannot be reached"),
    ):
        await transport().send(to(stub.url))


async def test_a_receiver_that_never_answers() -> None:
    with listening() as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(NotDelivered, match=r"not answered within 0\.2 s"):
            await transport(timeout=0.2).send(to(url))


async def test_a_receiver_that_answers_byte_by_byte() -> None:
    """Each byte comes within the timeout of a read, but the whole answer must come within it."""
    over = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            while not over.wait(0.05):
                connection.sendall(b"H")

    with listening() as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            with pytest.raises(NotDelivered):
                await transport(timeout=0.5).send(to(url))
        finally:
            over.set()
            thread.join()


async def test_a_receiver_that_is_not_there(unused_tcp_port_factory: Callable[[], int]) -> None:
    with pytest.raises(NotDelivered, match="cannot be reached"):
        await transport().send(to(f"http://127.0.0.1:{unused_tcp_port_factory()}"))


async def test_a_name_that_nobody_has() -> None:
    with pytest.raises(NotDelivered, match="cannot be reached"):
        await transport(hosts=["nowhere.invalid"]).send(to("https://nowhere.invalid/"))


# -- who is reached --------------------------------------------------------------------------------


async def test_a_local_receiver_gets_nothing_unless_it_is_allowed() -> None:
    with receiver() as stub:
        url = stub.url.replace("http:", "https:")
        for host in ("127.0.0.1", "localhost", "127.1", "2130706433", "[::ffff:127.0.0.1]"):
            with pytest.raises(Refused, match="not on the public Internet"):
                await transport(hosts=[]).send(to(url.replace("127.0.0.1", host)))
    assert stub.requests == []


async def test_the_reason_of_a_refusal_does_not_show_the_query() -> None:
    with pytest.raises(Refused) as refused:
        await transport(hosts=[]).send(to("https://127.0.0.1/hook?token=hunter2"))
    assert "hunter2" not in str(refused.value)


async def test_the_connection_goes_to_the_address_that_was_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name that means another address a moment later leads nowhere else."""
    meanings = iter(["127.0.0.1", "127.0.0.2"])
    resolved: list[str] = []
    own = socket.getaddrinfo

    def rebinding(host: str, *rest: Any, **named: Any) -> Any:
        if host == "hooks.example.org":
            resolved.append(host)
            host = next(meanings)
        return own(host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    with receiver() as stub:
        port = stub.url.rpartition(":")[2]
        await transport().send(to(f"http://hooks.example.org:{port}/"))
    assert (len(resolved), len(stub.requests)) == (1, 1)
    assert stub.requests[0].headers["host"] == f"hooks.example.org:{port}"


@pytest.mark.parametrize(("named", "delivered"), [("hooks.example.org", True), ("x.org", False)])
async def test_the_certificate_is_that_of_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, delivered: bool
) -> None:
    context, file = certificate(tmp_path, named)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    asked_for: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: asked_for.append(name)

    async def here(_: WebhookTarget) -> list[str]:
        return ["127.0.0.1"]

    with answering(lambda _: response(200), context) as stub:
        port = stub.url.rpartition(":")[2]
        sending = WebhookTransport(Webhook(), SystemClock(), here)
        sent = to(f"https://hooks.example.org:{port}/x")
        if delivered:
            await sending.send(sent)
            assert stub.requests[0].headers["host"] == f"hooks.example.org:{port}"
        else:
            with pytest.raises(NotDelivered, match=r"certificate|CERTIFICATE"):
                await sending.send(sent)
    assert asked_for == ["hooks.example.org"]
    assert len(stub.requests) == delivered


async def test_the_next_address_is_tried_if_one_cannot_be_reached() -> None:
    async def two(_: WebhookTarget) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    with receiver() as stub:
        sending = WebhookTransport(Webhook(allow_hosts=LOCAL), SystemClock(), two)
        await sending.send(to(stub.url))
    assert len(stub.requests) == 1


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"])
async def test_proxies_of_the_environment_are_not_used(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    with receiver() as proxy, receiver() as stub:
        monkeypatch.setenv(variable, proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        await transport().send(to(stub.url))
    assert (len(proxy.requests), len(stub.requests)) == (0, 1)


# -- secrets ---------------------------------------------------------------------------------------


def test_secrets_are_long_and_random() -> None:
    asked: list[int] = []

    def random(size: int) -> bytes:
        asked.append(size)
        return bytes(range(size))

    assert read_webhook_secret(make_webhook_secret(random)) == bytes(range(32))
    assert asked == [32]


@pytest.mark.parametrize(
    "secret", ["", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjU", "whsec_!!!", "whsec_é"]
)
def test_what_is_no_secret(secret: str) -> None:
    with pytest.raises(ValueError, match="the secret of a webhook") as refused:
        read_webhook_secret(secret)
    assert not secret or secret not in str(refused.value).replace("whsec_ and", "")


def test_a_body_is_json_in_utf8() -> None:
    sent = replace(to("https://h.example"), data={"text": "é\u2028<x>"})
    assert json.loads(webhook_body(sent).decode())["data"] == {"text": "é\u2028<x>"}
