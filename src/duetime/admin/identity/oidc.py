"""Tokens of an OpenID Connect provider: what they must say, and the identity that they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from duetime.errors import ConfigError, InvalidArgument, NotAuthenticated, shown
from duetime.model.access.identity import Identity, refuse_credential_name
from duetime.model.validation import check_name

# Signed with a private key of the provider. With a shared secret anybody who can check a token
# could make one, and `none` is no signature.
ASYMMETRIC_ALGORITHMS = frozenset(
    {
        *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
        *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
    }
)
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
MAX_TENANT_LENGTH = 450
# How far the clock of the provider may be ahead of ours.
SKEW_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Oidc:
    """A provider whose tokens are accepted as `Authorization: Bearer`.

    `roles_claim` and `tenant_claim` name a claim, or with dots the way to one inside others. With a
    `tenant_claim`, a token without it is refused. `loopback_http` lets a provider on this machine
    be asked over plain HTTP, for tests.
    """

    issuer: str
    audience: str
    roles_claim: str = "roles"
    tenant_claim: str | None = None
    algorithms: Sequence[str] = ("RS256", "ES256")
    loopback_http: bool = False

    def __post_init__(self) -> None:
        for name in ("issuer", "audience", "roles_claim"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise ConfigError(f"Oidc {name}={shown(value)} is not valid: give its name")
        refused = [name for name in self.algorithms if name not in ASYMMETRIC_ALGORITHMS]
        if isinstance(self.algorithms, str) or refused or not self.algorithms:
            raise ConfigError(
                f"Oidc algorithms={shown(self.algorithms)} is not valid: give some of "
                f"{', '.join(sorted(ASYMMETRIC_ALGORITHMS))}"
            )
        self.refuse_insecure(self.issuer)

    def refuse_insecure(self, url: str) -> None:
        """Raise ConfigError for an address whose answers somebody on the way could forge."""
        parts = urlsplit(url)
        is_loopback = parts.scheme == "http" and parts.hostname in LOOPBACK_NAMES
        if parts.scheme != "https" and not (self.loopback_http and is_loopback):
            raise ConfigError(f"{shown(url)} is not safe to ask for keys: give an https address")


def check_claims(oidc: Oidc, claims: Mapping[str, Any], now: int) -> None:
    """Raise NotAuthenticated unless the claims are of this provider, for us, and valid now."""
    from joserfc.errors import JoseError
    from joserfc.jwt import JWTClaimsRegistry

    given = {name: value for name, value in claims.items() if name not in ("nbf", "iat")}
    registry = JWTClaimsRegistry(
        now=now,
        exp={"essential": True},
        iss={"essential": True, "value": oidc.issuer},
        aud={"essential": True, "value": oidc.audience},
        sub={"essential": True},
    )
    try:
        registry.validate(given)
        JWTClaimsRegistry(now=now + SKEW_SECONDS).validate({"nbf": claims.get("nbf", 0)})
    except JoseError as error:
        raise NotAuthenticated(f"the token is not valid: {error.error}") from None
    if claims["exp"] <= now:
        # Older versions of joserfc still accept the token in its last second.
        raise NotAuthenticated("the token is not valid: expired_token")


def identity_of(oidc: Oidc, claims: Mapping[str, Any]) -> Identity:
    """Return the identity that checked claims name. NotAuthenticated if they name none that can
    be one."""
    try:
        roles = _roles(claim_at(claims, oidc.roles_claim))
        identity = Identity(claims["sub"], roles, _tenant(oidc, claims))
        return refuse_credential_name(identity)
    except InvalidArgument as error:
        raise NotAuthenticated(f"the token names no valid {error.argument}") from None


def claim_at(claims: Mapping[str, Any], name: str) -> object:
    """Return the claim of this name, or the one to which its dots lead; None if it is missing.
    Names that are URLs have dots, too."""
    if name in claims:
        return claims[name]
    found: object = claims
    for part in name.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found


def _roles(value: object) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return value.split()
    if not isinstance(value, list):
        raise InvalidArgument("roles", type(value).__name__, "give a list of names")
    return value


def _tenant(oidc: Oidc, claims: Mapping[str, Any]) -> str | None:
    if oidc.tenant_claim is None:
        return None
    value: Any = claim_at(claims, oidc.tenant_claim)
    return check_name("tenant", value, MAX_TENANT_LENGTH)
