"""Connections that callers bring, each library in a file of its own."""
