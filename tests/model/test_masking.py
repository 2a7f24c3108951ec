"""What a reader sees of the data of an action or job, and texts without secrets."""

from contextvars import copy_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetime.model.access.masking import Reader, error_class
from duetime.model.hidden_text import hide_from_texts, without_secrets

DOCUMENT = {
    "id": "1",
    "payload": {"to": "ann"},
    "result": 7,
    "progress": "half",
    "error": "ValueError: bad ann",
    "last_error": "smtplib.SMTPError",
    "traceback": "ValueError: bad ann",
    "state": "failed",
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("administrator", [True, False])
def test_without_the_permission_there_are_no_data(known: bool, administrator: bool) -> None:
    reader = Reader(reads_payloads=False, administrator=administrator)
    assert reader.shown(DOCUMENT, kind_known=known) == {
        "id": "1",
        "error": "ValueError",
        "last_error": "smtplib.SMTPError",
        "state": "failed",
    }


def test_with_it_payloads_of_known_kinds_are_shown() -> None:
    reader, without = Reader(reads_payloads=True), dict(DOCUMENT)
    assert reader.shown(DOCUMENT, kind_known=True) == DOCUMENT
    del without["payload"]
    assert reader.shown(DOCUMENT, kind_known=False) == without
    root = Reader(reads_payloads=True, administrator=True)
    assert root.shown(DOCUMENT, kind_known=False) == DOCUMENT


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("ValueError: x", "ValueError"),
        ("ValueError", "ValueError"),
        ("shop.errors.Bad: a: b", "shop.errors.Bad"),
        ("lost: its worker stopped", "lost"),
        ("its result is not JSON (TypeError)", "error"),
        ("no, ann", "error"),
        (": x", "error"),
        ("", "error"),
        ("7up: x", "error"),
    ],
)
def test_an_error_is_named_by_its_class(text: str, named: str) -> None:
    assert error_class(text) == named


def cut(secrets: list[str | bytes], text: str) -> str:
    def run() -> str:
        hide_from_texts(secrets)
        return without_secrets(text)

    return copy_context().run(run)


@given(st.text(min_size=1, max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_no_form_of_a_secret_is_left(secret: str, before: str, after: str) -> None:
    for form in (secret, repr(secret), f"{secret!r:>5}"):
        shown = cut([secret], f"{before}{form}{after}")
        assert secret not in shown.replace("***", "") or secret in before + after + "'\"\\"


@pytest.mark.parametrize(
    ("secrets", "text", "shown"),
    [
        (["abc"], "x abc y abc", "x *** y ***"),
        (["abc", "abcd"], "abcd abc", "*** ***"),
        ([b"\xffabc"], repr(b"\xffabc"), "b'***'"),
        ([""], "x", "x"),
        ([], "x", "x"),
        (["first line\nab\nlast line"], "a: first line / ab / last line", "a: *** / ab / ***"),
    ],
)
def test_what_is_cut(secrets: list[str | bytes], text: str, shown: str) -> None:
    assert cut(secrets, text) == shown


def test_other_contexts_are_not_cut() -> None:
    cut(["abc"], "")
    assert without_secrets("abc") == "abc"
