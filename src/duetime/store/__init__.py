"""Persistence: one contract, three stores."""
