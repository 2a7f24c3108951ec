"""Error groups: failures whose texts differ in ids and values only fall together."""

import time
from uuid import uuid4

import pytest

from duetime.model.actions.outcome import describe, truncate_error
from duetime.model.error_group import MAX_GROUP_LENGTH, error_group


@pytest.mark.parametrize(
    ("error", "group"),
    [
        ("ValueError: order 4711 is late", "ValueError: order * is late"),
        ("ValueError: order 47-11/2 is late", "ValueError: order * is late"),
        ("KeyError: 'ann'", "KeyError: *"),
        ('KeyError: "it\'s"', "KeyError: *"),
        ("OSError: [Errno 111] refused by 10.0.0.7:5432", "OSError: [Errno *] refused by *"),
        ("S3Error: bucket `a b` has 3 files", "S3Error: bucket * has * files"),
        ("RuntimeError", "RuntimeError"),
        ("Http404Error", "Http404Error"),
        ("LookupError: no cafebabe, no 0xAB12CD", "LookupError: no *, no *"),
        ("LookupError: can't read ann's file", "LookupError: can't read ann's file"),
        ("E: usr_8fK2x  and\n\tusr_9aa", "E: * and *"),
        ("too many open files", "too many open files"),
        ("lost 5 times: cut off", "lost * times: cut off"),
        ("E: 12, 13, 14", "E: *, *, *"),
        ("E: été ٣٤", "E: été *"),
        ("", ""),
        ("17", "*"),
    ],
)
def test_values_are_left_out(error: str, group: str) -> None:
    assert error_group(error) == group


def test_a_group_is_its_own_group() -> None:
    """What is shown as a group can be pasted as an error, too."""
    for error in ("KeyError: 'ann'", "E: id 12 of 'x' at 0xabcdef99"):
        assert error_group(error_group(error)) == error_group(error)


def test_ids_of_any_form_fall_together() -> None:
    groups = {
        error_group(describe(LookupError(f"no {kind} {uuid4().hex[:8]} of {uuid4()}: {text!r}")))
        for kind in ("user", "order")
        for text in ("a", "b" * 90, 'c"', "")
        for _ in range(200)
    }
    assert groups == {f"LookupError: no {kind} * of *: *" for kind in ("user", "order")}


def test_truncated_errors_fall_together() -> None:
    """Ids of several lengths move what was cut off."""
    texts = [f"E: {'x' * n}{n} {'and more of the same ' * 60}" for n in (1, 20, 45)]
    assert len({error_group(truncate_error(text)) for text in texts}) == 1
    cut = {error_group(truncate_error(f"E: got '{c * 900}'")) for c in "abc"}
    assert cut == {"E: got *"}


def test_a_group_is_short_and_storable() -> None:
    group = error_group(truncate_error("E: " + "word " * 500))
    assert len(group) <= MAX_GROUP_LENGTH
    assert group == group.strip()


@pytest.mark.parametrize("piece", ["'", "*-", "0x", "a1", '"`', "A", " ", "\\"])
def test_no_text_takes_long(piece: str) -> None:
    before = time.perf_counter()
    error_group(truncate_error(piece * 500))
    assert time.perf_counter() - before < 0.05
