"""The fixtures of these tests."""

from admin.client import app, clock, memory_app, url
from pages.broken import failing_app
from pages.places import browser, local_browser, memory_asgi
from pages.readers import moving

__all__ = [
    "app",
    "browser",
    "clock",
    "failing_app",
    "local_browser",
    "memory_app",
    "memory_asgi",
    "moving",
    "url",
]
