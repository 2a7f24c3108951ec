"""The fixtures of these tests."""

from admin.client import app, client, clock, memory_app, memory_client, url

__all__ = ["app", "client", "clock", "memory_app", "memory_client", "url"]
