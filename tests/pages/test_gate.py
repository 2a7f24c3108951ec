"""Who may read which page, and what the build refuses."""

from typing import Any

import pytest
from starlette.responses import Response

from admin.client import NOBODY, OF_TENANT, USER, identify
from duetime import ANY, Duetime
from duetime.admin.declarations import declaration_of
from duetime.admin.pages.page_table import PageTable
from duetime.admin.pages.router import ALL_PAGES, landing_path, make_page_router
from duetime.errors import ConfigError
from pages.browser import HTTPS, LOOPBACK, PLAIN, Browser, Form
from pages.places import new_key
from pages.planted import calls, parts_of, with_planted_pages

BROKEN = b"%ff=\xff&token=x"
GRANTS = ("queues.read", "queues.manage")


async def test_strangers_are_sent_to_sign_in_and_come_back(memory_app: Duetime) -> None:
    async with Browser(with_planted_pages(memory_app)) as browser:
        response = await browser.client.get("/queues?state=paused&q=a%2Fb")
        assert response.status_code == 303
        assert response.headers["location"] == (
            "/sign-in?next=%2Fqueues%3Fstate%3Dpaused%26q%3Da%252Fb"
        )
        page = await browser.open("/queues?state=paused&q=a%2Fb")
        signed_in = await browser.post(page.form("Sign in"), API_key=await new_key(memory_app))
        assert signed_in.headers["location"] == "/queues?state=paused&q=a%2Fb"
    assert calls == []


async def test_strangers_act_nowhere_and_learn_nothing(memory_app: Duetime) -> None:
    async with Browser(with_planted_pages(memory_app)) as browser:
        for content in (b"", BROKEN, b"x" * 20_000_000):
            response = await browser.client.post("/queues/mail/pause", content=content)
            assert (response.status_code, response.headers["location"]) == (303, "/sign-in")
    assert await memory_app.queues.list() == []


async def test_a_right_is_needed_before_anything_of_the_form_is_read(memory_app: Duetime) -> None:
    asgi = with_planted_pages(memory_app, identify=identify)
    async with Browser(asgi, **{USER: NOBODY.user}) as browser:
        for method, path in (("GET", "/"), ("GET", "/queues"), ("POST", "/queues/mail/pause")):
            response = await browser.client.request(method, path, content=BROKEN)
            assert (response.status_code, "Not allowed" in response.text) == (403, True)
        assert (await browser.open("/me")).response.text.startswith("nobody may pause: False")
    assert calls == []
    refused = await memory_app.audit.find(verb="refuse")
    assert {(entry.subject_id, entry.by, entry.source) for entry in refused} == {
        ("GET /", "nobody", "dashboard"),
        ("GET /queues", "nobody", "dashboard"),
        ("POST /queues/{name}/pause", "nobody", "dashboard"),
    }


async def test_what_is_store_wide_is_not_for_a_tenant(memory_app: Duetime) -> None:
    asgi = with_planted_pages(memory_app, identify=identify, admin_roles={"administrators"})
    async with Browser(asgi, **{USER: OF_TENANT.user}) as browser:
        assert (await browser.open("/")).response.status_code == 200
        assert (await browser.open("/queues")).response.status_code == 403
        assert (await browser.open("/?tenant=other")).response.status_code == 403
    async with Browser(asgi, **{USER: "root"}) as browser:
        for query, scope in (("", ANY), ("?tenant=acme", "acme"), ("?tenant=", None)):
            assert (await browser.open(f"/queues{query}")).response.status_code == 200
            assert calls[-1] == ("show", scope)


async def test_an_act_of_a_reader_is_theirs(app: Duetime) -> None:
    for permission in GRANTS:
        await app.grants.set("support", permission)  # type: ignore[arg-type]
    async with Browser(with_planted_pages(app)) as browser:
        key = await new_key(app, "support")
        shown = await browser.sign_in(key, "/sign-in?next=/queues")
        token = shown.form("Sign out").fields["token"]
        form = Form("/queues/mail/pause", "post", {"token": token, "note": "flood"})
        assert (await browser.post(form)).headers["location"] == "/queues"
        [queue] = await app.queues.list()
        assert (queue.pause_note, queue.paused_by) == ("flood", f"key:{key.split('_')[1]}")
        [entry] = await app.audit.find(subject="mail")
        assert (entry.source, entry.address) == ("dashboard", "203.0.113.9")
        await app.grants.set("support", "queues.manage", allowed=False)
        form = Form("/queues/post/pause", "post", {"token": token})
        assert (await browser.post(form)).status_code == 403
        assert len(await app.queues.list()) == 1


