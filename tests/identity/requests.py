"""Requests as their facts, and an authenticator of an app."""

from typing import Any

from duetime import Duetime
from duetime.admin.identity.authenticator import AuthenticationOptions, RequestAuthenticator
from duetime.admin.identity.request_facts import RequestFacts

PEER = "203.0.113.9"


def request(
    *headers: tuple[str, str], peer: str | None = PEER, key: str | None = None, own: object = None
) -> RequestFacts:
    """A request from another machine, or from `peer`, with a bearer token if one is given."""
    bearer = [] if key is None else [("authorization", f"Bearer {key}")]
    return RequestFacts(peer, [*headers, *bearer], own)


def local_request(*headers: tuple[str, str], key: str | None = None) -> RequestFacts:
    return request(("host", "localhost:8000"), *headers, peer="127.0.0.1", key=key)


def authenticator(app: Duetime, **options: Any) -> RequestAuthenticator:
    return RequestAuthenticator(lambda: app.store, app.clock, AuthenticationOptions(**options))
