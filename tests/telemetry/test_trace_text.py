"""What is stored of the headers `traceparent` and `tracestate`, and what is ignored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from duetime.model.trace import MAX_TRACE_LENGTH, parse_trace, to_trace, trace_id_of
from duetime.telemetry.spans import links_to, remote_context

TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE_ID}-{SPAN_ID}-01"

MALFORMED = (
    "",
    "0",
    "nonsense",
    PARENT[:-1],
    f"{PARENT}-extra",
    f"ff-{TRACE_ID}-{SPAN_ID}-01",
    f"00-{'0' * 32}-{SPAN_ID}-01",
    f"00-{TRACE_ID}-{'0' * 16}-01",
    PARENT.upper(),
    f"00-{TRACE_ID[:-1]}g-{SPAN_ID}-01",
    f"{PARENT}\n",
    "0" * 10_000,
    f"00-{TRACE_ID}-{SPAN_ID}-0\u0661",
)


@pytest.mark.parametrize("parent", MALFORMED[:-3])
def test_malformed_parents_are_ignored(parent: str) -> None:
    assert to_trace(parent) is None
    assert parse_trace(parent) is None
    assert links_to([parent, None]) == []


@pytest.mark.parametrize("parent", MALFORMED[-3:])
def test_what_no_store_would_hold_is_no_trace(parent: str) -> None:
    assert parse_trace(parent) is None


def test_a_later_version_is_read_as_far_as_it_is_known() -> None:
    stored = to_trace(f"cc-{TRACE_ID}-{SPAN_ID}-01-what-the-future-adds")
    assert stored == f"cc-{TRACE_ID}-{SPAN_ID}-01"
    assert trace_id_of(stored) == TRACE_ID


@pytest.mark.parametrize(
    ("state", "kept"),
    [
        ("rojo=1,congo=t61", "rojo=1,congo=t61"),
        (" rojo=1 , ,congo=t61 ", "rojo=1,congo=t61"),
        ("tenant@vendor=a b", "tenant@vendor=a b"),
        ("rojo", ""),
        ("Rojo=1", ""),
        ("rojo=1,rojo=2", ""),
        ("rojo=\u00e9", ""),
        ("rojo=1\r\nSet-Cookie: a=b", ""),
        (",".join(f"k{n}=1" for n in range(33)), ""),
        ("rojo=" + "x" * 600, ""),
    ],
)
def test_a_state_is_kept_or_dropped_as_a_whole(state: str, kept: str) -> None:
    assert to_trace(PARENT, state) == (f"{PARENT} {kept}" if kept else PARENT)


@given(st.text(), st.text())
def test_nothing_that_is_stored_is_long_or_unreadable(parent: str, state: str) -> None:
    for given_parent in (parent, PARENT):
        stored = to_trace(given_parent, state)
        if stored is not None:
            assert len(stored) <= MAX_TRACE_LENGTH
            assert parse_trace(stored) is not None
            assert remote_context(stored) is not None


def test_a_context_is_read_as_the_propagator_reads_it() -> None:
    headers = {"traceparent": PARENT, "tracestate": "rojo=1,congo=a b"}
    from opentelemetry.trace import get_current_span

    wanted = get_current_span(TraceContextTextMapPropagator().extract(headers)).get_span_context()
    found = remote_context(to_trace(headers["traceparent"], headers["tracestate"]))
    assert found == wanted
    assert found is not None
    assert found.is_remote
