"""Where tokens go, and where they do not."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from certificates import certificate
from duetime import Duetime
from duetime.errors import ConfigError, DuetimeError
from remote.conftest import Served
from remote.serving import answering, listening, response

SECRET = "dt_very-secret"
PAGE = response(200, '{"items": [], "next_cursor": null}')


@pytest.mark.parametrize(
    "url",
    [
        *("http://host/duetime", "http://10.0.0.1", "http://192.168.1.1:8000", "http://[::2]/"),
        *("http://localhost.evil.example", "http://127.0.0.1.evil.example", "http://0.0.0.0"),
    ],
)
def test_a_token_is_not_sent_in_clear_text(url: str) -> None:
    with pytest.raises(ConfigError, match="would send the token in clear text: give https://"):
        Duetime.connect(url, token=SECRET)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "https://host/duetime",
            "https://10.0.0.1",
            "http://localhost:8000/",
            "http://[::1]:8000",
        ),
        *("http://127.0.0.1", "http://127.8.9.1:1/x/y/"),
    ],
)
def test_https_and_this_machine_are_fine(url: str) -> None:
    assert Duetime.connect(url, token=SECRET).settings.url == url.rstrip("/")


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("sqlite:///shop.db", "no address of a server"),
        ("postgresql://ann:pass@host/db", "no address of a server"),
        ("https://ann:pass@host", "holds a user or a password"),
        ("https://host/?tenant=acme", "a query or a fragment"),
        ("https://host/#x", "a query or a fragment"),
        ("https://host:99999", "no address"),
        ("https://", "no address of a server"),
        ("https://[::1", "no address"),
        ("", "no address of a server"),
        (7, "no address"),
    ],
)
def test_what_is_no_address_is_refused(url: Any, text: str) -> None:
    with pytest.raises(ConfigError, match=text) as refused:
        Duetime.connect(url, token=SECRET)
    assert "pass@" not in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "token", ["", " \n", "two words", "dt_\nInjected: 1", "dt_ü", "dt_\x00", 7]
)
def test_what_is_no_token_is_refused_without_showing_it(token: Any) -> None:
    with pytest.raises(ConfigError, match="the token") as refused:
        Duetime.connect("https://host", token=token)
    assert "Injected" not in str(refused.value)


def test_a_token_is_sent_without_white_space_around_it() -> None:
    with answering(lambda _: PAGE) as stub:
        app = Duetime.connect(stub.url, token=f" {SECRET}\n")
        app.sync.find()
        app.sync.close()
    assert stub.requests[0].headers["authorization"] == f"Bearer {SECRET}"


def test_without_a_token_none_is_sent() -> None:
    with answering(lambda _: PAGE) as stub:
        app = Duetime.connect(stub.url)
        app.sync.find()
        app.sync.close()
    assert "authorization" not in stub.requests[0].headers


def test_a_function_is_asked_for_each_request() -> None:
    tokens = iter(["first", "second"])
    with answering(lambda _: PAGE) as stub:
        app = Duetime.connect(stub.url, token=lambda: next(tokens))
        app.sync.find()
        asyncio.run(app.find())
        app.sync.close()
    sent = [request.headers["authorization"] for request in stub.requests]
    assert sent == ["Bearer first", "Bearer second"]


FAILURES: dict[str, bytes | None] = {
    "lost": None,
    "refused": response(401, "x"),
    "redirected": response(302),
    "strange": response(200, "<html>"),
    "failed": response(500, "x"),
}


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES.keys())
@pytest.mark.parametrize("ask", [lambda app: app.sync.find(), lambda app: asyncio.run(app.find())])
def test_a_token_is_shown_nowhere(
    answer: bytes | None, ask: Callable[[Duetime], Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with answering(lambda _: answer) as stub:
        app = Duetime.connect(stub.url, token=SECRET, timeout=0.3)
        with pytest.raises(DuetimeError) as raised:
            ask(app)
        app.sync.close()
    assert stub.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    shown = "".join(traceback.TracebackException.from_exception(raised.value).format())
    assert SECRET not in shown
    assert SECRET not in caplog.text
    assert SECRET not in f"{app!r} {vars(app)!r} {app.settings!r} {vars(app.runtime.store)!r}"
    assert raised.value.__cause__ is None


def test_a_token_is_not_shown_when_nothing_listens(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with listening() as listener:
        port = listener.getsockname()[1]
    app = Duetime.connect(f"http://127.0.0.1:{port}", token=SECRET, timeout=0.2)
    with pytest.raises(DuetimeError) as raised:
        app.sync.find()
    assert SECRET not in "".join(traceback.format_exception(raised.value)) + caplog.text


def test_a_proxy_sees_nothing_of_requests_to_this_machine(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(lambda _: PAGE) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        app = served.connect()
        assert app.sync.find().items == []
        asyncio.run(app.find())
        app.sync.close()
    assert proxy.requests == []


# -- certificates ---------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", [lambda app: app.sync.find(), lambda app: asyncio.run(app.find())])
@pytest.mark.parametrize(
    ("host", "trusted"), [("127.0.0.1", True), ("127.0.0.1", False), ("127.0.0.2", True)]
)
def test_servers_must_prove_who_they_are(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ask: Callable[[Duetime], Any],
    host: str,
    trusted: bool,
) -> None:
    context, file = certificate(tmp_path, host)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with answering(lambda _: PAGE, context) as stub:
        app = Duetime.connect(stub.url, token=SECRET, timeout=20)
        if trusted and host == "127.0.0.1":
            assert ask(app).items == []
        else:
            with pytest.raises(ConfigError, match="its certificate is not trusted"):
                ask(app)
        app.sync.close()
    assert len(stub.requests) == (trusted and host == "127.0.0.1")
