"""The pages that the links of messages lead to: to confirm an address, and to get no more messages.
Nobody signs in. The token in the path says who may act, and opening a page changes nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.responses import Response

from duetime.admin.declarations import PUBLIC, declaration_of
from duetime.admin.pages.languages import to_language
from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable, ShowPage
from duetime.admin.problems import RequestRefused
from duetime.errors import InvalidArgument, RateLimited, SubscriptionNotFound
from duetime.model.notifications.subscription import Subscription
from duetime.notifications.links import LinkPurpose

MESSAGE_LINKS = PageTable()

UNSUBSCRIBE_PATH = "/unsubscribe/{token}"
CONFIRM_PATH = "/confirm/{token}"


@MESSAGE_LINKS.show(UNSUBSCRIBE_PATH, PUBLIC)
async def show_unsubscribe(page: ThisPage) -> Response:
    """What ends, and the button. Programs that look at links in mails end nothing."""
    return _page(page, "unsubscribe", await _linked(page, "unsubscribe"))


@MESSAGE_LINKS.follow(UNSUBSCRIBE_PATH)
async def unsubscribe(page: ThisPage) -> Response:
    """End a subscription: for the button, or a mail program as RFC 8058 has it."""
    return await _followed(
        page, "unsubscribe", page.app.notifications.unsubscribe, show_unsubscribe
    )


@MESSAGE_LINKS.show(CONFIRM_PATH, PUBLIC)
async def show_confirm(page: ThisPage) -> Response:
    """What the address is to get, and the button."""
    return _page(page, "confirm", await _linked(page, "confirm"))


@MESSAGE_LINKS.follow(CONFIRM_PATH)
async def confirm(page: ThisPage) -> Response:
    """Let the address get messages from now on."""
    return await _followed(page, "confirm", page.app.notifications.confirm, show_confirm)


# -- steps ----------------------------------------------------------------------------------------


async def _followed(
    page: FramedPage,
    purpose: LinkPurpose,
    follow: Callable[[str], Awaitable[Subscription]],
    show: ShowPage,
) -> Response:
    """Do what a link is for, and answer with its page: a program is to be sent nowhere else."""
    await _linked(page, purpose)
    done = await follow(page.argument("token"))
    page.declaration = declaration_of(show)
    return _page(page, purpose, done)


async def _linked(page: FramedPage, purpose: LinkPurpose) -> Subscription:
    """Return the subscription that a link is about, whose language the page has from here on. A
    link that is none of ours is refused, whether there is such a subscription or not."""
    try:
        found = await page.app.notifications.linked(purpose, page.argument("token"))
    except (InvalidArgument, SubscriptionNotFound):
        raise await _refusal(page) from None
    chosen = to_language(page.request.query_params.get("lang"))
    page.language = chosen or to_language(found.language) or page.language
    return found


async def _refusal(page: FramedPage) -> RequestRefused | RateLimited:
    """Count a link that is none of ours against its sender, and return what to raise for it."""
    retry_after = page.site.link_failures.add(page.site.readers.address(page.facts))
    await page.refused("credential" if retry_after is None else "rate")
    if retry_after is not None:
        return RateLimited(retry_after)
    return RequestRefused(404, "not-found", page.text("message_link_invalid"))


def _page(page: FramedPage, purpose: LinkPurpose, subscription: Subscription) -> Response:
    ended, confirmed = subscription.state == "ended", subscription.state != "unconfirmed"
    return page.render(
        "message_link.html",
        purpose=purpose,
        subscription=subscription,
        ended=ended,
        done=ended if purpose == "unsubscribe" else confirmed,
    )
