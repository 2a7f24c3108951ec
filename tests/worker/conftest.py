"""The fixtures of these tests."""

from api.apps import app, clock, durable_url, memory_app, real_app, url

__all__ = ["app", "clock", "durable_url", "memory_app", "real_app", "url"]
