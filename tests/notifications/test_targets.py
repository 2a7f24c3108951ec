"""Which addresses a webhook may reach: none inside a network, in whichever form it is written."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime.notifications.targets import ForbiddenTarget, is_public, read_target, resolve

LOCAL_IPV4 = {
    "loopback": "127.0.0.1",
    "loopback, another": "127.255.0.9",
    "this host": "0.0.0.0",
    "this network": "0.1.2.3",
    "link-local": "169.254.0.1",
    "metadata": "169.254.169.254",
    "metadata of Alibaba": "100.100.100.200",
    "private, 10": "10.0.0.1",
    "private, 172": "172.31.255.255",
    "private, 192": "192.168.0.1",
    "carrier": "100.64.0.1",
    "benchmarks": "198.18.0.1",
    "documentation": "192.0.2.1",
    "multicast": "224.0.0.1",
    "multicast, global": "239.255.255.250",
    "reserved": "240.0.0.1",
    "broadcast": "255.255.255.255",
}
LOCAL_IPV6 = {
    "unspecified": "::",
    "loopback": "::1",
    "link-local": "fe80::1",
    "link-local with its interface": "fe80::1%eth0",
    "unique local": "fd00::1",
    "metadata of AWS": "fd00:ec2::254",
    "site-local": "fec0::1",
    "multicast": "ff02::1",
    "documentation": "2001:db8::1",
    "discard": "100::1",
    "benchmarks": "2001:2::1",
    "translated in a local network": "64:ff9b:1::808:808",
}
PUBLIC = ["8.8.8.8", "93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "2a00:1450::200e"]


def embedded(address: IPv4Address) -> dict[str, IPv6Address]:
    """The forms in which an address of IPv6 holds one of IPv4."""
    number = int(address)
    prefix = 0x2A00_1450 << 96
    return {
        "mapped": IPv6Address((0xFFFF << 32) | number),
        "compatible": IPv6Address(number),
        "translated": IPv6Address((0xFFFF << 48) | number),
        "NAT64": IPv6Address((0x64FF9B << 96) | number),
        "6to4": IPv6Address((0x2002 << 112) | (number << 80) | 1),
        "Teredo client": IPv6Address((0x20010000 << 96) | (8 << 88) | (number ^ 0xFFFFFFFF)),
        "Teredo server": IPv6Address((0x20010000 << 96) | (number << 64) | 1),
        "ISATAP": IPv6Address(prefix | (0x5EFE << 32) | number),
        "ISATAP, global": IPv6Address(prefix | (0x02005EFE << 32) | number),
    }


@pytest.mark.parametrize("address", [*LOCAL_IPV4.values(), *LOCAL_IPV6.values()])
def test_local_addresses_are_refused(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", LOCAL_IPV4.values())
def test_local_addresses_within_others_are_refused(address: str) -> None:
    for form, outer in embedded(IPv4Address(address)).items():
        assert not is_public(outer), form


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_reached(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize("form", ["mapped", "NAT64", "6to4", "ISATAP"])
def test_public_addresses_within_others_are_reached(form: str) -> None:
    assert is_public(embedded(IPv4Address("8.8.8.8"))[form])


@given(st.ip_addresses(v=4))
def test_no_form_of_an_address_is_more_public_than_the_address(address: IPv4Address) -> None:
    if not is_public(address):
        assert [form for form, outer in embedded(address).items() if is_public(outer)] == []


# -- names -----------------------------------------------------------------------------------------

LOCAL_HOSTS = (
    *("localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.1", "2130706433", "0x7f000001"),
    *("0177.0.0.1", "0", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"),
    *("[64:ff9b::7f00:1]", "[2002:7f00:1::]", "169.254.169.254", "[fd00:ec2::254]", "10.0.0.1"),
)


@pytest.mark.parametrize("host", LOCAL_HOSTS)
async def test_names_of_local_addresses_are_refused(host: str) -> None:
    target = read_target(f"https://{host}/hook", ())
    with pytest.raises(ForbiddenTarget, match="not on the public Internet") as refused:
        await resolve(target)
    # What a name means inside the network is not the subscriber's to know.
    assert str(refused.value).count("127.0.0.1") == host.count("127.0.0.1")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
async def test_the_operator_allows_hosts(host: str) -> None:
    target = read_target(f"http://{host}:8080/hook", (host.strip("[]"),))
    assert {*await resolve(target)} <= {"127.0.0.1", "::1"}


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://hooks.example.org/", "needs https, unless allow_hosts"),
        ("ftp://hooks.example.org/", "begins with https"),
        ("file:///etc/passwd", "begins with https"),
        ("gopher://hooks.example.org/", "begins with https"),
        ("https:///path", "names no host"),
        ("https://", "names no host"),
        ("hooks.example.org", "begins with https"),
        ("https://user:password@hooks.example.org/", "user or a password"),
        ("https://user@hooks.example.org/", "user or a password"),
        ("https://@hooks.example.org/", "user or a password"),
        ("https://hooks.example.org:0/", "names no host"),
        ("https://hooks.example.org:99999/", "it is no URL"),
        ("https://[::1/", "it is no URL"),
        ("https://hooks.example.org/a b", "no spaces"),
        ("https://hooks.example.org/\r\nHost: x", "no spaces"),
        ("https://hooks.example.org\\@127.0.0.1/", "no spaces"),
        ("https://exämple.org/", "of ASCII"),
        ("https://127.0.0.1%00.example.org/", "names no host"),
        ("https://a..example.org/", "names no host"),
        (f"https://hooks.example.org/{'x' * 2000}", "up to 2000 characters"),
        (f"https://{'x' * 64}.example.org/", "names no host"),
    ],
)
def test_urls_that_are_refused(url: str, reason: str) -> None:
    with pytest.raises(ForbiddenTarget, match=reason):
        read_target(url, ("localhost",))


def test_what_a_url_names() -> None:
    target = read_target("HTTPS://Hooks.Example.org:8443/a/b?key=1#part", ())
    assert target == ("https", "hooks.example.org", 8443, "/a/b?key=1", False)
    assert target.authority == "hooks.example.org:8443"
    assert read_target("https://h.example", ()).path == "/"
    assert read_target("https://[2a00::1]/x", ()).authority == "[2a00::1]"


def test_a_host_that_only_looks_allowed() -> None:
    for host in ("localhost.example.org", "xlocalhost", "localhost.x"):
        assert not read_target(f"https://{host}/", ("localhost",)).allowed
