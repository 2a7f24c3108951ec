"""An OpenID Connect provider on this machine: serves its keys over HTTP, and signs tokens."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, Key, KeySet, OctKey, RSAKey

from duetime.admin.identity.oidc import Oidc
from duetime.testing import FakeClock

AUDIENCE = "duetime"
CONFIGURATION = "/.well-known/openid-configuration"
KEYS = "/keys"


class Provider:
    """What the provider answers can be changed at any time; `asked` are the paths that were."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.key = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
        self.published: list[Any] = [self.key.as_dict(private=False)]
        self.asked: list[str] = []
        self.issuer = ""
        self.claimed_issuer: str | None = None
        self.keys_at: str | None = None
        self.redirected = False
        self.status = 200

    @property
    def times_asked(self) -> int:
        return self.asked.count(KEYS)

    def oidc(self, **given: Any) -> Oidc:
        return Oidc(self.issuer, AUDIENCE, **{"loopback_http": True} | given)

    def claims(self, **given: Any) -> dict[str, Any]:
        now = int(self._clock.now().timestamp())
        usual = {"iss": self.issuer, "aud": AUDIENCE, "sub": "ann", "exp": now + 600, "iat": now}
        return {name: value for name, value in (usual | given).items() if value is not None}

    def token(
        self, *, key: Key | None = None, header: dict[str, Any] | None = None, **claims: Any
    ) -> str:
        """A token signed by the provider's key; claims that are None are left out."""
        key = key or self.key
        named = {"alg": "RS256", "kid": key.kid} | (header or {})
        named = {name: value for name, value in named.items() if value is not None}
        text: str = jwt.encode(named, self.claims(**claims), key, algorithms=[named["alg"]])
        return text

    def publish(self, *keys: Key) -> None:
        self.published = KeySet(list(keys)).as_dict(private=False)["keys"]

    def answer(self, path: str) -> Any:
        self.asked.append(path)
        if path == CONFIGURATION:
            keys_at = self.keys_at or f"{self.issuer}{KEYS}"
            return {"issuer": self.claimed_issuer or self.issuer, "jwks_uri": keys_at}
        return {"keys": self.published}


def ec_key(kid: str) -> ECKey:
    return ECKey.generate_key("P-256", {"kid": kid, "use": "sig"})


def secret_key(text: str | bytes, kid: str) -> OctKey:
    return OctKey.import_key(text, {"kid": kid})


@contextmanager
def served(provider: Provider) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = json.dumps(provider.answer(self.path)).encode()
            if provider.redirected and self.path == KEYS:
                self.send_response(302)
                self.send_header("Location", f"{provider.issuer}/elsewhere")
            else:
                self.send_response(provider.status)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def provider(clock: FakeClock) -> Iterator[Provider]:
    made = Provider(clock)
    with served(made):
        yield made
