"""A browser without scripts: reads pages, fills in their forms, keeps cookies."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode, urljoin

import httpx

HTTPS, LOOPBACK, PLAIN = "https://shop.example", "http://localhost:8000", "http://shop.example"
PEERS = {HTTPS: "203.0.113.9", LOOPBACK: "127.0.0.1", PLAIN: "203.0.113.9"}
# What follows them is what they name.
NAMED_BY_TEXT = {"h1", "title", "button", "a", "p"}
FIELDS = {"input", "select", "textarea"}


@dataclass
class Form:
    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    # The fields that people see, by label.
    labels: dict[str, str] = field(default_factory=dict)
    buttons: list[str] = field(default_factory=list)


@dataclass
class ShownPage(HTMLParser):
    """What a page shows: its language, headings, alerts and forms."""

    response: httpx.Response
    language: str | None = None
    texts: dict[str, list[str]] = field(default_factory=dict)
    alerts: list[str] = field(default_factory=list)
    forms: list[Form] = field(default_factory=list)
    # What can be ticked in rows, by the id of the form that sends it.
    choices: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[str] = []
        self._actor: str | None = None
        self._labels: dict[str, str] = {}
        self._is_alert = False
        self._label_for: str | None = None
        # The choice whose first option has not been seen.
        self._field: str | None = None
        self.feed(self.response.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if given.get("class") == "reader":
            self._actor = given["title"]
        if tag == "html":
            self.language = given.get("lang")
        elif tag == "form":
            self.forms.append(Form(given["action"], given["method"]))
        elif tag == "input" and "form" in given:
            self.choices.setdefault(given["form"], []).append(given["value"])
        elif tag in FIELDS and "name" in given and self._open_form is not None:
            if given.get("type") != "checkbox" or "checked" in given:
                self._open_form.fields[given["name"]] = given.get("value", "")
            if label := self._labels.get(given.get("id", "")):
                self._open_form.labels[label] = given["name"]
            self._field = given["name"]
        elif tag == "option" and (self._field is not None or "selected" in given):
            self._fill_last(given["value"])
            self._field = None
        self._is_alert = given.get("role") == "alert"
        self._label_for = given.get("for") if tag == "label" else None
        self._open.append(tag)

    def handle_data(self, data: str) -> None:
        text = data.strip()
        if not text or not self._open:
            return
        if self._open[-1] == "textarea":
            # Browsers leave out a newline at the start.
            self._fill_last(data.removeprefix("\n"))
        self.texts.setdefault(self._open[-1], []).append(text)
        if self._is_alert:
            self.alerts.append(text)
        if self._label_for is not None:
            self._labels[self._label_for] = text
        if self._open[-1] == "button" and self._open_form is not None:
            self._open_form.buttons.append(text)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass
        self._is_alert, self._label_for = False, None

    def _fill_last(self, value: str) -> None:
        """Fill in the field that began last."""
        if self._open_form is not None:
            self._open_form.fields[next(reversed(self._open_form.fields))] = value

    @property
    def _open_form(self) -> Form | None:
        return self.forms[-1] if self.forms else None

    @property
    def heading(self) -> str:
        [heading] = self.texts["h1"]
        return heading

    @property
    def reader(self) -> str | None:
        """The actor who is signed in, as the page says; None if nobody is."""
        out = [form for form in self.forms if "Sign out" in form.buttons]
        return self._actor if out else None

    def form(self, button: str) -> Form:
        """The form whose button has this name."""
        [found] = [form for form in self.forms if button in form.buttons]
        return found


class Browser:
    """Reads an application at an address, or, for None, whatever server is there; `peer` is the
    address of the browser."""

    def __init__(
        self, asgi: Any, base: str = HTTPS, *, peer: str | None = None, **headers: str
    ) -> None:
        transport = None
        if asgi is not None:
            transport = httpx.ASGITransport(asgi, client=(peer or PEERS[base], 1))
        self.base = base
        self.client = httpx.AsyncClient(
            transport=transport, base_url=base, headers=headers, timeout=30
        )

    async def __aenter__(self) -> Browser:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.client.aclose()

    async def open(self, path: str, **headers: str) -> ShownPage:
        """Follow a link to a page, wherever that leads."""
        response = await self.client.get(path, headers={"sec-fetch-site": "none"} | headers)
        return await self._shown(response)

    async def send(self, form: Form, /, **filled_in: str) -> ShownPage:
        """Press the button of a form whose labelled fields were filled in."""
        response = await self.post(form, **filled_in)
        return await self._shown(response)

    async def press(self, form: Form, /, **filled_in: str) -> ShownPage:
        """Press the button of a form that leads to an address."""
        filled = {form.labels[label.replace("_", " ")]: text for label, text in filled_in.items()}
        return await self.open(f"{form.action}?{urlencode(form.fields | filled)}")

    async def post(self, form: Form, /, **filled_in: str) -> httpx.Response:
        """Press the button, and do not go where the answer leads."""
        filled = {form.labels[label.replace("_", " ")]: text for label, text in filled_in.items()}
        # With our referrer policy, browsers name no origin, also where it is the same.
        headers = {"sec-fetch-site": "same-origin", "origin": "null"}
        return await self.client.post(form.action, data=form.fields | filled, headers=headers)

    async def sign_in(self, key: str, path: str = "/sign-in") -> ShownPage:
        page = await self.open(path)
        return await self.send(page.form("Sign in"), API_key=key)

    def cookies(self) -> dict[str, str]:
        return {cookie.name: cookie.value or "" for cookie in self.client.cookies.jar}

    async def _shown(self, response: httpx.Response) -> ShownPage:
        while response.is_redirect:
            target = urljoin(str(response.url), response.headers["location"])
            assert target.startswith(self.base), f"led elsewhere: {target}"
            response = await self.client.get(target, headers={"sec-fetch-site": "same-origin"})
        return ShownPage(response)
