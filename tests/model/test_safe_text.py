"""Text and tracebacks from outside, made safe to show."""

import json

import pytest

from duetime.model.safe_text import UNSAFE_CHARACTER, readable, safe_json, safe_text
from duetime.model.traceback_text import INDENT, traceback_text

HOSTILE = "a\x1b]0;PWNED\x07\x1b[2J\x9b31m\r\nb\u202e\u2066\u2028c\ud800\x7f\x00\U000e0041"


def test_unsafe_characters_become_escapes_that_can_be_read() -> None:
    assert safe_text(HOSTILE) == (
        r"a\x1b]0;PWNED\x07\x1b[2J\x9b31m\r\nb\u202e\u2066\u2028c\ud800\x7f\x00\U000e0041"
    )


@pytest.mark.parametrize(
    "text", ["10\u00a0000 €", "日本語", "می‌خواهم", "👩‍👩‍👧", "C:\\new", "[red]x"]
)
def test_text_that_is_safe_stays_as_it_is(text: str) -> None:
    assert safe_text(text) == text


def test_a_json_document_keeps_its_meaning() -> None:
    document = json.dumps({HOSTILE: [HOSTILE, "é日"]}, ensure_ascii=False, indent=2)
    safe = safe_json(document)
    assert json.loads(safe) == json.loads(document)
    assert UNSAFE_CHARACTER.findall(safe.replace("\n", "")) == []
    assert "é日" in safe


class Silent(Exception):
    """An exception without a text."""

    def __str__(self) -> str:
        raise SystemExit("no text")

    __repr__ = __str__


class Numeric(Exception):
    """An exception whose text is a number."""

    def __str__(self) -> str:
        return 5  # type: ignore[return-value]


class Loud(str):
    """A string whose own methods fail."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "error"),
    [(Silent(), "SystemExit"), (Numeric(), "TypeError"), (Loud("x"), "RuntimeError")],
)
def test_a_value_without_a_text_is_named_by_its_error(value: object, error: str) -> None:
    assert readable(value, 10) == f"(its text cannot be had: {error})"


def test_a_value_is_shown_by_the_given_conversion() -> None:
    assert readable("x\n", 10, repr) == r"'x\n'"
    assert readable(Silent(), 10, repr) == "(its text cannot be had: SystemExit)"


def test_a_long_text_is_cut() -> None:
    assert readable(ValueError("x" * 5_000_000), 3) == "xxx… (5,000,000 characters)"


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:  # noqa: BLE001
        return caught


def test_every_line_of_a_traceback_is_indented() -> None:
    liar = type("L\n2026-01-01 CRITICAL forged\x1b[31m", (ValueError,), {})
    error = raised(liar(f"{HOSTILE}\n2026-01-01 CRITICAL forged"))
    error.add_note("a note\n2026-01-01 CRITICAL forged")
    group = BaseExceptionGroup(HOSTILE, [error, Silent()])
    group.__cause__ = error
    lines = traceback_text(group).split("\n")
    assert [line for line in lines if not line.startswith(INDENT)] == []
    assert UNSAFE_CHARACTER.findall("".join(lines)) == []
    assert [line for line in lines if line.strip().startswith("2026")] == []


def test_a_traceback_names_the_frames_and_the_causes_as_python_does() -> None:
    try:
        try:
            raise KeyError("first")
        except KeyError as error:
            raise ValueError("second") from error
    except ValueError as error:
        text = traceback_text(error)
    lines = [line.strip() for line in text.split("\n")]
    assert lines[0] == "Traceback (most recent call last):"
    assert lines.index("KeyError: 'first'") < lines.index("ValueError: second")
    assert 'raise KeyError("first")' in lines
    assert any("direct cause" in line for line in lines)


def test_a_long_chain_a_deep_stack_and_a_long_message_are_cut() -> None:
    def deeper() -> None:
        deepest()

    def deepest() -> None:
        deeper()

    error: BaseException = ValueError("root")
    for number in range(3000):
        link = ValueError(number)
        link.__cause__ = error
        error = link
    assert len(traceback_text(error).split("\n")) < 200
    with pytest.raises(RecursionError) as caught:
        deeper()
    assert len(traceback_text(caught.value).split("\n")) < 100
    assert len(traceback_text(ValueError("x" * 5_000_000))) < 5_000


def test_a_chain_that_contains_itself_comes_to_an_end() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert traceback_text(first).count("first") == 1


def chain_of_groups(member: BaseException, length: int) -> BaseException:
    group = BaseExceptionGroup("g", [member] * 10)
    for _ in range(length - 1):
        later = BaseExceptionGroup("g", [member] * 10)
        later.__context__ = group
        group = later
    return group


def test_exceptions_that_share_their_parts_are_shown_once() -> None:
    error: BaseException = ValueError("shared")
    for _ in range(3):
        error = chain_of_groups(error, 2)
    text = traceback_text(error)
    assert text.count("ValueError: shared") == 1
    assert "shown elsewhere" in text
    assert len(text) < 20_000


def tree_of_groups(depth: int) -> BaseException:
    if depth == 0:
        return raised(ValueError("m" * 1_000))
    return BaseExceptionGroup("g", [tree_of_groups(depth - 1) for _ in range(10)])


@pytest.mark.parametrize("note", ["", "\x00" * 5_000])
def test_all_groups_and_causes_share_one_number_of_lines_and_characters(note: str) -> None:
    for error in (tree_of_groups(4), chain_of_groups(tree_of_groups(3), 20)):
        error.add_note(note)
        text = traceback_text(error)
        assert len(text) < 60_000
        assert len(text.split("\n")) < 230
        assert "left out" in text


def test_of_a_long_chain_the_last_errors_are_shown() -> None:
    error: BaseException | None = None
    for number in range(15):
        later = raised(
            BaseExceptionGroup(f"number {number}", [raised(ValueError()) for _ in range(9)])
        )
        later.__cause__ = error
        error = later
    assert error is not None
    text = traceback_text(error)
    assert "number 14" in text
    assert "number 0" not in text
    assert "earlier exceptions of the chain are left out" in text


class Unreadable(ValueError):
    """An exception that lets nobody read its cause."""

    @property
    def __cause__(self) -> BaseException | None:  # type: ignore[override]
        raise RuntimeError


def test_a_traceback_that_cannot_be_read_is_replaced() -> None:
    assert "cannot be had: RuntimeError" in traceback_text(Unreadable())
