"""Which template a notification is written by."""

from __future__ import annotations

from pathlib import Path

from duetime.model.notifications.event import NotificationEvent
from duetime.model.notifications.notification import SEVERAL_TOPICS, Notification
from duetime.model.notifications.topics import CONFIRM_TOPIC, EPISODES, TEST_TOPIC, TOPIC_NAMES

OWN_TEMPLATES = Path(__file__).parent / "templates"
TOPIC_TEMPLATES = (
    *TOPIC_NAMES,
    *(f"{name}-over" for name in TOPIC_NAMES if name in EPISODES),
    SEVERAL_TOPICS,
    TEST_TOPIC,
    CONFIRM_TOPIC,
)
TEXT_LAYOUT, HTML_LAYOUT = "message.txt", "message.html"
# Every file that a language may have, and those that a whole translation has.
TEMPLATE_FILES = (*(f"{name}.txt" for name in TOPIC_TEMPLATES), TEXT_LAYOUT, HTML_LAYOUT)
OPTIONAL_FILES = tuple(f"{name}.html" for name in TOPIC_TEMPLATES)


def template_of(notification: Notification) -> str:
    """Return the template for the subject and the advice. What began and what is over have none in
    common."""
    templates = {template_of_event(event) for event in notification.events}
    if notification.topic in EPISODES and templates:
        return templates.pop() if len(templates) == 1 else SEVERAL_TOPICS
    return notification.topic


def template_of_event(event: NotificationEvent) -> str:
    """Return the template for the line about an event."""
    return f"{event.topic}-over" if event.ended and event.topic in EPISODES else event.topic
