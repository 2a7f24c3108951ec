"""Secret fields: handlers get them, and nothing else shows them."""

import json
import logging
from dataclasses import dataclass, replace
from typing import Any

import pytest
from pydantic import BaseModel, Field, SecretBytes, SecretStr
from pydantic import Secret as PydanticSecret

from api.apps import Note
from duetime import Duetime, Secret
from duetime.errors import InvalidPayload
from duetime.model.payloads.registry import Payloads
from duetime.testing import FakeClock

TOKEN = "s3cr3t-t0ken"
KEY = "-----BEGIN KEY-----\nMIIBIjANBgkq\nhk'\"iG9w0BAQ\n-----END KEY-----\n"


@dataclass(frozen=True)
class Login:
    user: str
    token: Secret
    key: Secret | None = None


class Inner(BaseModel):
    password: SecretStr


class Deep(BaseModel):
    plain: str = "seen"
    inner: Inner = Field(alias="inside")
    many: list[SecretStr] = []
    named: dict[str, SecretBytes] = {}
    number: PydanticSecret[int] | None = None

    model_config = {"populate_by_name": True}


def deep() -> Deep:
    return Deep(
        inside=Inner(password=SecretStr(TOKEN)),
        many=[SecretStr(f"{TOKEN}-1"), SecretStr(f"{TOKEN}-2")],
        named={"a": SecretBytes(f"{TOKEN}-é".encode())},
        number=PydanticSecret[int](4711),
    )


async def stored_texts(app: Duetime) -> str:
    """What the store and the app show of everything: actions, runs, audit."""
    parts: list[object] = []
    for action in await app.find(limit=50):
        parts += [action, *await app.runs(action.id)]
    parts += [*await app.audit.find(limit=50)]
    return repr(parts)


