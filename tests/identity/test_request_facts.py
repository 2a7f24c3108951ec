"""What a request's connection and headers say of its sender."""

from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime.admin.identity.request_facts import (
    RequestFacts,
    address_of,
    facts_of_scope,
    is_local,
    to_address,
)
from identity.requests import local_request, request

HOST = ("host", "localhost")
FORWARDED = [
    *("x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded", "forwarded"),
    *("via", "x-real-ip", "cf-connecting-ip", "true-client-ip", "x-client-ip"),
]


class TestLocal:
    @pytest.mark.parametrize("peer", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
    @pytest.mark.parametrize(
        "host", ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8000", "[::1]", "[::1]:80"]
    )
    def test_a_request_of_this_machine(self, peer: str, host: str) -> None:
        assert is_local(request(("host", host), peer=peer))

    @pytest.mark.parametrize("peer", ["203.0.113.9", "10.0.0.1", "::2", "", None, "unix:", "local"])
    def test_another_peer(self, peer: str | None) -> None:
        assert not is_local(request(HOST, peer=peer))

    @pytest.mark.parametrize(
        "host",
        [
            *("rebound.example", "localhost.example", "127.0.0.1.example", "localhost:80.example"),
            *("localhost@example", "", "localhost:", "0.0.0.0", "evil:80@localhost", "[::1"),
        ],
    )
    def test_another_host_that_leads_here(self, host: str) -> None:
        assert not is_local(request(("host", host), peer="127.0.0.1"))

    def test_without_a_host_or_with_two(self) -> None:
        assert not is_local(request(peer="127.0.0.1"))
        assert not is_local(request(HOST, HOST, peer="127.0.0.1"))

    @pytest.mark.parametrize("header", FORWARDED)
    def test_a_forwarded_request(self, header: str) -> None:
        assert not is_local(local_request((header, "")))
        assert not is_local(request((header, "127.0.0.1"), peer="testclient"))

    def test_a_client_in_this_process(self) -> None:
        assert is_local(request(("host", "testserver"), peer="testclient"))


class TestAddress:
    @pytest.mark.parametrize(
        ("peer", "forwarded", "expected"),
        [
            ("203.0.113.9", [], "203.0.113.9"),
            ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
            ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", ["6.6.6.6, 198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", ["6.6.6.6", "198.51.100.1, 10.0.0.2"], "198.51.100.1"),
            ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            ("10.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
            ("10.0.0.1", ["[2001:db8::1]:80"], "2001:db8::1"),
            ("10.0.0.1", ["unknown"], "10.0.0.1"),
            ("10.0.0.1", ["198.51.100.1, , "], "10.0.0.1"),
            ("::ffff:10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
            ("testclient", ["198.51.100.1"], "testclient"),
            (None, ["198.51.100.1"], None),
        ],
    )
    def test_as_far_as_proxies_are_trusted(
        self, peer: str | None, forwarded: list[str], expected: str | None
    ) -> None:
        facts = request(*(("x-forwarded-for", value) for value in forwarded), peer=peer)
        assert address_of(facts, [ip_network("10.0.0.0/8")]) == expected

    @given(st.lists(st.text(max_size=30), max_size=3))
    def test_any_header_names_an_address_or_nothing(self, values: list[str]) -> None:
        facts = request(*(("x-forwarded-for", value) for value in values), peer="10.0.0.1")
        assert to_address(address_of(facts, [ip_network("0.0.0.0/0")])) is not None


def test_the_facts_of_an_asgi_scope() -> None:
    scope = {"client": ("10.0.0.1", 5), "headers": [(b"Host", b"a"), (b"x", b"\xe9")]}
    assert facts_of_scope(scope, "own") == RequestFacts(
        "10.0.0.1", [("host", "a"), ("x", "é")], "own"
    )
    assert facts_of_scope({"client": None}) == RequestFacts(None, [])


def test_headers_are_not_shown() -> None:
    assert "secret" not in repr(request(key="secret"))
