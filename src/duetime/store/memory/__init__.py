"""The in-memory store: the reference for the SQL stores, and the store for tests."""

from duetime.store.memory.store import MemoryStore

__all__ = ["MemoryStore"]
