"""Transactions lent to handlers, for each database library."""
