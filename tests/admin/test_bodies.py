"""What the body of a request may hold."""

import json
from collections.abc import AsyncIterator

import httpx
import pytest

from admin.client import problem
from duetime import Duetime

JSON = {"content-type": "application/json"}
PREFIX, SUFFIX = b'{"kind": "parcel", "payload": {"text": ', b"}}"


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[1,",
        b"nul",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": 1e999}',
        b'{"a": "\xff"}',
        b"\xef\xbb\xbf{}",
        b'{"a": "\\ud800"}',
        b'{"\\udfff": 1}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 101 + b"1" + b"}" * 101,
        b"\x00",
    ],
    ids=lambda content: content[:12].decode("latin-1"),
)
async def test_bodies_that_are_not_json(memory_client: httpx.AsyncClient, content: bytes) -> None:
    response = await memory_client.post("/api/actions", content=content, headers=JSON)
    assert (response.status_code, problem(response)) == (422, "invalid-json")


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b'"text"', b"7", b"true", b"{}"])
async def test_bodies_of_another_form(memory_client: httpx.AsyncClient, content: bytes) -> None:
    response = await memory_client.post("/api/actions", content=content, headers=JSON)
    assert (response.status_code, problem(response)) == (422, "invalid-argument")


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/xml",
        "multipart/form-data",
        "application/json; charset=utf-16",
        "",
    ],
)
async def test_other_media_types(memory_client: httpx.AsyncClient, content_type: str) -> None:
    headers = {"content-type": content_type}
    response = await memory_client.post("/api/actions", content=b"{}", headers=headers)
    assert (response.status_code, problem(response)) == (415, "unsupported-media-type")


async def test_a_charset_may_be_named(memory_client: httpx.AsyncClient) -> None:
    headers = {"content-type": "application/json; charset=UTF-8"}
    response = await memory_client.post("/api/actions", content=b"{}", headers=headers)
    assert problem(response) == "invalid-argument"


async def test_a_body_that_tells_no_length_is_cut(memory_client: httpx.AsyncClient) -> None:
    sent = 0

    async def flood() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 1_000_000_000:
            sent += 1_000_000
            yield b" " * 1_000_000

    response = await memory_client.post("/api/actions", content=flood(), headers=JSON)
    assert (response.status_code, problem(response)) == (413, "body-too-large")
    assert sent < 10_000_000


async def test_depth_is_that_of_brackets_outside_of_texts(
    memory_client: httpx.AsyncClient,
) -> None:
    text = '[{"\\"' * 500
    content = PREFIX + json.dumps(text).encode() + SUFFIX
    response = await memory_client.post("/api/actions", content=content, headers=JSON)
    assert response.status_code == 201
    assert response.json()["payload"]["text"] == text


async def test_a_payload_beyond_the_limit_of_payloads(memory_client: httpx.AsyncClient) -> None:
    body = {"kind": "parcel", "payload": {"text": "x" * 1_000_001}}
    response = await memory_client.post("/api/actions", json=body)
    assert (response.status_code, problem(response)) == (422, "invalid-payload")


async def test_texts_of_all_planes_come_back(client: httpx.AsyncClient, app: Duetime) -> None:
    text = "é\u202e\U0001f600 <script> \u2028"
    body = {"kind": "parcel", "payload": {"text": text}, "delay": 60}
    made = await client.post("/api/actions", json=body)
    assert made.json()["payload"]["text"] == text
    nul = {"kind": "parcel", "payload": {"text": "\x00"}, "delay": 60}
    assert (await client.post("/api/actions", json=nul)).status_code in (201, 422)
    assert (await client.get("/api/actions")).status_code == 200