async def test_a_reader_of_the_host_needs_a_form_of_ours(memory_app: Duetime) -> None:
    asgi = with_planted_pages(memory_app, identify=identify, admin_roles={"administrators"})
    async with Browser(asgi, **{USER: "root"}) as browser:
        token = (await browser.open("/me")).response.text.split()[-1]
        form = Form("/queues/mail/pause", "post", {"token": token})
        for wrong in ("", token[::-1]):
            form.fields["token"] = wrong
            assert (await browser.post(form)).status_code == 403
        assert await memory_app.queues.list() == []
        form.fields["token"] = token
        assert (await browser.post(form)).status_code == 303
        cross = {"sec-fetch-site": "cross-site"}
        again = await browser.client.post(form.action, data=form.fields, headers=cross)
        assert again.status_code == 403
        signed_out = await browser.post(Form("/sign-out", "post", form.fields))
        assert signed_out.headers["location"] == "/sign-in"
    [queue] = await memory_app.queues.list()
    assert queue.paused_by == "root"


async def test_the_required_role_is_needed_for_pages(memory_app: Duetime) -> None:
    asgi = with_planted_pages(
        memory_app, identify=identify, admin_roles={"administrators"}, required_role="staff"
    )
    async with Browser(asgi, **{USER: "root"}) as browser:
        for path in ("/", "/queues", "/me"):
            assert (await browser.open(path)).response.status_code == 403
        assert (await browser.open("/sign-in")).response.status_code == 200


async def test_after_signing_in_a_reader_sees_the_start_page(memory_app: Duetime) -> None:
    async with Browser(memory_app.admin(admin_roles={"operators"})) as browser:
        shown = await browser.sign_in(await new_key(memory_app))
        assert (shown.response.status_code, shown.response.url.path) == (200, landing_path())


async def test_those_who_may_not_read_a_page_may_sign_out(memory_app: Duetime) -> None:
    async with Browser(with_planted_pages(memory_app)) as browser:
        refused = await browser.sign_in(await new_key(memory_app, "nothing"), "/sign-in?next=/")
        assert (refused.response.status_code, refused.heading) == (403, "Not allowed")
        assert (refused.reader or "").startswith("key:")
        assert (await browser.send(refused.form("Sign out"))).heading == "Sign in"


class TestDevelopment:
    async def test_everybody_on_this_machine_reads_pages(
        self, memory_app: Duetime, caplog: pytest.LogCaptureFixture
    ) -> None:
        asgi = with_planted_pages(memory_app, development=True)
        assert "development=True" in caplog.text
        async with Browser(asgi, LOOPBACK) as browser:
            page = await browser.open("/queues")
            assert page.response.status_code == 200
            token = (await browser.open("/me")).response.text.split()[-1]
            form = Form("/queues/mail/pause", "post", {"token": token})
            assert (await browser.post(form)).status_code == 303
        [queue] = await memory_app.queues.list()
        assert queue.paused_by == "development"

    @pytest.mark.parametrize(
        ("base", "peer", "headers"),
        [
            (HTTPS, "203.0.113.9", {}),
            (PLAIN, "127.0.0.1", {}),
            (LOOPBACK, "203.0.113.9", {}),
            (LOOPBACK, "127.0.0.1", {"x-forwarded-for": "127.0.0.1"}),
            (LOOPBACK, "127.0.0.1", {"forwarded": "for=127.0.0.1"}),
        ],
    )
    async def test_others_do_not(
        self, memory_app: Duetime, base: str, peer: str, headers: dict[str, str]
    ) -> None:
        asgi = with_planted_pages(memory_app, development=True)
        async with Browser(asgi, base, peer=peer, **headers) as browser:
            response = await browser.client.get("/queues")
            assert (response.status_code, calls) == (303, [])

    async def test_every_page_warns(self, memory_app: Duetime) -> None:
        asgi = with_planted_pages(memory_app, development=True)
        async with Browser(asgi, LOOPBACK) as local, Browser(asgi, PLAIN) as other:
            for browser, path in ((local, "/queues"), (local, "/sign-in"), (other, "/sign-in")):
                text = (await browser.open(path)).response.text
                assert "everybody on this machine may do everything" in text
        async with Browser(with_planted_pages(memory_app)) as browser:
            assert "everybody" not in (await browser.open("/sign-in")).response.text


