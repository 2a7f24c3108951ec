"""What identifies the sender of a request, apart from any web framework."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# What Starlette's test client, which calls the app in its own process, gives as its address.
IN_PROCESS = "testclient"
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
# Headers by which proxies say for whom they send. Each that begins with x-forwarded is one, too.
FORWARDING_HEADERS = frozenset(
    {
        *("forwarded", "via", "x-real-ip", "x-client-ip", "x-cluster-client-ip"),
        *("cf-connecting-ip", "true-client-ip", "fastly-client-ip", "x-original-forwarded-for"),
    }
)


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """The peer of a request's connection (None if unknown), and its headers, with names in lower
    case; `request` is the framework's own, for the host's `identify`."""

    peer: str | None
    headers: Sequence[tuple[str, str]] = field(repr=False)
    request: object = field(default=None, repr=False)
    scheme: str = "http"

    def header(self, name: str) -> str | None:
        """Return the header, or None if it is missing or was sent more than once."""
        found = self.all(name)
        return found[0] if len(found) == 1 else None

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]


def facts_of_scope(scope: Mapping[str, object], request: object = None) -> RequestFacts:
    """Return the facts of an ASGI connection scope."""
    client = scope.get("client")
    raw = scope.get("headers") or ()
    headers = [(n.decode("latin-1").lower(), v.decode("latin-1")) for n, v in raw]  # type: ignore[attr-defined]
    peer = client[0] if client else None  # type: ignore[index]
    return RequestFacts(peer, headers, request, str(scope.get("scheme", "http")))


def is_local(facts: RequestFacts) -> bool:
    """Return whether the request was sent on this machine, to this machine, and by nobody else's
    order: a loopback peer, a local Host, which a rebound DNS name is not, and no proxy between."""
    if any(_is_forwarding(name) for name, _ in facts.headers):
        return False
    if facts.peer == IN_PROCESS:
        return True
    address = to_address(facts.peer)
    return address is not None and address.is_loopback and _is_local_host(facts.header("host"))


def _is_forwarding(name: str) -> bool:
    return name in FORWARDING_HEADERS or name.startswith("x-forwarded")


def _is_local_host(host: str | None) -> bool:
    if host is None:
        return False
    name, colon, port = host.rpartition(":")
    if colon and port.isdecimal() and port.isascii():
        host = name
    return host.lower() in LOCAL_NAMES


def address_of(facts: RequestFacts, trusted: Sequence[Network]) -> str | None:
    """Return the address for which the request was sent: the peer's, or, as far as each proxy on
    the way is trusted, the one that it forwarded."""
    hops = [hop.strip() for value in facts.all("x-forwarded-for") for hop in value.split(",")]
    nearest = facts.peer
    while hops and _is_trusted(nearest, trusted):
        if to_address(hops[-1]) is None:
            break
        nearest = hops.pop()
    address = to_address(nearest)
    return nearest if address is None else str(address)


def _is_trusted(text: str | None, trusted: Sequence[Network]) -> bool:
    address = to_address(text)
    return address is not None and any(address in network for network in trusted)


def to_address(text: str | None) -> Address | None:
    """Return the address that a text names, without a port; an IPv4 address within an IPv6 one is
    that IPv4 address."""
    try:
        address = ipaddress.ip_address(_without_port(text or ""))
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address


def _without_port(text: str) -> str:
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text
