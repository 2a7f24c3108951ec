"""The fixtures of these tests."""

from admin.client import app, client, clock, memory_app, memory_client, url
from api.apps import durable_url

__all__ = ["app", "client", "clock", "durable_url", "memory_app", "memory_client", "url"]
