"""The host's own means of knowing people, and developers on their own machine."""

from typing import Any

import pytest

from duetime import Duetime, Identity
from duetime.errors import NotAuthenticated, PermissionDenied
from identity.provider import Provider
from identity.requests import authenticator, local_request, request

ANN = Identity("ann", ["support"], "acme")


async def test_the_host_is_asked_with_its_own_request(app: Duetime) -> None:
    await app.grants.set("support", "actions.read")
    asked: list[object] = []

    def identify(own: object) -> Identity:
        asked.append(own)
        return ANN

    access = await authenticator(app, identify=identify).access(request(own="theirs"))
    assert (access.identity, asked) == (ANN, ["theirs"])
    assert access.allows("actions.read")


async def test_an_async_function_is_awaited(memory_app: Duetime) -> None:
    async def identify(own: object) -> Identity | None:
        return ANN if own else None

    find = authenticator(memory_app, identify=identify)
    assert (await find.access(request(own=1))).identity == ANN
    with pytest.raises(NotAuthenticated):
        await find.access(request())


@pytest.mark.parametrize("user", ["key:019a", "link:019a"])
async def test_nobody_poses_as_a_stored_credential(memory_app: Duetime, user: str) -> None:
    find = authenticator(memory_app, identify=lambda _: Identity(user))
    with pytest.raises(NotAuthenticated):
        await find.access(request())


async def test_a_key_comes_before_the_host(memory_app: Duetime) -> None:
    made = await memory_app.api_keys.create("k", ["a"])
    find = authenticator(memory_app, identify=lambda _: ANN)
    assert (await find.access(request(key=made.key))).by == f"key:{made.id}"
    with pytest.raises(NotAuthenticated):
        await find.access(request(key=made.key[:-1]))
    assert (await find.access(request(key="the-hosts-own-token"))).identity == ANN


async def test_with_a_provider_other_tokens_are_refused(
    memory_app: Duetime, provider: Provider
) -> None:
    find = authenticator(memory_app, identify=lambda _: ANN, oidc=provider.oidc())
    with pytest.raises(NotAuthenticated):
        await find.access(request(key="the-hosts-own-token"))
    assert (await find.access(request())).identity == ANN


class TestDevelopment:
    async def test_on_this_machine_everything_is_allowed(self, memory_app: Duetime) -> None:
        access = await authenticator(memory_app, development=True).access(local_request())
        assert (access.by, access.administrator) == ("development", True)
        access.require("admin")

    @pytest.mark.parametrize(
        "facts",
        [
            request(("host", "localhost")),
            request(("host", "rebound.example"), peer="127.0.0.1"),
            local_request(("x-forwarded-for", "127.0.0.1")),
            local_request(("forwarded", "for=127.0.0.1")),
        ],
    )
    async def test_from_elsewhere_nothing_is(self, memory_app: Duetime, facts: Any) -> None:
        with pytest.raises(NotAuthenticated):
            await authenticator(memory_app, development=True).access(facts)

    async def test_unless_asked_for_it_is_off(self, memory_app: Duetime) -> None:
        with pytest.raises(NotAuthenticated):
            await authenticator(memory_app).access(local_request())

    async def test_its_role_is_no_administrators_elsewhere(self, memory_app: Duetime) -> None:
        """Roles named as duetime's own give nothing to those who come with them."""
        for role in ("local", "development"):
            find = authenticator(
                memory_app, development=True, identify=lambda _, role=role: Identity("eve", [role])
            )
            access = await find.access(local_request())
            assert (access.by, access.administrator) == ("eve", False)


class TestAccess:
    async def test_only_administrators_name_a_tenant(self, memory_app: Duetime) -> None:
        def known(role: str, tenant: str | None) -> Any:
            identity = Identity("ann", [role], tenant)
            return authenticator(memory_app, admin_roles=["root"], identify=lambda _: identity)

        root = await known("root", None).access(request())
        assert root.scope_for("acme") == "acme"
        for role, tenant in (("root", "acme"), ("other", "acme"), ("other", None)):
            with pytest.raises(PermissionDenied):
                (await known(role, tenant).access(request())).scope_for("acme")

    async def test_what_is_missing_is_named(self, memory_app: Duetime) -> None:
        access = await authenticator(memory_app, identify=lambda _: ANN).access(request())
        with pytest.raises(PermissionDenied, match=r"jobs\.edit is missing for tenant 'acme'"):
            access.require("jobs.edit")
