"""Every verb is carried over HTTP or refused with a remedy; so is every member of an app."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from duetime import Duetime
from duetime.api.setup import Setup
from duetime.errors import ConfigError
from duetime.remote.refusals import REFUSED_MEMBERS, REFUSED_VERBS
from duetime.remote.transitions import TransitionVerbs
from duetime.remote.verbs import CARRIED_VERBS
from duetime.transitions.api import Transitions

# The nouns of an app whose verbs are carried by one table.
NOUNS = ("", "jobs", "queues", "workers", "grants", "api_keys", "audit", "notifications")
# What an app offers besides verbs, and what becomes of it over HTTP.
WORKS_WITHOUT_A_SERVER = {
    *("request", "acting", "payload", "include", "discover", "connect"),
    *("clock", "settings", "runtime", "sync", "aclose", "close", *NOUNS[1:], "transitions"),
}
# It calls `find`, once for each page; and what is declared in code, which is no verb.
MADE_OF_OTHERS = {"audit.export", "notifications.subscribe"}


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def full_name(noun: str, verb: str) -> str:
    return f"{noun}.{verb}" if noun else verb


def verbs_of(app: Any) -> set[str]:
    """The verbs of `app` or `app.sync`, with their nouns."""
    names = public(type(app)) | {"jobs"}
    nouns = [noun for noun in NOUNS if noun]
    own = names - WORKS_WITHOUT_A_SERVER - set(REFUSED_MEMBERS)
    return own | {full_name(n, verb) for n in nouns for verb in public(type(getattr(app, n)))}


CARRIED = {full_name(noun, verb) for noun, verbs in CARRIED_VERBS.items() for verb in verbs}
REFUSED = {full_name(noun, verb) for noun, verbs in REFUSED_VERBS.items() for verb in verbs}


@pytest.mark.parametrize("face", [lambda app: app, lambda app: app.sync], ids=["async", "sync"])
def test_every_verb_is_carried_or_refused(face: Callable[[Duetime], Any]) -> None:
    app = Duetime("memory://")
    found = verbs_of(face(app)) - MADE_OF_OTHERS
    refused = {verb for verb in REFUSED if not verb.startswith("transitions.")}
    assert found == CARRIED | refused
    assert CARRIED & refused == set()


def test_every_noun_has_its_verbs_carried() -> None:
    """A noun that an app gets must be added here and to the table."""
    nouns = {name for name in Setup.__dataclass_fields__ if name not in NOT_NOUNS}
    assert nouns == {"actions", *NOUNS[1:]}
    assert set(CARRIED_VERBS) == set(NOUNS)


NOT_NOUNS = {"runtime", "settings", "store_url"}


def test_every_verb_of_transitions_is_carried_or_refused() -> None:
    carried, refused = public(TransitionVerbs), set(REFUSED_VERBS["transitions"])
    assert public(Transitions) <= carried | refused
    app = Duetime.connect("http://127.0.0.1:1")
    assert public(type(app.transitions)) >= carried | refused
    assert public(type(Duetime("memory://").sync.transitions)) <= public(type(app.sync.transitions))


@pytest.mark.parametrize("name", sorted(REFUSED))
async def test_verbs_that_are_not_carried_name_themselves_and_the_remedy(name: str) -> None:
    app, (noun, _, verb) = Duetime.connect("http://127.0.0.1:1"), name.rpartition(".")
    message = rf"^app\.{name} is not available over HTTP: \w"
    if noun == "transitions":
        with pytest.raises(ConfigError, match=message):
            getattr(app.transitions, verb)
        return
    blocking, awaited = (getattr(face, noun) if noun else face for face in (app.sync, app))
    with pytest.raises(ConfigError, match=message):
        getattr(blocking, verb)()
    with pytest.raises(ConfigError, match=message):
        await getattr(awaited, verb)()


@pytest.mark.parametrize("member", sorted(REFUSED_MEMBERS))
def test_members_that_need_a_store_are_refused(member: str) -> None:
    app = Duetime.connect("http://127.0.0.1:1")
    with pytest.raises(ConfigError, match=rf"^app\.{member} is not available over HTTP: \w"):
        getattr(app, member)


def test_subscriptions_are_not_declared_where_no_worker_is() -> None:
    app = Duetime.connect("http://127.0.0.1:1")
    message = r"^app\.notifications\.subscribe is not available over HTTP: \w"
    with pytest.raises(ConfigError, match=message):
        app.notifications.subscribe("*", in_app=True)


@pytest.mark.parametrize("verb", ["list", "unread", "read"])
def test_marks_are_those_of_the_credential(verb: str) -> None:
    app = Duetime.connect("http://127.0.0.1:1")
    with pytest.raises(ConfigError, match="the reader is that of the credential"):
        getattr(app.sync.notifications, verb)(reader="ann")


def test_tests_are_driven_where_the_app_is() -> None:
    app = Duetime.connect("http://127.0.0.1:1")
    with pytest.raises(ConfigError, match=r"sync\.testing is not available over HTTP"):
        _ = app.sync.testing


def signatures(app: Any) -> Iterator[tuple[str, Any]]:
    for noun in NOUNS:
        owner = getattr(app, noun) if noun else app
        for verb in CARRIED_VERBS[noun]:
            found = inspect.signature(getattr(type(owner), verb)).parameters
            yield full_name(noun, verb), [(p.name, p.kind, p.default) for p in found.values()]


@pytest.mark.parametrize("face", [lambda app: app, lambda app: app.sync], ids=["async", "sync"])
def test_carried_verbs_have_the_signatures_of_an_app_with_a_store(
    face: Callable[[Duetime], Any],
) -> None:
    remote, local = Duetime.connect("http://127.0.0.1:1"), Duetime("memory://")
    assert dict(signatures(face(remote))) == dict(signatures(face(local)))


def test_verbs_of_transitions_have_their_signatures_too() -> None:
    app = Duetime.connect("http://127.0.0.1:1")
    for verb in public(TransitionVerbs) - {"list"}:
        here = inspect.signature(getattr(Transitions, verb)).parameters.values()
        for owner in (app.transitions, app.sync.transitions):
            there = inspect.signature(getattr(type(owner), verb)).parameters.values()
            assert [(p.name, p.kind, p.default) for p in there] == [
                (p.name, p.kind, p.default) for p in here
            ]
