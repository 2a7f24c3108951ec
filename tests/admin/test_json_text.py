"""JSON as text to read: indented, bounded, exact, and safe to show."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duetime.admin.pages.formats.json_text import pretty_json, shown_json
from duetime.model.safe_text import UNSAFE_CHARACTER

# Runs for as long as the machine takes.
NO_DEADLINE = settings(deadline=None)
texts = st.text(st.characters(codec=None))
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def shown_bytes(shown: str) -> int:
    """How many bytes of the document a text says that it leaves out."""
    found = re.search(r"\n\.\.\. ([\d,]+)\u00a0more bytes?\Z", shown)
    return int(found[1].replace(",", "")) if found else 0


def test_a_document_is_indented() -> None:
    document = '{"a":[1,2,{"b":{},"c":[]}],"d":null}'
    assert pretty_json(document, "en") == json.dumps(json.loads(document), indent=2).replace(
        "\\u00e9", "é"
    )


@NO_DEADLINE
@given(documents)
def test_any_document_means_what_it_did(value: object) -> None:
    shown = pretty_json(json.dumps(value), "en", max_length=10**6, max_depth=100)
    assert json.loads(shown) == value
    assert UNSAFE_CHARACTER.findall(shown.replace("\n", "")) == []
    assert shown == pretty_json(shown, "en", max_length=10**6, max_depth=100)


def test_numbers_stay_as_they_are_written() -> None:
    digits = "9" * 6000
    document = f"[123456789012345678901234567890,0.10000000000000000001,1E400,{digits}]"
    assert pretty_json(document, "en").split() == [
        "[",
        "123456789012345678901234567890,",
        "0.10000000000000000001,",
        "1E400,",
        digits,
        "]",
    ]


def test_letters_are_shown_rather_than_their_escapes() -> None:
    assert pretty_json(r'"\u00e9\u65e5 \/ \ud83d\ude00"', "en") == '"é日 / 😀"'


def test_control_and_bidi_characters_are_visible() -> None:
    document = json.dumps({"a\u202eb": "\x1b[2J\u2066\x00\x7f\ud800"}, ensure_ascii=False)
    assert pretty_json(document, "en") == (
        '{\n  "a\\u202eb": "\\u001b[2J\\u2066\\u0000\\u007f\\ud800"\n}'
    )


def test_a_megabyte_is_cut_and_the_rest_is_counted() -> None:
    document = json.dumps(["é" * 500_000], ensure_ascii=False)
    shown = pretty_json(document, "en", max_length=1000)
    assert len(shown) < 1100
    assert "…\n... " in shown
    assert shown_bytes(shown) + 2 * shown.count("é") + len('["') == len(document.encode())


def test_what_is_left_out_is_counted_in_the_language_of_the_reader() -> None:
    document = json.dumps([1] * 5000)
    assert pretty_json(document, "fr", max_length=8).endswith("... 14\u202f996\u00a0octets de plus")


@NO_DEADLINE
@given(documents, st.integers(0, 60))
def test_texts_are_bounded_and_what_they_leave_out_is_counted(value: object, length: int) -> None:
    document = json.dumps(value)
    shown = shown_json(document, max_length=length)
    # Of a string that is cut, each character may need an escape of six.
    assert len(shown.text) <= 6 * length + 1
    assert 0 <= shown.bytes_left <= len(document)
    assert bool(shown.bytes_left) == (shown.text != pretty_json(document, "en"))


def test_a_string_is_not_cut_within_an_escape() -> None:
    document = '"' + r"\u202e" * 9 + '"'
    for length in range(2, 40):
        text = shown_json(document, max_length=length).text.removesuffix("…")
        assert re.fullmatch(r'(?:"(?:\\u202e)*)?', text), text
    assert shown_json(r'"\\\\\\\\\\"', max_length=4).text == r'"\\…'


def test_what_is_nested_too_deep_is_folded() -> None:
    assert pretty_json('[[[1,2],{"a":[3]}],4]', "en", max_depth=3) == (
        "[\n  [\n    […],\n    {…}\n  ],\n  4\n]"
    )


def test_nesting_of_any_depth_is_shown() -> None:
    shown = pretty_json("[" * 300_000 + "]" * 300_000, "en", max_depth=3)
    assert shown == "[\n  [\n    […]\n  ]\n]"


@pytest.mark.parametrize("document", ["", "]]", "[1 2", '"never closed', '{"a":}', "<b>\x1b", "\\"])
def test_what_is_no_json_is_shown_as_text(document: str) -> None:
    shown = pretty_json(document, "en")
    assert "\x1b" not in shown
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", document).replace("\x1b", r"\u001b")
