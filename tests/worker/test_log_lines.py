"""No text from outside can forge a line of the log, whatever handlers and formats users have."""

import ast
import io
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import duetime
from duetime import Context, Duetime, Retry
from duetime.events.types import ActionFailed
from duetime.logs import LineFormatter, Log, get_log
from duetime.model.safe_text import UNSAFE_CHARACTER

SOURCE = Path(duetime.__file__).parent
FORGED = "\n2026-01-01 00:00:00 CRITICAL duetime.worker: forged\x1b[2J\x9b31m\u202e\r"


@dataclass(frozen=True)
class Hostile:
    """What an attacker may choose."""

    text: str = FORGED


class Output(io.StringIO):
    """The log file of a user with a format of their own."""

    def check(self) -> None:
        """Check that each line is a record's or an indented one, and nothing unsafe is in it."""
        lines = self.getvalue().splitlines()
        assert lines
        assert [line for line in lines if not line.startswith(("LINE ", "    "))] == []
        assert [line for line in lines if "forged" in line and line[:4].isdigit()] == []
        assert UNSAFE_CHARACTER.findall("".join(lines)) == []


@pytest.fixture
def output() -> Iterator[Output]:
    output = Output()
    handler = logging.StreamHandler(output)
    form = "LINE %(levelname)s %(message)s %(tenant)s %(kind)s %(correlation_id)s"
    nothing = {"tenant": "", "kind": "", "correlation_id": ""}
    handler.setFormatter(logging.Formatter(form, defaults=nothing))
    logger = logging.getLogger("duetime")
    logger.addHandler(handler)
    yield output
    logger.removeHandler(handler)


async def test_a_failing_handler_forges_no_line(output: Output) -> None:
    app = Duetime("memory://")
    liar = type(f"Liar{FORGED}", (ValueError,), {})

    @app.handler(kind=f"hostile{FORGED}", retry=Retry.none())
    async def fail(payload: Hostile, ctx: Context) -> None:
        error = liar(payload.text)
        error.add_note(payload.text)
        try:
            raise KeyError(payload.text)
        except KeyError as cause:
            raise error from cause

    def subscriber(event: object) -> None:
        raise RuntimeError(FORGED)

    subscriber.__qualname__ = subscriber.__name__ = f"subscriber{FORGED}"
    app.on(ActionFailed, subscriber)
    names = {"tenant": f"t{FORGED}", "correlation_id": f"c{FORGED}", "by": f"b{FORGED}"}
    async with app:
        await app.schedule(Hostile(), **names)  # type: ignore[arg-type]
        await app.testing.drain()
    output.check()
    assert output.getvalue().count("Traceback (most recent call last)") >= 3


def test_arguments_and_fields_of_any_kind_forge_no_line(output: Output) -> None:
    class Twisted:
        def __repr__(self) -> str:
            return f"<{FORGED}>"

    log = get_log("duetime.worker")
    log.warning("%s %r %d %.1f", FORGED, Twisted(), 5, 0.5, extra={"tenant": FORGED})
    log.error("%s", ValueError(FORGED), exc_info=ValueError(FORGED))
    log.warning("%s", "x" * 10_000_000)
    output.check()
    assert len(output.getvalue()) < 10_000


def test_a_record_names_the_place_that_logged_it(caplog: pytest.LogCaptureFixture) -> None:
    log = get_log("duetime.worker")
    log.error("an error")
    try:
        raise ValueError
    except ValueError:
        log.exception("an exception")
    first, second = caplog.records
    assert (first.filename, first.funcName) == (
        "test_log_lines.py",
        "test_a_record_names_the_place_that_logged_it",
    )
    assert second.lineno == first.lineno + 4
    assert second.exc_info is not None


def test_the_format_of_the_worker_command_makes_other_loggers_safe() -> None:
    output = Output()
    handler = logging.StreamHandler(output)
    handler.setFormatter(LineFormatter("LINE %(message)s"))
    logger = logging.Logger("a library's")
    logger.addHandler(handler)
    logger.error("%s", FORGED, exc_info=ValueError(FORGED), stack_info=True)
    output.check()


def test_every_logger_of_the_package_is_safe() -> None:
    """Loggers come from duetime.logs; only commands that show or discard records ask for others."""
    plain = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "getLogger"
    }
    assert plain == {"logs.py", "cli/demo_screen.py", "cli/demo_dashboard.py"}


def test_a_logger_of_the_users_is_safe_too(output: Output) -> None:
    Log(logging.getLogger("duetime.mine")).error("%s", FORGED)
    output.check()
