"""The fixtures of these tests."""

from api.apps import app, clock, memory_app, url
from identity.provider import provider

__all__ = ["app", "clock", "memory_app", "provider", "url"]
