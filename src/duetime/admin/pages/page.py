"""A page as its endpoint and its templates see it: the frame around it, what its address asks for,
and how its acts end."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import UnionType
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin
from urllib.parse import quote, urlencode
from zoneinfo import ZoneInfo

from fastapi import Depends
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from duetime.admin.call import current_call
from duetime.admin.declarations import ANY_IDENTITY, PUBLIC, Needed
from duetime.admin.gate import SAFE_METHODS
from duetime.admin.identity.cookies import NOTICE_COOKIE, THEME_COOKIE, ZONE_COOKIE
from duetime.admin.pages.environment_band import band_color
from duetime.admin.pages.formats.durations import distance_words, duration, relative
from duetime.admin.pages.formats.instants import exact, short
from duetime.admin.pages.formats.numbers import byte_size, decimal, whole
from duetime.admin.pages.languages import LANGUAGE_NAMES
from duetime.admin.pages.notices import NOTICE_SECONDS, PageNotice, read_notice, written_notice
from duetime.admin.pages.page_call import YEAR_SECONDS, PageCall
from duetime.admin.pages.places import Place
from duetime.admin.pages.reader_zones import NoSuchLocalTime, ReaderZone, to_zone
from duetime.admin.pages.rendering import rendered
from duetime.admin.pages.themes import Theme
from duetime.admin.pages.unread import MAX_SHOWN_UNREAD
from duetime.admin.problems import ProblemDocument
from duetime.errors import InvalidArgument
from duetime.words.languages import name_of, said

T = TypeVar("T")
QueryModel = TypeVar("QueryModel", bound=BaseModel)

# Parameters of an address that open a dialog: which, about what, and what was filled in to see what
# it would do, or how far it has come.
DIALOG_PARAMETERS = (
    *("dialog", "of"),
    *("rule", "rule_zone", "first", "last"),
    *("bulk", "ids", "step", "count", "changed", "skipped"),
)
# Parameters that are choices of the reader, remembered elsewhere, or name a live part.
CHOICE_PARAMETERS = ("lang", "tz", "theme", "view", "known_unread")
# An argument in the path of a page as it was declared.
PATH_ARGUMENT = re.compile(r"\{(\w+)(?::path)?\}")


@dataclass(slots=True, kw_only=True)
class FramedPage(PageCall):
    """A call of a page with what its frame shows."""

    zone: ReaderZone
    theme: Theme
    now: datetime
    # The path of the page of which only the live part is asked for, as it was declared.
    live_path: str | None = None
    # What was wrong with the form that was sent, if the page is shown again.
    problem: ProblemDocument | None = None
    # How many notifications the reader has not read; None for readers who get none.
    unread: int | None = None
    # The last remedy that was said in the reader's language.
    remedy: str | None = None
    _notice: PageNotice | None = field(default=None)
    _reads: dict[Hashable, Any] = field(default_factory=dict)

    # -- the frame ---------------------------------------------------------------------

    @property
    def live(self) -> bool:
        """Whether only the live part of the page is asked for."""
        return self.live_path is not None

    @property
    def places(self) -> list[Place]:
        """The places that the reader may open."""
        return [place for place in self.site.places if self.may(place.needs)]

    def can_open(self, name: str) -> bool:
        """Return whether there is a place of this name, and the reader may open it."""
        return any(place.name == name for place in self.places)

    def may(self, needs: Needed) -> bool:
        """Return whether the reader has what a page or a view needs."""
        if needs == PUBLIC:
            return True
        return self.access is not None and (needs == ANY_IDENTITY or self.allows(needs))

    def is_at(self, place: Place) -> bool:
        """Return whether this page is the place, or lies below it."""
        here = self.declaration.path
        return here == place.path or (place.path != "/" and here.startswith(f"{place.path}/"))

    async def count_unread(self, *, now: bool = False) -> None:
        """Find out how many notifications the reader has not read: a few seconds ago, or `now`."""
        if self.access is None or not self.allows("notifications.read"):
            return
        counts = self.site.unread
        if now:
            counts.forget(self.scope, self.by)
        self.unread = await counts.count(self.scope, self.by)

    @property
    def unread_words(self) -> str:
        """The number of the rail, which has room for two digits."""
        unread = self.unread or 0
        return self.whole(unread) if unread <= MAX_SHOWN_UNREAD else f"{MAX_SHOWN_UNREAD}+"

    @property
    def band(self) -> str:
        return band_color(self.app.settings)

    @property
    def unknown_zone(self) -> str | None:
        """What the address asks for as a time zone, if it is none."""
        asked = self.request.query_params.get("tz")
        return asked if asked and to_zone(asked) is None else None

    @property
    def notice(self) -> str | None:
        """What the act before says; it is shown once."""
        found = self.cookies.found(self.facts, NOTICE_COOKIE)
        if not found:
            return None
        self.cookies_to_set.append(self.cookies.set(NOTICE_COOKIE, "", 0))
        notice = read_notice(found, self.anchor)
        return None if notice is None else self.text(notice.key, **notice.values)

    def remember_choices(self) -> None:
        """Remember the zone and the theme that the address names."""
        query = self.request.query_params
        for name, cookie, value in (
            ("tz", ZONE_COOKIE, quote(self.zone.name, safe="")),
            ("theme", THEME_COOKIE, self.theme),
        ):
            if query.get(name) and not (name == "tz" and self.unknown_zone):
                self.cookies_to_set.append(self.cookies.set(cookie, value, YEAR_SECONDS))

    # -- addresses ---------------------------------------------------------------------

    def link(self, path: str, **query: object) -> str:
        """Return the address of a page for this reader: an administrator who looks at the rows of
        one tenant goes on doing so. Parameters that are None are left out."""
        wanted = {"tenant": self.request.query_params.get("tenant")} | query
        given = {name: value for name, value in wanted.items() if value is not None}
        return self.url(quote(path)) + (f"?{urlencode(_pairs(given))}" if given else "")

    def here(self, **changes: object) -> str:
        """Return the address of this page with parameters set, or left out if they are None. It is
        relative where the browser has the same path."""
        kept = [pair for pair in self._parameters() if pair[0] not in changes]
        given = {name: value for name, value in changes.items() if value is not None}
        path = "" if self._is_as_asked else self.address_path
        return f"{path}?{urlencode([*kept, *_pairs(given)])}"

    @property
    def address_path(self) -> str:
        """The path of the page that is shown, as the browser sees it. What was asked for may be its
        live part, or an act whose form is shown again: their paths are others."""
        if self._is_as_asked:
            return quote(self.path_here)
        shown_again = self.declaration.method in SAFE_METHODS
        path = self.live_path or (self.declaration.path if shown_again else "/")
        return self.url(PATH_ARGUMENT.sub(lambda name: quote(self.argument(name[1])), path))

    @property
    def _is_as_asked(self) -> bool:
        """Whether the page that is shown has the address that was asked for."""
        return self.live_path is None and self.request.method in SAFE_METHODS

    @property
    def kept_query(self) -> list[tuple[str, str]]:
        """The parameters of this page that a form of it sends again."""
        return [pair for pair in self._parameters() if pair[0] not in DIALOG_PARAMETERS]

    def act_path(self, path: str) -> str:
        """Return where a form of this page is sent: with the page's parameters, so that the page
        can be shown again."""
        kept = self._parameters()
        return self.url(quote(path)) + (f"?{urlencode(kept)}" if kept else "")

    def _parameters(self) -> list[tuple[str, str]]:
        """Return the parameters of the page's address. The query of a live part also has what is
        in the path of its page."""
        dropped = {*CHOICE_PARAMETERS, *PATH_ARGUMENT.findall(self.live_path or "")}
        pairs = self.request.query_params.multi_items()
        return [pair for pair in pairs if pair[0] not in dropped]

    @property
    def without_dialog(self) -> str:
        """The address of this page with no dialog open."""
        return self.here(**dict.fromkeys(DIALOG_PARAMETERS))

    # -- what the address asks for -----------------------------------------------------

    def argument(self, name: str) -> str:
        """Return a parameter of the path; a live view has it in its query."""
        found = self.request.path_params.get(name, self.request.query_params.get(name))
        if found is None:
            raise InvalidArgument(name, None, "name it in the address")
        return str(found)

    def query(self, model: type[QueryModel]) -> QueryModel:
        """Return the parameters of the address, checked; others and empty ones do not count."""
        given = _values(model, self.request.query_params)
        try:
            return model.model_validate(given)
        except ValidationError as error:
            parts = [part | {"loc": ("query", *part["loc"])} for part in error.errors()]
            raise RequestValidationError(parts) from None

    @property
    def dialog(self) -> str | None:
        """Which dialog is open."""
        return self.request.query_params.get("dialog")

    @property
    def dialog_of(self) -> str:
        """What the open dialog is about."""
        return self.request.query_params.get("of", "")

    async def read(self, read: Callable[..., Awaitable[T]], *arguments: Hashable) -> T:
        """Return what `read(app, scope, *arguments)` returns: read now for a page, at most a second
        ago for a live view, whose readers share it. It must not read payloads or errors. A page
        that needs it twice reads it once."""
        key = (read, *arguments)
        if key not in self._reads:
            snapshots = self.site.snapshots
            find = snapshots.recent if self.live else snapshots.fresh
            self._reads[key] = await find(read, self.scope, *arguments)
        value: T = self._reads[key]
        return value

    # -- forms -------------------------------------------------------------------------

    def required(self, name: str) -> str:
        """Return a field of the form. InvalidArgument if it is missing or empty."""
        value = self.field(name)
        if not value:
            raise self.invalid(name, value, "fill_in")
        return value

    def typed(self, name: str) -> str:
        """Return what the reader typed into a field, to show it again."""
        return self.field(name) or ""

    @property
    def note(self) -> str | None:
        return (self.field("note") or "").strip() or None

    def instant(self, name: str) -> datetime | None:
        """Return the instant that a field gives in the zone in which the form was shown."""
        return self._instant(name, self.field(name), self.field("zone"))

    def asked_instant(self, name: str) -> datetime | None:
        """Return the instant that a parameter of the address gives in the zone that it names."""
        asked = self.request.query_params
        return self._instant(name, asked.get(name), asked.get("zone"))

    def _instant(self, name: str, given: str | None, zone_name: str | None) -> datetime | None:
        text = (given or "").strip()
        zone = to_zone(zone_name) or self.zone
        try:
            return zone.instant(text) if text else None
        except NoSuchLocalTime:
            error = self.invalid(name, text, "no_such_local_time", zone=zone.name, text=text)
        except (ValueError, OverflowError):
            error = self.invalid(name, text, "not_an_instant", text=text)
        raise error

    def invalid(self, name: str, value: object, key: str, **values: object) -> InvalidArgument:
        """Return an error about what was typed, whose remedy is a text of the catalogue."""
        self.remedy = self.text(key, **values)
        return InvalidArgument(name, value, self.remedy)

    # -- answers -----------------------------------------------------------------------

    def done(self, path: str, key: str, **values: object) -> Response:
        """Answer an act: go back to the page of its form, which says a text of the catalogue."""
        self._notify(key, values)
        kept = self.kept_query
        return self.send_to(self.url(quote(path)) + (f"?{urlencode(kept)}" if kept else ""))

    def done_at(self, path: str, key: str, **values: object) -> Response:
        """Answer an act: go to another page than that of its form."""
        self._notify(key, values)
        return self.send_to(self.link(path))

    def _notify(self, key: str, values: Mapping[str, object]) -> None:
        notice = PageNotice(key, {name: str(value) for name, value in values.items()})
        written = written_notice(notice, self.anchor)
        self.cookies_to_set.append(self.cookies.set(NOTICE_COOKIE, written, NOTICE_SECONDS))

    def part(self, template: str, **values: object) -> str:
        """Return a template as text, with what every template has."""
        known = {"page": self, "t": self.text, "languages": LANGUAGE_NAMES}
        return rendered(template, known | values)

    # -- values as the reader reads them -----------------------------------------------

    def exact(self, instant: datetime, zone: str | None = None) -> str:
        """An instant with day, time and zone: the reader's, or one that is named."""
        return exact(instant, ZoneInfo(zone) if zone else self.zone.zone, self.language)

    def short(self, instant: datetime) -> str:
        """An instant with as little as tells it from others of this day, or year."""
        return short(instant, self.now, self.zone.zone, self.language)

    def relative(self, instant: datetime) -> str:
        """How long ago an instant was, or in how long it will be."""
        return relative((instant - self.now).total_seconds(), self.language)

    def named(self, noun: str, code: str) -> str:
        """What people call a code, such as the verb of an audit entry."""
        return name_of(noun, code, self.language)

    def duration(self, seconds: float) -> str:
        return duration(seconds, self.language)

    def whole(self, number: int) -> str:
        return whole(number, self.language)

    def decimal(self, number: float, digits: int = 1) -> str:
        return decimal(number, digits, self.language)

    def byte_size(self, size: int) -> str:
        return byte_size(size, self.language)

    def said(self, text: str) -> str:
        """A text of ours, which is in English as it stands."""
        return said(text, self.language)

    @property
    def distance_words(self) -> str:
        """The words by which scripts keep `relative` true."""
        return distance_words(self.language)


def current_page(request: Request) -> FramedPage:
    return cast("FramedPage", current_call(request))


# What endpoints of pages take.
ThisPage = Annotated[FramedPage, Depends(current_page)]


def _pairs(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return the parameters of a query; a list gives one for each of its items."""
    return [
        (name, str(item))
        for name, value in values.items()
        for item in (value if isinstance(value, list | tuple) else [value])
    ]


def _values(model: type[BaseModel], query: QueryParams) -> dict[str, Any]:
    """Return the parameters that a model knows: lists where it wants lists."""
    values: dict[str, Any] = {}
    for name, field_info in model.model_fields.items():
        given = [value for value in query.getlist(name) if value != ""]
        if given:
            values[name] = given if _is_list(field_info.annotation) else given[-1]
    return values


def _is_list(annotation: Any) -> bool:
    if isinstance(annotation, UnionType):
        return any(_is_list(part) for part in get_args(annotation))
    return get_origin(annotation) in (list, tuple)
