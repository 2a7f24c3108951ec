"""Tests of verbs in the caller's transaction, and of transactional handlers.

Helpers:
    callers            every library whose transaction can be joined, behind one interface
    transaction_kinds  every kind of transaction that a handler may get, behind one interface
    conftest           fixtures for apps and callers

Joining a caller's transaction:
    test_joining, test_jobs, test_chains, test_reading, test_events   what the verbs do there
    test_interleaving    several verbs on one connection, and interrupted ones
    test_foreign, test_django   callers' own types and settings; Django
    test_refusing        connections that cannot be joined

Transactional handlers:
    test_transactional             commit and completion are one
    test_transactional_ends        all ways in which a run finishes
    test_transactional_left        handlers that leave their connection in use
    test_transactional_own_commits handlers that commit by themselves
    test_transactional_refusals    handlers that are refused
    test_transactional_middleware  middleware inside the transaction
"""
