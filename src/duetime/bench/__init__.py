"""Benchmarks of duetime on a given database: the part of `make bench` that users can run too.

Everything goes through the public API. Workers run in processes of their own, as `duetime worker`
runs them. A measurement stops when the store shows that all actions are finished.
"""
