"""Transactions for handlers, each library in a file of its own."""
