"""The provider's keys: new ones, storms of unknown ones, redirects and outages."""

import asyncio
import logging
from typing import Any

import pytest

from duetime import Duetime
from duetime.admin.identity.authenticator import RequestAuthenticator
from duetime.errors import NotAuthenticated, RateLimited
from duetime.testing import FakeClock
from identity.provider import Provider, ec_key
from identity.requests import authenticator, request


@pytest.fixture
def find(memory_app: Duetime, provider: Provider) -> RequestAuthenticator:
    return authenticator(memory_app, oidc=provider.oidc())


async def who(find: RequestAuthenticator, token: str) -> str:
    """The subject, or the name of the error."""
    try:
        return (await find.access(request(key=token))).by
    except (NotAuthenticated, RateLimited) as error:
        return type(error).__name__


async def test_keys_are_fetched_once(find: RequestAuthenticator, provider: Provider) -> None:
    tokens = [provider.token() for _ in range(20)]
    assert await asyncio.gather(*(who(find, token) for token in tokens)) == ["ann"] * 20
    assert provider.times_asked == 1


async def test_a_new_key_is_known_within_a_minute(
    find: RequestAuthenticator, provider: Provider, clock: FakeClock
) -> None:
    assert await who(find, provider.token()) == "ann"
    new = ec_key("second")
    provider.publish(provider.key, new)
    token = provider.token(key=new, header={"alg": "ES256"})
    assert await who(find, token) == "NotAuthenticated"
    clock.advance(60)
    assert await who(find, token) == "ann"
    assert provider.times_asked == 2


async def test_a_storm_of_unknown_keys_asks_once_a_minute(
    find: RequestAuthenticator, provider: Provider, clock: FakeClock
) -> None:
    assert await who(find, provider.token()) == "ann"
    clock.advance(60)
    storm = [provider.token(header={"kid": f"k{n}"}) for n in range(50)]
    answers = await asyncio.gather(
        *(who(find, token) for token in storm), who(find, provider.token())
    )
    assert answers[-1] == "ann"
    assert "ann" not in answers[:-1]
    assert provider.times_asked == 2
    clock.advance(59)
    assert await who(find, storm[0]) != "ann"
    assert provider.times_asked == 2


async def test_a_withdrawn_key_is_forgotten_after_an_hour(
    find: RequestAuthenticator, provider: Provider, clock: FakeClock
) -> None:
    assert await who(find, provider.token()) == "ann"
    provider.publish(ec_key("second"))
    assert await who(find, provider.token()) == "ann"
    clock.advance(hours=1)
    assert await who(find, provider.token()) == "NotAuthenticated"


def break_down(provider: Provider, how: str) -> None:
    changes: dict[str, dict[str, Any]] = {
        "errors": {"status": 503},
        "redirects": {"redirected": True},
        "no keys": {"published": []},
        "keys of no kind": {"published": [{"kty": "new"}, {}]},
        "nonsense": {"published": "x"},
        "another issuer": {"claimed_issuer": "https://other.example"},
        "keys by plain http": {"keys_at": "http://keys.example/keys"},
        "keys in a file": {"keys_at": "file:///etc/passwd"},
    }
    for name, value in changes[how].items():
        setattr(provider, name, value)


BREAKDOWNS = ["errors", "redirects", "no keys", "keys of no kind", "nonsense"]
BREAKDOWNS += ["another issuer", "keys by plain http", "keys in a file"]


@pytest.mark.parametrize("how", BREAKDOWNS)
async def test_while_a_provider_is_broken_its_old_keys_stay(
    find: RequestAuthenticator,
    provider: Provider,
    clock: FakeClock,
    how: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert await who(find, provider.token()) == "ann"
    break_down(provider, how)
    clock.advance(hours=2)
    assert await who(find, provider.token()) == "ann"
    assert "could not be fetched" in caplog.text
    assert "/elsewhere" not in provider.asked


@pytest.mark.parametrize("how", BREAKDOWNS)
async def test_without_any_key_nobody_is_known(
    find: RequestAuthenticator, provider: Provider, clock: FakeClock, how: str
) -> None:
    healthy = dict(vars(provider))
    break_down(provider, how)
    assert await who(find, provider.token()) == "NotAuthenticated"
    vars(provider).update({name: healthy[name] for name in healthy if name != "asked"})
    provider.publish(provider.key)
    assert await who(find, provider.token()) == "NotAuthenticated"
    clock.advance(60)
    assert await who(find, provider.token()) == "ann"


async def test_a_provider_that_is_away(
    memory_app: Duetime, provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    issuer, provider.issuer = provider.issuer, "http://127.0.0.1:1"
    find = authenticator(memory_app, oidc=provider.oidc())
    token = provider.token()
    provider.issuer = issuer
    assert await who(find, token) == "NotAuthenticated"
    assert "http://127.0.0.1:1" in caplog.text
    assert token not in caplog.text
