"""Joining a caller's transaction, for each database library."""
