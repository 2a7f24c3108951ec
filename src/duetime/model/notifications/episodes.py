"""Episodes of ill health: what begins, lasts and ends, notified once for the whole cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from duetime.model.notifications.event import EventData, NewEvent
from duetime.model.notifications.topics import TOPICS


@dataclass(frozen=True, slots=True)
class Episode:
    """Something that lasts: a topic and its subject, unique while it does."""

    topic: str
    subject: str
    data: EventData = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        return self.topic, self.subject


@dataclass(frozen=True, slots=True)
class EpisodeChanges:
    """The episodes that began, those that are over, and the events about them."""

    begun: Sequence[Episode]
    over: Sequence[Episode]
    events: Sequence[NewEvent]


def compare_episodes(stored: Sequence[Episode], present: Sequence[Episode]) -> EpisodeChanges:
    """Decide what has changed. The end of an episode is an event, too, except of a topic without an
    end, as a lost worker."""
    known, seen = _by_key(stored), _by_key(present)
    begun = [episode for key, episode in seen.items() if key not in known]
    over = [episode for key, episode in known.items() if key not in seen]
    ended = [episode for episode in over if _has_end(episode)]
    events = [_event(episode, ended=False) for episode in begun]
    events += [_event(episode, ended=True) for episode in ended]
    return EpisodeChanges(begun, over, events)


def _by_key(episodes: Sequence[Episode]) -> Mapping[tuple[str, str], Episode]:
    return {episode.key: episode for episode in episodes}


def _has_end(episode: Episode) -> bool:
    topic = TOPICS.get(episode.topic)
    return topic is not None and topic.episode


def _event(episode: Episode, *, ended: bool) -> NewEvent:
    return NewEvent(episode.topic, None, episode.subject, episode.data, ended)
