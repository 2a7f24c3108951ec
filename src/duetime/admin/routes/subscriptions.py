"""The routes of subscriptions to notifications."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Body, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from duetime.admin.arguments import (
    NO_NOTE,
    Id,
    Instant,
    Note,
    NoteBody,
    NoteQuery,
    RequestModel,
    ScopeQuery,
    Switch,
)
from duetime.admin.call import AdminCall, Call, done_response, json_response, no_content
from duetime.admin.declarations import Answer, RouteTable
from duetime.admin.documents import Documents, NotificationModel, model_of, shallow
from duetime.admin.idempotency import NewAnswer, act_once
from duetime.admin.subscription_rights import owner_of, require_errors, require_transport
from duetime.api.subscription_arguments import SeverityName
from duetime.model.notifications.subscription import CreatedSubscription, Subscription
from duetime.model.notifications.topics import TOPIC_NAMES

SUBSCRIPTIONS = RouteTable()

NOTHING: frozenset[str] = frozenset()
SubscriptionModel = model_of(Subscription, "Subscription", maybe=NOTHING)
CreatedSubscriptionModel = model_of(CreatedSubscription, "CreatedSubscription", maybe=NOTHING)

MANAGE: Final = "subscriptions.manage"
# Of a body, what the verbs take under the same name.
TERMS = (
    *("topics", "jobs", "kinds", "queues", "language", "zone", "minimum", "quiet", "show_errors"),
)
ADDRESS = ("email", "webhook", "in_app", "via", "to")

Names = Annotated[list[str], Field(description="patterns, such as billing-*; none: any")]
TopicNames = Annotated[
    list[str], Field(description=f"* for all, or some of {', '.join(TOPIC_NAMES)}")
]
Language = Annotated[str, Field(description="such as en or fr")]
Zone = Annotated[str, Field(description="of times and of quiet hours, such as Europe/Paris")]
Quiet = Annotated[str | None, Field(description="such as 22:00-07:00; critical ones pass")]
ShowErrors = Annotated[
    Switch, Field(description="whether messages have the texts of errors; needs payload.read")
]


class SubscriptionsDocument(BaseModel):
    """Subscriptions, oldest first; those of code, too."""

    items: list[SubscriptionModel]  # type: ignore[valid-type]


class NewSubscriptionBody(RequestModel):
    """What to hear of, and by which one of `email`, `webhook`, `in_app` and `via` with `to`."""

    topics: TopicNames
    email: str | None = None
    webhook: Annotated[str | None, Field(description="the URL that each message is sent to")] = None
    in_app: Switch = False
    via: Annotated[str | None, Field(description="a transport of the operator's")] = None
    to: Annotated[str | None, Field(description="with `via`: where it sends to")] = None
    jobs: Names = []
    kinds: Names = []
    queues: Names = []
    language: Language = "en"
    zone: Zone = "UTC"
    minimum: SeverityName = "info"
    quiet: Quiet = None
    show_errors: ShowErrors = False
    all_tenants: Annotated[
        Switch, Field(description="about the rows of all tenants; for administrators only")
    ] = False
    note: Note = None


class SubscriptionChangeBody(RequestModel):
    """What a subscription asks for from now on; what is not given stays."""

    topics: TopicNames | None = None
    jobs: Names | None = None
    kinds: Names | None = None
    queues: Names | None = None
    language: Language | None = None
    zone: Zone | None = None
    minimum: SeverityName | None = None
    quiet: Quiet = None
    show_errors: ShowErrors | None = None
    note: Note = None

    def given(self) -> dict[str, Any]:
        """Return what was sent: `quiet` may be null, which ends quiet hours."""
        return {name: getattr(self, name) for name in TERMS if name in self.model_fields_set}


class MuteBody(RequestModel):
    """Until when messages are dropped; null ends that."""

    until: Instant | None
    note: Note = None


@SUBSCRIPTIONS.read("/api/subscriptions", MANAGE, Answer("Subscriptions", SubscriptionsDocument))
async def get_subscriptions(call: Call, query: Annotated[ScopeQuery, Query()]) -> Response:
    """Who hears of what, and where."""
    found = await call.app.notifications.subscriptions(tenant=call.scope)
    return json_response({"items": [shallow(each) for each in found]})


@SUBSCRIPTIONS.read(
    "/api/subscriptions/{id}",
    MANAGE,
    Answer("The subscription", SubscriptionModel),
    subject="subscription",
)
async def get_subscription(call: Call, id: Id, query: Annotated[ScopeQuery, Query()]) -> Response:
    """One subscription."""
    found = await call.app.notifications.get(call.subscription_id, tenant=call.scope)
    return json_response(shallow(found))


@SUBSCRIPTIONS.change(
    "POST",
    "/api/subscriptions",
    MANAGE,
    {201: Answer("The subscription; the secret is shown this once", CreatedSubscriptionModel)},
    creates=True,
    example={"topics": ["job-failing", "job-recovered"], "in_app": True, "jobs": ["billing-*"]},
)
async def add_subscription(
    call: Call, body: Annotated[NewSubscriptionBody, Body()], query: Annotated[ScopeQuery, Query()]
) -> Response:
    """Subscribe to topics. An e-mail address gets a link first, which its owner follows to confirm;
    the `secret` of a webhook, which verifies its signatures, is in this answer only."""
    require_errors(call, body.show_errors)
    require_transport(call, body.via)
    operation = call.verbs.notifications.add(
        **{name: getattr(body, name) for name in (*TERMS, *ADDRESS)},
        tenant=owner_of(call, all_tenants=body.all_tenants),
        by=call.by,
        note=body.note,
    )
    response = await act_once(call, operation, lambda created: _created(call, created))
    response.headers["Cache-Control"] = "no-store"
    return response


@SUBSCRIPTIONS.change(
    "PATCH",
    "/api/subscriptions/{id}",
    MANAGE,
    {200: Answer("The subscription as it is now", SubscriptionModel)},
    subject="subscription",
    example={"minimum": "critical", "quiet": None, "note": "asked for by Ann"},
)
async def change_subscription(
    call: Call,
    id: Id,
    body: Annotated[SubscriptionChangeBody, Body()],
    query: Annotated[ScopeQuery, Query()],
) -> Response:
    """Change what a stored subscription asks for. Where it is sent to cannot be changed."""
    require_errors(call, bool(body.show_errors))
    changed = await call.app.notifications.change(
        call.subscription_id, **body.given(), tenant=call.scope, by=call.by, note=body.note
    )
    return json_response(shallow(changed))


@SUBSCRIPTIONS.change(
    "DELETE",
    "/api/subscriptions/{id}",
    MANAGE,
    {204: Answer("Removed")},
    subject="subscription",
)
async def remove_subscription(call: Call, id: Id, query: Annotated[NoteQuery, Query()]) -> Response:
    """Delete a stored subscription."""
    await call.app.notifications.remove(
        call.subscription_id, tenant=call.scope, by=call.by, note=query.note
    )
    return no_content()


@SUBSCRIPTIONS.change(
    "POST",
    "/api/subscriptions/{id}/mute",
    MANAGE,
    {204: Answer("Muted, or no more"), 200: Answer("The subscription", SubscriptionModel)},
    subject="subscription",
    example={"until": "2130-01-31T09:00:00+01:00", "note": "we are at it"},
)
async def mute_subscription(
    call: Call, id: Id, body: Annotated[MuteBody, Body()], query: Annotated[ScopeQuery, Query()]
) -> Response:
    """Drop what a subscription would get until an instant."""
    muted = await call.app.notifications.mute(
        call.subscription_id, until=body.until, tenant=call.scope, by=call.by, note=body.note
    )
    return done_response(call, shallow(muted))


@SUBSCRIPTIONS.change(
    "POST",
    "/api/subscriptions/{id}/test",
    MANAGE,
    {202: Answer("The message that is being sent", NotificationModel)},
    subject="subscription",
)
async def try_subscription(
    call: Call,
    id: Id,
    query: Annotated[ScopeQuery, Query()],
    body: Annotated[NoteBody, Body()] = NO_NOTE,
) -> Response:
    """Send a message to see that a subscription works. An address that was not confirmed gets the
    link once more instead."""
    sent = await call.app.notifications.test(
        call.subscription_id, tenant=call.scope, by=call.by, note=body.note
    )
    return json_response(Documents(call.app, call.caller).notification(sent), 202)


def _created(call: AdminCall, created: CreatedSubscription) -> NewAnswer:
    location = call.path_to(f"/api/subscriptions/{created.id}")
    return NewAnswer(shallow(created), 201, location)
