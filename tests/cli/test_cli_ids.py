"""Short ids: the beginning or the ending of an id, as people copy it from a table or the demo."""

import json
from collections.abc import Callable

import pytest

from .conftest import Answer, Duetimes

Schedule = Callable[..., str]


@pytest.fixture
def schedule(duetime: Duetimes, shop: str) -> Schedule:
    """Schedule an action and return its id."""

    def scheduled(*options: str) -> str:
        command = ("actions", "schedule", "mail", '{"to": "ada"}', "--delay", "1h", "--json")
        made = json.loads(duetime.ok(*command, "--app", shop, *options))
        return str(made["id"])

    return scheduled


def shown(duetime: Duetimes, url: str, typed: str, *options: str) -> Answer:
    return duetime("actions", "show", typed, "--url", url, "--json", *options)


def test_a_part_of_an_id_is_enough(duetime: Duetimes, url: str, schedule: Schedule) -> None:
    made = schedule()
    digits = made.replace("-", "")
    typed = [made, made.upper(), digits, digits[:8], digits[:20], made[:14]]
    typed += [f"…{digits[-6:]}", f"...{digits[-6:]}", f"..{digits[-9:]}", digits[-6:]]
    for text in typed:
        assert json.loads(shown(duetime, url, text).out)["id"] == made


def test_every_verb_takes_a_short_id(duetime: Duetimes, url: str, schedule: Schedule) -> None:
    made = schedule()
    short = f"…{made[-6:]}"
    moved = duetime.ok("actions", "reschedule", short, "--delay", "2h", "--url", url)
    assert moved.startswith(f"rescheduled: mail {made}")
    assert schedule("--after", short) != made
    assert duetime.ok("actions", "cancel", short, "--url", url) == f"cancelled: mail {made}\n"
    assert "it is cancelled" in duetime("actions", "retry", short, "--url", url).err


def test_digits_that_fit_several_actions_change_none(
    duetime: Duetimes, url: str, schedule: Schedule
) -> None:
    made = [schedule() for _ in range(2)]
    common = made[0].replace("-", "")[:8]
    assert made[1].startswith(common)
    answer = duetime("actions", "cancel", common, "--url", url)
    assert (answer.code, answer.out) == (1, "")
    assert f"more than one action begins with {common}: " in answer.err
    assert all(f"{id_} (mail)" in answer.err for id_ in made)
    assert {json.loads(shown(duetime, url, id_).out)["state"] for id_ in made} == {"scheduled"}


def test_digits_of_another_tenants_action_find_nothing(
    duetime: Duetimes, url: str, schedule: Schedule
) -> None:
    made = schedule("--tenant", "acme")
    for typed, words in ((made[:8], f"begins with {made[:8]}"), (made[-6:], "ends with")):
        answer = shown(duetime, url, typed)
        assert (answer.code, answer.out) == (1, "")
        assert answer.err.startswith("error: no action")
        assert words in answer.err
        assert shown(duetime, url, typed, "--tenant", "acme").code == 0
        assert shown(duetime, url, typed, "--any-tenant").code == 0


@pytest.mark.parametrize(
    "typed", ["", "…", "12345", "xyzxyzxyz", "0123456789abcdef" * 2 + "0", "…x"]
)
def test_what_is_no_id(duetime: Duetimes, shop: str, typed: str) -> None:
    answer = duetime("actions", "show", typed, "--app", shop)
    assert (answer.code, answer.out) == (2, "")
    assert "is no id: write the whole UUID" in " ".join(answer.err.replace("│", " ").split())


BY_KEY = ("--kind", "mail", "--key", "m1")


def test_every_verb_takes_a_kind_and_a_key(duetime: Duetimes, url: str, schedule: Schedule) -> None:
    made = schedule("--key", "m1")
    schedule("--key", "m2")
    found = json.loads(duetime.ok("actions", "show", *BY_KEY, "--url", url, "--json"))
    assert (found["id"], found["key"]) == (made, "m1")
    moved = duetime.ok("actions", "reschedule", *BY_KEY, "--delay", "2h", "--url", url)
    assert moved.startswith(f"rescheduled: mail {made}")
    assert duetime.ok("actions", "cancel", *BY_KEY, "--url", url) == f"cancelled: mail {made}\n"
    shown_again = duetime.ok("actions", "show", *BY_KEY, "--url", url, "--json")
    assert json.loads(shown_again)["state"] == "cancelled"
    answer = duetime("actions", "retry", *BY_KEY, "--url", url)
    assert answer.code == 1
    assert "no failed action of kind 'mail' with key 'm1'" in answer.err
    assert "give --tenant or --any-tenant" in answer.err


@pytest.mark.parametrize("verb", ["show", "cancel", "reschedule", "retry"])
def test_an_id_or_a_kind_and_key_are_given_never_both(
    duetime: Duetimes, url: str, schedule: Schedule, verb: str
) -> None:
    made = schedule("--key", "m1")
    more = ("--delay", "5m") if verb == "reschedule" else ()
    for given in ((), (made, *BY_KEY), (made, "--key", "m1"), BY_KEY[:2], BY_KEY[2:]):
        answer = duetime("actions", verb, *given, *more, "--url", url)
        assert answer.code == 2
        assert "--kind and --key" in " ".join(answer.err.replace("│", " ").split())
    assert json.loads(shown(duetime, url, made).out)["modified_at"] is None


@pytest.mark.parametrize("verb", ["show", "cancel", "reschedule", "retry"])
def test_a_misspelt_kind_gets_a_hint(
    duetime: Duetimes, shop: str, schedule: Schedule, verb: str
) -> None:
    schedule("--key", "m1")
    more = ("--delay", "5m") if verb == "reschedule" else ()
    given = ("--kind", "mial", "--key", "m1", *more, "--app", shop)
    answer = duetime("actions", verb, *given)
    assert answer.code == 1
    assert "action of kind 'mial' with key 'm1'" in answer.err
    assert "(did you mean 'mail'?)" in answer.err


def test_a_key_of_several_tenants_is_no_guess(
    duetime: Duetimes, url: str, schedule: Schedule
) -> None:
    for tenant in ("a", "b"):
        schedule("--key", "m1", "--tenant", tenant)
    answer = duetime("actions", "cancel", *BY_KEY, "--any-tenant", "--url", url)
    assert answer.code == 1
    assert "several tenants" in answer.err
