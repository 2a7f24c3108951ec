"""The store in memory: the reference for the SQL stores, and the store of tests."""

from duetime.store.memory.store import MemoryStore

__all__ = ["MemoryStore"]
