"""The topics of notifications: what may be worth a message, and how severe it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, get_args

from duetime.errors import InvalidArgument
from duetime.words.phrase import phrase, with_hint

TopicName = Literal[
    "job-failing",
    "job-recovered",
    "job-paused",
    "job-resumed",
    "action-failed",
    "action-lost",
    "transition-parked",
    "overdue",
    "no-worker",
    "worker-lost",
]
TOPIC_NAMES: tuple[TopicName, ...] = get_args(TopicName)
# The topics of messages about a subscription itself: one that somebody asked for, to see that it
# works, and the one that asks the owner of an address to confirm it.
TEST_TOPIC, CONFIRM_TOPIC = "test", "confirm"


class Severity(StrEnum):
    """How much a notification matters, the least first."""

    info = "info"
    warning = "warning"
    critical = "critical"

    @property
    def rank(self) -> int:
        return tuple(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Topic:
    """What may happen. An episode lasts: its end is an event, too, of severity `info`."""

    name: TopicName
    severity: Severity
    episode: bool = False

    @property
    def of_tenants(self) -> bool:
        """Return whether a tenant may subscribe to it for its own rows."""
        return self.name.startswith(("job-", "action-"))


_SEVERITIES: Mapping[TopicName, Severity] = {
    "job-failing": Severity.warning,
    "job-recovered": Severity.info,
    "job-paused": Severity.info,
    "job-resumed": Severity.info,
    "action-failed": Severity.warning,
    "action-lost": Severity.warning,
    "transition-parked": Severity.warning,
    "overdue": Severity.critical,
    "no-worker": Severity.critical,
    "worker-lost": Severity.warning,
}
EPISODES: frozenset[TopicName] = frozenset({"overdue", "no-worker"})
TOPICS: Mapping[str, Topic] = {
    name: Topic(name, _SEVERITIES[name], name in EPISODES) for name in TOPIC_NAMES
}


def check_topics(given: str | Iterable[str], tenant: str | None) -> tuple[TopicName, ...]:
    """Return topics in the order of TOPIC_NAMES: one, several, or all by `*`. A tenant has those
    of its own jobs and actions only."""
    allowed = [name for name in TOPIC_NAMES if tenant is None or TOPICS[name].of_tenants]
    names = [given] if isinstance(given, str) else list(given)
    wanted = allowed if names == ["*"] else names
    if not wanted:
        raise InvalidArgument("topics", given, phrase("give at least one topic"))
    for name in wanted:
        _refuse_unknown(name, allowed)
    return tuple(name for name in TOPIC_NAMES if name in wanted)


def _refuse_unknown(name: object, allowed: list[TopicName]) -> None:
    if name in allowed:
        return
    if name in TOPIC_NAMES:
        remedy = phrase("tenants subscribe to job-* and action-* topics only")
        raise InvalidArgument("topics", name, remedy)
    names = ", ".join(allowed)
    remedy = with_hint(phrase("give * or some of {names}", names=names), str(name), allowed)
    raise InvalidArgument("topics", name, remedy)


def check_severity(argument: str, value: str) -> Severity:
    try:
        return Severity(value)
    except ValueError:
        names = ", ".join(Severity)
        raise InvalidArgument(argument, value, phrase("give one of {names}", names=names)) from None
