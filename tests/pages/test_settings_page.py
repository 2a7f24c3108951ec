"""The page about the reader; for administrators, about API keys and grants."""

import pytest

from admin.client import OF_TENANT, USER, identify
from duetime import ANY, Duetime
from duetime.testing import FakeClock
from pages.browser import LOOPBACK, Browser, ShownPage
from pages.places import ROLE, new_key, new_link
from pages.readers import administrator_of, reader_of

KEY_FORM, GRANT_FORM = "/settings?dialog=key", "/settings?dialog=grant"


def buttons(page: ShownPage) -> set[str]:
    return {button for form in page.forms for button in form.buttons}


def shown_key(page: ShownPage) -> str:
    """The text of a key that the page shows."""
    [key] = [text for text in page.texts["code"] if text.startswith("dt_")]
    return key


class TestTheReader:
    async def test_by_a_key(self, memory_app: Duetime) -> None:
        async with reader_of(memory_app, "actions.read", "jobs.pause", tenant="acme") as browser:
            page = await browser.open("/settings")
        said = page.texts["dd"]
        assert said[0].startswith("key:")
        assert {"acme", "by an API key"} <= set(said)
        assert {"actions.read", "jobs.pause"} <= set(page.texts["code"])
        assert "jobs.read" not in page.texts["code"]
        assert {"Make a key", "Set a grant"} & buttons(page) == set()
        assert "Sign out" in buttons(page)

    async def test_by_a_link(self, app: Duetime) -> None:
        async with Browser(app.admin(admin_roles={ROLE}), LOOPBACK) as browser:
            form = (await browser.open(f"/sign-in?link={await new_link(app)}")).form("Sign in")
            await browser.send(form)
            page = await browser.open("/settings")
        assert "by a one-time link" in page.texts["dd"]
        assert "Everything, with rows of all tenants." in page.texts["p"]

    async def test_by_the_host(self, memory_app: Duetime) -> None:
        asgi = memory_app.admin(identify=identify, admin_roles={"administrators"})
        async with Browser(asgi, **{USER: OF_TENANT.user}) as browser:
            page = await browser.open("/settings")
        assert {"tina", "acme", "by the application"} <= set(page.texts["dd"])

    async def test_in_development(self, memory_app: Duetime) -> None:
        async with Browser(memory_app.admin(development=True), LOOPBACK) as browser:
            page = await browser.open("/settings")
        assert "not at all: development=True" in page.texts["dd"]

    async def test_without_any_permission(self, memory_app: Duetime) -> None:
        async with Browser(memory_app.admin()) as browser:
            await browser.sign_in(await new_key(memory_app, "nothing"))
            page = await browser.open("/settings?lang=fr")
        assert (page.response.status_code, page.heading) == (200, "Réglages")
        assert any(text.startswith("Rien :") for text in page.texts["p"])


class TestKeys:
    async def test_one_is_made_shown_once_and_signs_in(self, app: Duetime) -> None:
        async with administrator_of(app) as browser:
            await browser.open("/settings?tz=Europe/Paris")
            dialog = await browser.open(KEY_FORM)
            made = await browser.send(
                dialog.form("Confirm"),
                Name="the till <b>",
                Roles="support, auditors,",
                Tenant="acme",
                Expires="2130-07-31T14:00",
                Note="for Ann",
            )
            key = shown_key(made)
            assert made.response.status_code == 200
            assert made.response.headers["cache-control"] == "no-store"
            assert "Confirm" not in buttons(made)
            again = await browser.open("/settings")
            assert key not in again.response.text
        [stored] = [k for k in await app.api_keys.list() if k.name == "the till <b>"]
        assert (stored.roles, stored.tenant) == (("auditors", "support"), "acme")
        assert stored.expires_at is not None
        assert stored.expires_at.isoformat() == "2130-07-31T12:00:00+00:00"
        [entry] = await app.audit.find(subject=stored.id, tenant=ANY)
        assert (entry.verb, entry.source, entry.note) == ("create", "dashboard", "for Ann")
        async with Browser(app.admin()) as other:
            assert (await other.sign_in(key)).reader == f"key:{stored.id}"

    async def test_one_is_revoked(self, app: Duetime) -> None:
        key = await app.api_keys.create("old till", ["support"])
        async with administrator_of(app) as browser, Browser(app.admin()) as holder:
            await holder.sign_in(key.key)
            dialog = await browser.open(f"/settings?dialog=revoke&of={key.id}")
            done = await browser.send(dialog.form("Confirm"), Note="stolen")
            assert "The key “old till” is revoked." in done.texts["p"]
            assert (await holder.open("/settings")).heading == "Sign in"
        assert key.id not in {listed.id for listed in await app.api_keys.list()}

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"Name": "", "Roles": "support"}, "fill it in"),
            ({"Name": "x", "Roles": ""}, "fill it in"),
            ({"Name": "x", "Roles": "a", "Expires": "2001-01-01T00:00"}, "instant in the future"),
            ({"Name": "x", "Roles": "a", "Expires": "soon"}, "is not a date and time"),
        ],
    )
    async def test_what_is_not_valid_is_said_where_it_was_typed(
        self, memory_app: Duetime, fields: dict[str, str], said: str
    ) -> None:
        async with administrator_of(memory_app) as browser:
            before = len(await memory_app.api_keys.list())
            dialog = await browser.open(KEY_FORM)
            page = await browser.send(dialog.form("Confirm"), **fields)
        assert page.response.status_code == 422
        assert any(said in alert for alert in page.alerts)
        assert page.form("Confirm").fields["roles"] == fields["Roles"]
        assert len(await memory_app.api_keys.list()) == before

    async def test_what_is_not_valid_is_said_in_french(self, memory_app: Duetime) -> None:
        async with administrator_of(memory_app) as browser:
            dialog = await browser.open(f"{KEY_FORM}&lang=fr")
            page = await browser.send(
                dialog.form("Confirmer"), Nom="x", Rôles="a", Expire="2001-01-01T00:00"
            )
        assert page.response.status_code == 422
        assert any("n'est pas une valeur valable" in alert for alert in page.alerts)
        assert not any("is not valid" in alert for alert in page.alerts)

    async def test_nobody_makes_one_beyond_their_own_rights(self, app: Duetime) -> None:
        await app.grants.set("powerful", "actions.cancel")
        async with reader_of(app, "admin") as browser:
            dialog = await browser.open(KEY_FORM)
            for tenant, roles in (("", "powerful"), ("", ROLE), ("acme", "nothing")):
                form = dialog.form("Confirm")
                response = await browser.post(form, Name="mine", Roles=roles, Tenant=tenant)
                assert response.status_code == 403
        assert "mine" not in {key.name for key in await app.api_keys.list()}


