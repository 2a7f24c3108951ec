"""Runs in flight: leases renewed by a heartbeat, on the store's clock."""
