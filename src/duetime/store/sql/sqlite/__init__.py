"""The SQLite store, its writer thread, and its watcher of the write-ahead log."""
