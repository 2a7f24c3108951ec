"""Recurring jobs through months of virtual time, with faults, and an account of every tick."""
