"""Flows inside a transaction of the caller's, for each database library."""