async def test_a_handler_gets_the_secret_and_nothing_else_shows_it(
    app: Duetime, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    got: list[str] = []

    @app.handler(kind="login")
    async def login(payload: Login) -> str:
        assert payload.key is not None
        got.extend((payload.token.get_secret_value(), payload.key.get_secret_value()))
        return payload.user

    action = await app.schedule(Login("ann", Secret(TOKEN), Secret(KEY)), delay=60, key="k")
    assert repr(action.payload.token) == "Secret('**********')"
    await app.schedule(Login("ann", Secret(f"{TOKEN}2"), Secret(KEY)), key="k", if_exists="replace")
    await app.testing.drain()
    assert got == [f"{TOKEN}2", KEY]
    shown = await stored_texts(app)
    assert TOKEN not in shown + caplog.text
    assert "MIIBIjANBgkq" not in shown + caplog.text
    [done] = await app.find()
    assert done.result == "ann"


@pytest.mark.parametrize("where", ["async", "thread"])
async def test_errors_and_tracebacks_are_cut(
    app: Duetime, caplog: pytest.LogCaptureFixture, where: str
) -> None:
    def fail(payload: Login) -> None:
        assert payload.key is not None
        token, key = payload.token.get_secret_value(), payload.key.get_secret_value()
        try:
            raise KeyError(key)
        except KeyError as error:
            error.add_note(f"with {json.dumps(key)}")
            raise ValueError(f"{'x' * 493}{token} for {payload.user}") from error

    if where == "thread":
        app.handler(kind="login", retry=None)(fail)
    else:

        @app.handler(kind="login")
        async def login(payload: Login) -> None:
            fail(payload)

    action = await app.schedule(Login("ann", Secret(TOKEN), Secret(KEY)))
    caplog.set_level(logging.DEBUG)
    await app.testing.drain()
    failed, runs = await app.get(action.id), await app.runs(action.id)
    assert failed.error is not None
    assert failed.error.startswith("ValueError: xxx")
    traceback = next(run.traceback for run in runs if run.traceback)
    assert "for ann" in traceback
    assert "KeyError" in traceback
    shown = await stored_texts(app) + repr(runs) + caplog.text
    for part in (TOKEN, "s3cr3t", "MIIBIjANBgkq", "iG9w0BAQ", "BEGIN KEY"):
        assert part not in shown, part


async def test_another_run_in_the_same_worker_is_not_cut(memory_app: Duetime) -> None:
    @memory_app.handler(kind="login")
    async def login(payload: Login) -> None:
        raise RuntimeError("no")

    @memory_app.handler()
    async def note(payload: Note) -> None:
        raise RuntimeError(f"about {TOKEN}")

    await memory_app.schedule(Login("ann", Secret(TOKEN)))
    action = await memory_app.schedule(Note())
    await memory_app.testing.drain()
    assert TOKEN in str((await memory_app.get(action.id)).error)


async def test_pydantics_own_secrets_are_kept_wherever_they_are(app: Duetime) -> None:
    got: list[Deep] = []

    @app.handler(kind="deep")
    async def take(payload: Deep) -> None:
        got.append(payload)

    given = deep()
    await app.schedule(given)
    await app.schedule_many([app.request(given)])
    await app.testing.drain()
    assert got == [given, given]
    assert TOKEN not in await stored_texts(app)
    assert "4711" not in await stored_texts(app)


async def test_jobs_keep_and_mask_them(app: Duetime, clock: FakeClock) -> None:
    got: list[str] = []

    @app.handler(kind="login")
    async def login(payload: Login) -> None:
        got.append(payload.token.get_secret_value())

    job = await app.jobs.put("bills-close", "0 * * * *", payload=Login("ann", Secret(TOKEN)))
    await app.testing.advance(hours=1)
    assert got == [TOKEN]
    assert TOKEN not in repr(job) + repr(await app.jobs.list()) + await stored_texts(app)


@pytest.mark.parametrize("text", ["**********"])
async def test_a_mask_that_is_sent_back_is_refused(memory_app: Duetime, text: str) -> None:
    memory_app.payload(Login, kind="login")
    with pytest.raises(InvalidPayload, match="give the secret itself"):
        await memory_app.schedule(Login("ann", Secret(text)))
    assert (await memory_app.find()).items == []


async def test_a_payload_that_is_refused_is_not_quoted(memory_app: Duetime) -> None:
    memory_app.payload(Login, kind="login")
    user: Any = 7
    wrong = replace(Login("ann", Secret(TOKEN)), user=user)
    with pytest.raises(InvalidPayload) as caught:
        await memory_app.schedule(wrong)
    assert caught.value.__cause__ is None
    assert TOKEN not in str(caught.value)


async def test_data_that_cannot_be_decoded_are_masked_altogether(memory_app: Duetime) -> None:
    memory_app.payload(Login, kind="login")
    text = json.dumps({"user": 7, "token": TOKEN})
    assert memory_app.runtime.payloads.shown("login", 1, text) == "**********"
    with pytest.raises(InvalidPayload) as caught:
        memory_app.runtime.payloads.decode("login", 1, text)
    assert TOKEN not in f"{caught.value}{caught.value.__cause__}"


def test_an_upgrade_that_fails_is_not_quoted() -> None:
    def upgrade(data: dict[str, Any]) -> dict[str, Any]:
        raise KeyError(data["token"])

    payloads = Payloads()
    payloads.add(Login, kind="login", version=2, upgrades={1: upgrade})
    with pytest.raises(InvalidPayload, match="KeyError") as caught:
        payloads.decode("login", 1, json.dumps({"token": TOKEN}))
    assert TOKEN not in str(caught.value)


def test_only_types_with_secrets_pay_for_them() -> None:
    payloads = Payloads()
    assert not payloads.add(Note, kind="note").secret
    assert payloads.add(Login, kind="login").secret
    assert payloads.add(Deep, kind="deep").secret


def test_a_secret_shows_nothing() -> None:
    secret = Secret(TOKEN)
    assert f"{secret} {secret!r} {[secret]}".count("**********") == 3
    assert secret == Secret(TOKEN)
    assert secret != Secret("other")
    assert len({secret, Secret(TOKEN)}) == 1
    assert secret.get_secret_value() == TOKEN


def test_schemas_say_that_it_is_written_only() -> None:
    entry = Payloads().add(Login, kind="login")
    described = entry.adapter.json_schema()["properties"]["token"]
    assert described.items() >= {"type": "string", "format": "password", "writeOnly": True}.items()
