"""Notifications: topics, events, who subscribes to them, and how events are gathered."""
