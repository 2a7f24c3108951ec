"""Reads what a form sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from email.message import Message
from urllib.parse import parse_qs

from starlette.requests import Request

from duetime.admin.bodies import UTF_8, read_limited
from duetime.admin.problems import RequestRefused

FORM_TYPE = "application/x-www-form-urlencoded"
MAX_FORM_FIELDS = 2000

Form = Mapping[str, Sequence[str]]


async def read_form(request: Request, limit: int) -> Form:
    """Return the values of each field."""
    body = await read_limited(request, limit)
    if not body:
        return {}
    given = Message()
    given["content-type"] = request.headers.get("content-type", "")
    charset = given.get_param("charset", "utf-8")
    if given.get_content_type() != FORM_TYPE or str(charset).lower() not in UTF_8:
        raise RequestRefused(415, "unsupported-media-type", f"send the form as {FORM_TYPE}")
    try:
        return parse_qs(
            body.decode(),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_FORM_FIELDS,
        )
    except ValueError as error:
        raise RequestRefused(422, "invalid-form", f"the form cannot be read: {error}") from None
