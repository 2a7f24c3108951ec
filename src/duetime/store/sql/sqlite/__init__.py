"""The SQLite store: its writer thread and its watch of the write-ahead log."""
