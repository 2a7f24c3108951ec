"""Tests of row transitions with SQLAlchemy.

Helpers:
    engines            every kind of engine, each on an empty database
    models             models with transitions
    reminders          models whose rows schedule actions
    versioned_app      a versioned model, and a program that applies its transitions
    conftest           fixtures for databases, clocks and apps

Tests:
    test_declaring, test_metadata, test_mappings, test_zones   declarations and mappings
    test_applying, test_actions, test_versioned   changes of rows, their actions and listeners
    test_running, test_draining, test_stopping, test_light   the runner
    test_failing, test_unloadable, test_races, test_ledger   failures, races and the ledger
    test_plans                         query plans
    test_reporting, test_commit        hooks, events and telemetry; commits that sweeps know of
    test_mutants                       mutation tests
"""
