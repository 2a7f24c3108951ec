"""Which addresses a webhook may reach: none inside the operator's own network, unless allowed."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Collection, Iterator
from ipaddress import (
    IPv4Address,
    IPv6Address,
    IPv6Network,
    ip_address,
)
from typing import NamedTuple
from urllib.parse import urlsplit

from duetime.errors import shown

MAX_URL_LENGTH = 2000
PRINTABLE_ASCII = re.compile(r"[!-~]+")
HOST_NAME = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*|[0-9a-f:.]+")
PORTS = {"https": 443, "http": 80}
IPAddress = IPv4Address | IPv6Address

# Networks of IPv6 whose addresses hold one of IPv4, by the bits that follow it.
IPV4_IN_LAST_BITS = (
    IPv6Network("::/96"),
    IPv6Network("::ffff:0:0/96"),
    IPv6Network("::ffff:0:0:0/96"),
    IPv6Network("64:ff9b::/96"),
)
# Its addresses are those of a network behind a translator, which may be the operator's own.
LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")
# Behind any network: `0:5efe` or `200:5efe`, then an address of IPv4 (RFC 5214).
ISATAP = (0x00005EFE, 0x02005EFE)


class ForbiddenTarget(Exception):
    """A webhook must not be sent there; the text says why."""


class WebhookTarget(NamedTuple):
    """Where a webhook goes. `allowed` says that the operator vouches for the host."""

    scheme: str
    host: str
    port: int
    path: str
    allowed: bool

    @property
    def authority(self) -> str:
        """The value of the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def read_target(url: str, allow_hosts: Collection[str]) -> WebhookTarget:
    """Return what the URL of a webhook names. ForbiddenTarget if none may be sent there."""
    if len(url) > MAX_URL_LENGTH or not PRINTABLE_ASCII.fullmatch(url) or "\\" in url:
        raise ForbiddenTarget(f"a URL has up to {MAX_URL_LENGTH} characters of ASCII, no spaces")
    try:
        parts = urlsplit(url)
        scheme, host, port = parts.scheme.lower(), (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        raise ForbiddenTarget("it is no URL") from None
    if scheme not in PORTS:
        raise ForbiddenTarget("its URL begins with https://")
    if "@" in parts.netloc:
        raise ForbiddenTarget("its URL must not hold a user or a password")
    if not HOST_NAME.fullmatch(host) or port == 0:
        raise ForbiddenTarget("its URL names no host")
    allowed = host in allow_hosts
    if scheme == "http" and not allowed:
        raise ForbiddenTarget(
            f"it needs https, unless allow_hosts of Webhook(...) has {shown(host)}"
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return WebhookTarget(scheme, host, port or PORTS[scheme], path, allowed)


async def resolve(target: WebhookTarget) -> list[str]:
    """Return the addresses of a target, each of which may be reached. OSError if it has none,
    ForbiddenTarget if any is not one of the public Internet.

    The name is resolved here only, and the connection goes to what was found: a name that means
    another address a moment later leads nowhere else.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not target.allowed:
        for address in addresses:
            _refuse_local(target, address)
    return addresses


def _refuse_local(target: WebhookTarget, address: str) -> None:
    if not is_public(ip_address(address)):
        # Without the address: what a name means inside the network is not the subscriber's to know.
        raise ForbiddenTarget(
            f"{shown(target.host)} is not on the public Internet; allow_hosts of Webhook(...) "
            "names hosts that may be elsewhere"
        )


def is_public(address: IPAddress) -> bool:
    """Return whether an address is one of the public Internet, and so are those within it."""
    if isinstance(address, IPv4Address):
        return _is_public_itself(address)
    if address in LOCAL_NAT64 or address.scope_id is not None:
        return False
    embedded = list(_embedded(address))
    if not all(_is_public_itself(each) for each in embedded):
        return False
    # A translated address is as public as that within it.
    translated = any(address in network for network in IPV4_IN_LAST_BITS[1:])
    return translated or (_is_public_itself(address) and address not in IPV4_IN_LAST_BITS[0])


def _embedded(address: IPv6Address) -> Iterator[IPv4Address]:
    """Yield the addresses of IPv4 that one of IPv6 holds."""
    number = int(address)
    if any(address in network for network in IPV4_IN_LAST_BITS):
        yield _ipv4(number)
    if (number >> 32) & 0xFFFFFFFF in ISATAP:
        yield _ipv4(number)
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo


def _ipv4(number: int) -> IPv4Address:
    return IPv4Address(number & 0xFFFFFFFF)


def _is_public_itself(address: IPAddress) -> bool:
    local = isinstance(address, IPv6Address) and address.is_site_local
    special = address.is_multicast or address.is_reserved or address.is_unspecified or local
    return address.is_global and not special
