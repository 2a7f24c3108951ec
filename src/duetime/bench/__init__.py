"""How fast duetime is on a database: the part of `make bench` that users can run, too.

Everything goes through the public API. Workers run in processes of their own, as `duetime worker`
runs them; a clock stops when the store shows that all work is finished.
"""
