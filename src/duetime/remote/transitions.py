"""Row transitions over HTTP: `app.transitions` of a connected app."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from duetime.api.operation import Operation, async_verb, blocking_verb
from duetime.errors import ConfigError
from duetime.model.actions.action import Page
from duetime.model.filter import page_limit
from duetime.model.transition import UNSET, ParkedRow, Pending, Report, TransitionView
from duetime.registry.runtime import AppRuntime
from duetime.remote.documents import read
from duetime.remote.exchange import Exchanger
from duetime.remote.http import HttpSteps
from duetime.remote.payloads import RemotePayloads
from duetime.remote.refusals import REFUSED_VERBS, refuse_by, refuse_members
from duetime.remote.route import RemoteCall, RemoteVerb, Route
from duetime.remote.verbs import to_operation

ModelArgument = type[Any] | str | None
# The classes below have methods `list`.
list_ = list


def _to_view(document: Mapping[str, Any]) -> TransitionView:
    return read(TransitionView, {"from_": UNSET, "to": UNSET, **document})


LIST = Route(
    method="GET",
    path="/api/transitions",
    read=lambda _, document: [_to_view(item) for item in document["items"]],
)
PENDING = Route(
    method="GET",
    path="/api/transitions/pending",
    read=lambda _, document: [read(Pending, item) for item in document["items"]],
)
SWEEP = Route(
    method="POST",
    path="/api/transitions/sweep",
    body=("note",),
    read=lambda _, document: read(Report, document),
)
PARKED = Route(
    method="GET",
    path="/api/transitions/parked",
    query=("model", "column", "limit", "cursor"),
    read=lambda _, document: Page(
        [read(ParkedRow, item) for item in document["items"]], document["next_cursor"]
    ),
)
RETRY = Route(
    method="POST",
    path="/api/transitions/parked/retry",
    body=("model", "column", "ids", "note"),
    read=lambda _, document: document["count"],
)


def drain(call: RemoteCall) -> HttpSteps[Report]:
    total = Report()
    while True:
        report: Report = yield from call.send(SWEEP)
        total.add(report)
        if not report.truncated:
            return total


class TransitionVerbs:
    """Builds the operations on the transitions that the server's app declares."""

    def __init__(self, runtime: AppRuntime, payloads: RemotePayloads, exchanger: Exchanger) -> None:
        self.runtime = runtime
        self._payloads = payloads
        self._exchanger = exchanger

    def list(self) -> Operation[list_[TransitionView]]:
        """Every transition that the process of the server declares."""
        return self._asking(LIST)

    def pending(self) -> Operation[list_[Pending]]:
        """How many rows wait, for each transition."""
        return self._asking(PENDING)

    def sweep(
        self, *, parked: bool = False, by: str | None = None, note: str | None = None
    ) -> Operation[Report]:
        """Apply a batch of each transition."""
        refuse_by(by)
        _refuse_parked(parked)
        return self._asking(SWEEP, note=note)

    def drain(
        self, *, parked: bool = False, by: str | None = None, note: str | None = None
    ) -> Operation[Report]:
        """Sweep until no row is due any more."""
        refuse_by(by)
        _refuse_parked(parked)
        return self._asking(drain, note=note)

    def parked(
        self,
        model: ModelArgument = None,
        column: str | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Operation[Page[ParkedRow]]:
        """Rows that failed for good, and still have the time at which they did."""
        size = page_limit(limit)
        return self._asking(PARKED, model=_name_of(model), column=column, limit=size, cursor=cursor)

    def retry(
        self,
        model: ModelArgument = None,
        column: str | None = None,
        *,
        ids: Iterable[Any] | None = None,
        by: str | None = None,
        note: str | None = None,
    ) -> Operation[int]:
        """Let parked rows be tried again at once, as often as at first; returns how many."""
        refuse_by(by)
        rows = None if ids is None else [*ids]
        return self._asking(RETRY, model=_name_of(model), column=column, ids=rows, note=note)

    def _asking(self, verb: RemoteVerb, **arguments: Any) -> Operation[Any]:
        return to_operation(verb, RemoteCall(arguments, self._payloads, self._exchanger))


def _refuse_parked(parked: bool) -> None:
    if parked:
        raise ConfigError(
            "parked=True is not carried over HTTP: let parked rows be tried again with retry()"
        )


def _name_of(model: ModelArgument) -> str | None:
    return model.__name__ if isinstance(model, type) else model


# -- what apps show -------------------------------------------------------------------------------


class RemoteTransitions:
    """`app.transitions`: row transitions that the server's app declares."""

    def __init__(self, verbs: TransitionVerbs) -> None:
        self._verbs = verbs

    pending = async_verb(TransitionVerbs.pending)
    sweep = async_verb(TransitionVerbs.sweep)
    drain = async_verb(TransitionVerbs.drain)
    parked = async_verb(TransitionVerbs.parked)
    retry = async_verb(TransitionVerbs.retry)


class RemoteSyncTransitions:
    """`app.sync.transitions`, without `await`."""

    def __init__(self, verbs: TransitionVerbs) -> None:
        self._verbs = verbs

    list = blocking_verb(TransitionVerbs.list)
    pending = blocking_verb(TransitionVerbs.pending)
    sweep = blocking_verb(TransitionVerbs.sweep)
    drain = blocking_verb(TransitionVerbs.drain)
    parked = blocking_verb(TransitionVerbs.parked)
    retry = blocking_verb(TransitionVerbs.retry)


_REMEDIES = REFUSED_VERBS["transitions"]
refuse_members(RemoteTransitions, _REMEDIES, "transitions.")
refuse_members(
    RemoteSyncTransitions, {"last_report": _REMEDIES["last_report"]}, "sync.transitions."
)