async def test_a_page_that_fails_shows_nothing_from_inside(
    memory_app: Duetime, caplog: pytest.LogCaptureFixture
) -> None:
    asgi = with_planted_pages(memory_app, identify=identify, admin_roles={"administrators"})
    async with Browser(asgi, **{USER: "root"}) as browser:
        shown = await browser.open("/fails")
        assert (shown.response.status_code, shown.heading) == (500, "Something went wrong")
        assert "hunter2" not in shown.response.text
    assert "hunter2" in caplog.text


async def test_an_error_without_a_heading_of_its_own_is_shown(memory_app: Duetime) -> None:
    asgi = with_planted_pages(memory_app, identify=identify, admin_roles={"administrators"})
    async with Browser(asgi, **{USER: "root"}) as browser:
        shown = await browser.open("/teapot")
        assert (shown.response.status_code, shown.heading) == (418, "Bad request")
        assert shown.alerts == ["no coffee <b>"]


# Written by hand, from the specification: what each page needs.
NEEDED = """
GET /sign-in         public
POST /sign-in        public
POST /sign-out       any identity
GET /static/{path:path} public
GET /live                   any identity
GET /                       stats.read
POST /now/resume-queue      queues.manage
POST /now/pause-job         jobs.pause
GET /timeline               actions.read
GET /actions                actions.read
POST /actions/chosen/bulk   actions.bulk
GET /actions/{id}           actions.read
POST /actions/{id}/cancel   actions.cancel
POST /actions/{id}/retry    actions.retry
POST /actions/{id}/reschedule actions.reschedule
POST /actions/{id}/repeat   actions.schedule
GET /jobs                   jobs.read
GET /jobs/{name}            jobs.read
POST /jobs/chosen/pause     jobs.pause
POST /jobs/chosen/resume    jobs.pause
POST /jobs/{name}/pause     jobs.pause
POST /jobs/{name}/resume    jobs.pause
POST /jobs/{name}/trigger   jobs.trigger
POST /jobs/{name}/backfill  jobs.backfill
POST /jobs/{name}/edit      jobs.edit
GET /schedule               actions.schedule
POST /schedule              actions.schedule
POST /schedule/check        actions.schedule
GET /transitions            transitions.read
POST /transitions/sweep     transitions.manage
POST /transitions/retry     transitions.manage
GET /workers                workers.read
GET /queues                 queues.read
POST /queues/pause          queues.manage
POST /queues/resume         queues.manage
GET /audit                  audit.read
GET /audit/export           audit.read
GET /alerts                 notifications.read
POST /alerts/resume-queue   queues.manage
POST /alerts/pause-job      jobs.pause
POST /alerts/read           notifications.read
POST /alerts/read-all       notifications.read
GET /alerts/subscriptions   subscriptions.manage
POST /alerts/subscriptions  subscriptions.manage
POST /alerts/subscriptions/change subscriptions.manage
POST /alerts/subscriptions/mute subscriptions.manage
POST /alerts/subscriptions/unmute subscriptions.manage
POST /alerts/subscriptions/test subscriptions.manage
POST /alerts/subscriptions/remove subscriptions.manage
GET /unsubscribe/{token}    public
POST /unsubscribe/{token}   public
GET /confirm/{token}        public
POST /confirm/{token}       public
GET /settings               any identity
POST /settings/keys         admin
POST /settings/keys/revoke  admin
POST /settings/grants       admin
POST /settings/grants/remove admin
"""


def test_each_page_needs_what_the_specification_says() -> None:
    by_hand = {tuple(line.split(maxsplit=2)) for line in NEEDED.strip().splitlines()}
    declared = {
        (page.method, page.path, page.needs)
        for table in ALL_PAGES
        for page in map(declaration_of, table.endpoints)
    }
    assert by_hand == declared


async def undeclared(page: Any) -> Response:
    return Response("nobody asked who you are")


def test_a_page_without_a_permission_is_refused_at_build(memory_app: Duetime) -> None:
    desk = parts_of(memory_app).page_desk()
    table = PageTable()
    table.endpoints.append(undeclared)
    with pytest.raises(ConfigError, match="declares no permission"):
        make_page_router(desk, prefix="", tables=[table])
    router = make_page_router(desk, prefix="")
    with pytest.raises(ConfigError, match="declares no permission"):
        router.add_api_route("/secret", undeclared)
