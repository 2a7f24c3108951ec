"""Reads the body of a request within limits, before anything else looks at it."""

from __future__ import annotations

import json
import math
from email.message import Message
from typing import NoReturn

from starlette.requests import Request
from starlette.types import Message as AsgiMessage

from duetime.admin.problems import RequestRefused

MAX_BODY_DEPTH = 100
# A payload may have `max_payload` characters; so many more bytes are left for what is around it.
BODY_ALLOWANCE = 65_536
# `many` takes that many actions.
MAX_BODY_BYTES = 16_000_000
# Longer texts are not turned into numbers.
MAX_LENGTH_DIGITS = 18


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body: a JSON text in UTF-8 that Python can read, or nothing."""
    body = await read_limited(request, limit)
    if body:
        _check_media_type(request)
        _check_json(body)
    return body


async def read_limited(request: Request, limit: int) -> bytes:
    """Return the body, whatever it is. RequestRefused if it is longer than the limit."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > MAX_LENGTH_DIGITS or int(declared) > limit):
        _refuse_size(limit)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            _refuse_size(limit)
    return bytes(body)


def with_body(request: Request, body: bytes) -> Request:
    """Return the request with a body that was read already, to be read again."""
    messages: list[AsgiMessage] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> AsgiMessage:
        return messages.pop() if messages else await request.receive()

    return Request(request.scope, receive)


def _refuse_size(limit: int) -> NoReturn:
    # The rest of the body is not read: the connection cannot be used again.
    raise RequestRefused(
        413, "body-too-large", f"the body has more than {limit} bytes", {"Connection": "close"}
    )


def _check_media_type(request: Request) -> None:
    given = Message()
    given["content-type"] = request.headers.get("content-type", "")
    charset = given.get_param("charset", "utf-8")
    if given.get_content_type() != "application/json" or str(charset).lower() not in UTF_8:
        raise RequestRefused(
            415, "unsupported-media-type", "send the body as application/json in UTF-8"
        )


UTF_8 = {"utf-8", "utf8"}


def _check_json(body: bytes) -> None:
    try:
        text = body.decode()
        _check_depth(text)
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
        # A lone surrogate is written as an escape, which decodes.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise RequestRefused(422, "invalid-json", f"the body is not valid JSON: {error}") from None


def _check_depth(text: str) -> None:
    depth, in_string, escaped = 0, False, False
    if text.count("[") + text.count("{") <= MAX_BODY_DEPTH:
        return
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            if depth > MAX_BODY_DEPTH:
                raise ValueError(f"it is nested more than {MAX_BODY_DEPTH} levels deep")
        elif character in "]}":
            depth -= 1


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is out of range")
    return number
