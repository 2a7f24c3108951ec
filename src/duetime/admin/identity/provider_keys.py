"""The public keys of an OpenID Connect provider, fetched when they are needed and kept."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib import request as http
from urllib.error import URLError

from duetime.admin.identity.oidc import Oidc
from duetime.errors import ConfigError, NotAuthenticated
from duetime.logs import get_log
from duetime.model.clock import Clock

if TYPE_CHECKING:
    from joserfc.jwk import Key, KeySet

# An unknown key may be a new one of the provider's: it is asked, but not for each forged token.
ASK_AGAIN_SECONDS = 60.0
# Keys that the provider has withdrawn are forgotten after this time.
KEPT_SECONDS = 3600.0
TIMEOUT_SECONDS = 5.0
MAX_DOCUMENT_BYTES = 1_000_000
PUBLIC_KEY_TYPES = frozenset({"RSA", "EC", "OKP"})

log = get_log("duetime.admin")

# Returns the document at an address.
Fetch = Callable[[str], Any]


class ProviderKeys:
    """The keys of one provider. Safe to use from several threads and event loops."""

    def __init__(self, oidc: Oidc, clock: Clock, fetch: Fetch | None = None) -> None:
        self._oidc = oidc
        self._clock = clock
        self._fetch = fetch or fetch_document
        self._lock = threading.Lock()
        self._keys: KeySet | None = None
        self._fetched_at = self._asked_at = float("-inf")

    async def find(self, kid: str | None) -> Key:
        """Return the key of this id, or, without an id, the only one. NotAuthenticated if there is
        none."""
        key = self._known(kid)
        if key is None or self._is_past(self._fetched_at, KEPT_SECONDS):
            await asyncio.to_thread(self._ask)
            key = self._known(kid)
        if key is None:
            raise NotAuthenticated("the token is signed with a key that the provider has not")
        return key

    def _known(self, kid: str | None) -> Key | None:
        keys = list(self._keys or ())
        if kid is None:
            return keys[0] if len(keys) == 1 else None
        return next((key for key in keys if key.kid == kid), None)

    def _ask(self) -> None:
        """Fetch the keys, unless that was tried within the last minute. If it fails, the old ones
        stay. Where another thread is fetching, use the old keys, or wait if there are none."""
        if not self._lock.acquire(blocking=self._keys is None):
            return
        try:
            if self._is_past(self._asked_at, ASK_AGAIN_SECONDS):
                self._asked_at = self._now()
                self._keys = self._fetched()
                self._fetched_at = self._now()
        except (OSError, ValueError, KeyError, TypeError, ConfigError) as error:
            log.warning("keys of %s could not be fetched: %s", self._oidc.issuer, error)
        finally:
            self._lock.release()

    def _fetched(self) -> KeySet:
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        base = self._oidc.issuer.rstrip("/")
        about = self._document(f"{base}/.well-known/openid-configuration")
        if about["issuer"] != self._oidc.issuer:
            raise ValueError(f"the provider calls itself {about['issuer']!r}")
        found = self._document(about["jwks_uri"])["keys"]
        public = [key for key in found if _is_for_signatures(key)]
        try:
            return KeySet.import_key_set({"keys": public})
        except JoseError as error:
            raise ValueError(f"no usable key: {error}") from None

    def _document(self, url: str) -> Any:
        self._oidc.refuse_insecure(url)
        return self._fetch(url)

    def _is_past(self, instant: float, seconds: float) -> bool:
        """Return whether an instant is so long ago, or, after a change of the clock, to come."""
        return not 0 <= self._now() - instant < seconds

    def _now(self) -> float:
        return self._clock.now().timestamp()


def _is_for_signatures(key: Any) -> bool:
    return (
        isinstance(key, dict)
        and key.get("kty") in PUBLIC_KEY_TYPES
        and key.get("use", "sig") == "sig"
        and "verify" in key.get("key_ops", ["verify"])
    )


class _NoRedirects(http.HTTPRedirectHandler):
    """Follows nothing: whoever redirects could make us ask any address."""

    def redirect_request(self, *args: object, **kwargs: object) -> None:
        return None


def fetch_document(url: str) -> Any:
    """Return the JSON document at an address, which is asked directly or through the proxy of the
    environment."""
    ask = http.Request(url, headers={"Accept": "application/json"})  # noqa: S310 - scheme checked
    with http.build_opener(_NoRedirects).open(ask, timeout=TIMEOUT_SECONDS) as answer:
        text = answer.read(MAX_DOCUMENT_BYTES + 1)
    if len(text) > MAX_DOCUMENT_BYTES:
        raise URLError(f"more than {MAX_DOCUMENT_BYTES} bytes")
    return json.loads(text)
