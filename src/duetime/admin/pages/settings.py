"""The page about the reader and what they may do; for administrators, about API keys and grants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from starlette.responses import Response

from duetime.admin.declarations import ANY_IDENTITY, declaration_of
from duetime.admin.pages.page import FramedPage, ThisPage
from duetime.admin.pages.page_table import PageTable
from duetime.errors import ApiKeyNotFound, GrantNotFound
from duetime.model.access.api_keys import ApiKey, CreatedApiKey
from duetime.model.access.grants import Grant
from duetime.model.access.identity import KEY_USER
from duetime.model.access.permissions import GRANTABLE, PERMISSIONS, GrantableName

SETTINGS_PAGE = PageTable()

SETTINGS_PATH = "/settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsView:
    """Who the reader is; keys and grants are None for those who may not see them."""

    signed_in: str
    permissions: Sequence[str]
    keys: Sequence[ApiKey] | None
    grants: Sequence[Grant] | None


@SETTINGS_PAGE.show(SETTINGS_PATH, ANY_IDENTITY, place="settings")
async def show_settings(page: ThisPage) -> Response:
    """The reader; for administrators keys and grants, and in dialogs the acts on them."""
    return await _settings(page)


@SETTINGS_PAGE.act("/settings/keys", "admin", on=show_settings)
async def make_key(page: ThisPage) -> Response:
    """Make an API key, and show its text: in this answer only."""
    made = await page.app.api_keys.create(
        page.required("name"),
        [role.strip() for role in page.required("roles").split(",") if role.strip()],
        page.field("tenant") or None,
        page.instant("expires_at"),
        by=page.by,
        note=page.note,
        authority=page.caller.authority,
    )
    page.declaration = declaration_of(show_settings)
    return await _settings(page, made)


@SETTINGS_PAGE.act("/settings/keys/revoke", "admin", on=show_settings)
async def revoke_key(page: ThisPage) -> Response:
    """Revoke an API key: the next request with it is refused."""
    id = _id(page)
    if id is None:
        raise ApiKeyNotFound(cast("UUID", page.field("id")))
    key = await page.app.api_keys.revoke(id, tenant=page.scope, by=page.by, note=page.note)
    return page.done(SETTINGS_PATH, "done_revoke_key", name=key.name)


@SETTINGS_PAGE.act("/settings/grants", "admin", on=show_settings)
async def set_grant(page: ThisPage) -> Response:
    """Give a role a permission, or take it away; a second setting replaces the first."""
    grant = await page.app.grants.set(
        page.required("role"),
        cast("GrantableName", page.required("permission")),
        page.field("tenant") or None,
        page.required("allowed") == "yes",
        by=page.by,
        note=page.note,
        authority=page.caller.authority,
    )
    said = {"permission": grant.permission, "role": grant.role}
    return page.done(SETTINGS_PATH, "done_set_grant", **said)


@SETTINGS_PAGE.act("/settings/grants/remove", "admin", on=show_settings)
async def remove_grant(page: ThisPage) -> Response:
    """Delete a grant: what else is granted to the role counts again."""
    id = _id(page)
    if id is None:
        raise GrantNotFound(cast("UUID", page.field("id")))
    grant = await page.app.grants.remove(
        id, tenant=page.scope, by=page.by, note=page.note, authority=page.caller.authority
    )
    said = {"permission": grant.permission, "role": grant.role}
    return page.done(SETTINGS_PATH, "done_remove_grant", **said)


# -- steps ----------------------------------------------------------------------------------------


async def _settings(page: FramedPage, made: CreatedApiKey | None = None) -> Response:
    """Show the page, with the text of a key that was just made."""
    view = await _view(page)
    return page.render("settings.html", view=view, made=made, grantable=GRANTABLE)


async def _view(page: FramedPage) -> SettingsView:
    administers = page.allows("admin")
    return SettingsView(
        signed_in=_signed_in(page),
        permissions=[name for name in PERMISSIONS if page.allows(name)],
        keys=await page.app.api_keys.list(tenant=page.scope) if administers else None,
        grants=await page.app.grants.list(tenant=page.scope) if administers else None,
    )


def _signed_in(page: FramedPage) -> str:
    """Return how the reader has signed in, in words."""
    if page.caller.session is not None:
        by_key = page.by.startswith(KEY_USER)
        return page.text("signed_in_by_key" if by_key else "signed_in_by_link")
    development = page.site.development
    return page.text("signed_in_by_development" if development else "signed_in_by_host")


def _id(page: FramedPage) -> UUID | None:
    """Return the id that the form names; None for what is no UUID, and so the id of nothing."""
    try:
        return UUID(page.required("id"))
    except ValueError:
        return None
