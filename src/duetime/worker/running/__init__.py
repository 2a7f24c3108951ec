"""One run: its handler, its transaction, its timeout and its thread."""
