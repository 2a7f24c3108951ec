"""Bearer tokens of an OpenID Connect provider, checked and turned into identities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from duetime.admin.identity.oidc import Oidc, check_claims, identity_of
from duetime.admin.identity.provider_keys import ProviderKeys
from duetime.errors import ConfigError, NotAuthenticated
from duetime.model.access.identity import Identity
from duetime.model.clock import Clock

if TYPE_CHECKING:
    from joserfc.jwt import Token

MAX_TOKEN_LENGTH = 16_384


class Tokens:
    """Checks the tokens of one provider."""

    def __init__(self, oidc: Oidc, clock: Clock, keys: ProviderKeys | None = None) -> None:
        require_joserfc()
        self._oidc = oidc
        self._clock = clock
        self._keys = keys or ProviderKeys(oidc, clock)

    async def identity(self, text: str) -> Identity:
        """Return the identity that a token names. NotAuthenticated if the token is not valid."""
        if len(text) > MAX_TOKEN_LENGTH:
            raise NotAuthenticated(f"the token has more than {MAX_TOKEN_LENGTH} characters")
        header = self._header(text)
        key = await self._keys.find(header.get("kid"))
        claims = self._decoded(text, key).claims
        check_claims(self._oidc, claims, int(self._clock.now().timestamp()))
        return identity_of(self._oidc, claims)

    def _header(self, text: str) -> dict[str, Any]:
        """Return the header, which nobody has vouched for yet: it names the key to check it
        with."""
        from joserfc.errors import JoseError
        from joserfc.jws import extract_compact

        try:
            header: dict[str, Any] = extract_compact(text.encode()).headers()
        except (JoseError, ValueError, TypeError, RecursionError):
            raise NotAuthenticated("the token is not a signed JWT") from None
        if header.get("alg") not in self._oidc.algorithms:
            raise NotAuthenticated("the token is signed with an algorithm that is not accepted")
        if not isinstance(header.get("kid", ""), str):
            raise NotAuthenticated("the token is not a signed JWT")
        return header

    def _decoded(self, text: str, key: Any) -> Token:
        from joserfc import jwt
        from joserfc.errors import JoseError

        try:
            return jwt.decode(text, key, algorithms=list(self._oidc.algorithms))
        except (JoseError, ValueError, TypeError, RecursionError):
            raise NotAuthenticated("the token's signature is not valid") from None


def require_joserfc() -> None:
    try:
        import joserfc  # noqa: F401 - only whether it is there
    except ImportError:
        raise ConfigError("tokens need `pip install 'duetime[oidc]'`") from None