class TestGrants:
    async def test_one_is_set_replaced_and_removed(self, app: Duetime) -> None:
        async with administrator_of(app) as browser:
            for allowed in ("yes", "no"):
                dialog = await browser.open(GRANT_FORM)
                done = await browser.send(
                    dialog.form("Confirm"),
                    Role="support",
                    Permission="actions.manage",
                    Tenant="acme",
                    Allowed=allowed,
                    Note="asked for",
                )
                assert "The grant of actions.manage to “support” is set." in done.texts["p"]
                [grant] = await app.grants.list(role="support")
                assert (grant.tenant, grant.allowed) == ("acme", allowed == "yes")
            removing = await browser.open(f"/settings?dialog=remove&of={grant.id}")
            done = await browser.send(removing.form("Confirm"))
            assert "The grant of actions.manage to “support” is removed." in done.texts["p"]
        assert await app.grants.list(role="support") == []
        verbs = [
            (entry.verb, entry.source)
            for entry in await app.audit.find(subject=grant.id, tenant=ANY)
        ]
        assert verbs[0] == ("remove", "dashboard")

    async def test_a_store_wide_permission_is_not_for_one_tenant(self, memory_app: Duetime) -> None:
        async with administrator_of(memory_app) as browser:
            dialog = await browser.open(GRANT_FORM)
            page = await browser.send(
                dialog.form("Confirm"), Role="r", Permission="workers.read", Tenant="acme"
            )
        assert page.response.status_code == 422
        assert any("grant it without a tenant" in alert for alert in page.alerts)
        assert page.form("Confirm").fields["permission"] == "workers.read"

    async def test_nobody_grants_what_they_have_not(self, app: Duetime) -> None:
        other = await app.grants.set("support", "jobs.edit")
        async with reader_of(app, "admin") as browser:
            dialog = await browser.open(GRANT_FORM)
            form = dialog.form("Confirm")
            response = await browser.post(form, Role="mine", Permission="jobs.edit")
            assert response.status_code == 403
            removing = await browser.open(f"/settings?dialog=remove&of={other.id}")
            assert (await browser.post(removing.form("Confirm"))).status_code == 403
        assert await app.grants.list(role="mine") == []
        assert [grant.id for grant in await app.grants.list(role="support")] == [other.id]


async def test_keys_and_grants_are_for_administrators(memory_app: Duetime) -> None:
    key = await memory_app.api_keys.create("a till", ["support"])
    grant = await memory_app.grants.set("support", "jobs.read")
    acts = {
        "/settings/keys": {"name": "x", "roles": ROLE},
        "/settings/keys/revoke": {"id": str(key.id)},
        "/settings/grants": {"role": "x", "permission": "admin", "allowed": "yes"},
        "/settings/grants/remove": {"id": str(grant.id)},
    }
    async with (
        reader_of(memory_app, "audit.read") as reader,
        administrator_of(memory_app) as manager,
    ):
        for address in ("/settings", KEY_FORM, GRANT_FORM):
            seen = await reader.open(address)
            assert "a till" not in seen.response.text
            assert "Confirm" not in buttons(seen)
        form = seen.form("Sign out")
        token = form.fields["token"]
        for path, fields in acts.items():
            form.action, form.fields = path, fields | {"token": token}
            assert (await reader.post(form)).status_code == 403
            form.fields["token"] = "stale"
            assert (await manager.post(form)).status_code == 403
            assert (await manager.client.get(path)).status_code == 405
    assert key.id in {listed.id for listed in await memory_app.api_keys.list()}
    assert grant in await memory_app.grants.list()


@pytest.mark.parametrize("path", ["/settings/keys/revoke", "/settings/grants/remove"])
@pytest.mark.parametrize("id", ["01a1f5c8-ae6d-7481-875b-4ee5fadabab3", "nothing"])
async def test_what_is_gone_is_said(memory_app: Duetime, path: str, id: str) -> None:
    async with administrator_of(memory_app) as browser:
        form = (await browser.open(KEY_FORM)).form("Confirm")
        form.action, form.fields["id"] = path, id
        page = await browser.send(form)
    assert (page.response.status_code, page.heading) == (404, "Settings")
    assert id in " ".join(page.alerts)


async def test_without_keys_and_grants_it_says_what_makes_them(
    memory_app: Duetime, clock: FakeClock
) -> None:
    async with Browser(memory_app.admin(development=True), LOOPBACK) as browser:
        page = await browser.open("/settings")
    assert {"There is no API key", "Nothing is granted to any role"} <= set(page.texts["p"])
