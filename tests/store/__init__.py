"""Tests of the stores: memory, SQLite and PostgreSQL.

MemoryStore is the specification. A Hypothesis state machine performs random verbs on it and on
another store, and compares all results.

The state machine:
    random_rounds         runs the state machine in rounds
    state_machine         a rule for every verb
    operator_rules        its rules for bulks, repeated actions and erasures
    store_comparison      compares both stores after every step
    store_pair            performs a flow on both stores and compares the results
    normalized            normal forms of results, without what stores may choose freely
    invariants            what must hold after every step, independent of the specification
    strategies            what Hypothesis draws
    job_machine           another machine, with a rule for every verb of jobs
    sql_mutants           faults in the SQL that the state machines must catch
    directed_lives        chosen steps of it, for faults that chance seldom reaches
    clearing              clears the tables of a store

Other helpers:
    postgres_helpers      actions, sessions and faults for tests of PostgreSQL
    killed_bulk           a process that walks bulks, killed at every statement
    notify_dropping_proxy a proxy that loses notifications
    planned_statements    statements whose query plans are tested
    golden                the schemas that migrations must produce

Tests:
    test_memory, test_sqlite, test_postgres   the store contract, by `duetime.testing.conformance`
    test_machine, test_sql_mutants        the state machine, and that it is sensitive
    test_job_machine                      the machine of jobs, and that it is sensitive
    test_migrations                       schemas and upgrades
    test_figures                          sums of figures, against the specification
    test_plans, test_sqlite_plans         query plans
    test_sql_loader, test_bulk_rows, test_*_columns   SQL files and parameters
    test_sql_postgres, test_sql_sqlite    what only one store does
    test_sql_*, test_outage, test_deadline   faults, listening, replays, chains
    test_bulk_kills                       bulks that are interrupted at every statement
    test_batcher, test_notify, test_prepared   parts of the PostgreSQL store
"""
