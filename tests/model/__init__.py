"""Tests of the model: pure functions and values, without a store.

Helpers:
    cron_random        random cron expressions
    cron_scan          a slow, simple implementation of cron to compare with
    rules              Hypothesis strategies for recurrences

Recurrences and jobs:
    test_cron_*        syntax, words, errors, clock changes, comparison with other libraries
    test_recurrence*, test_zone    other rules, properties of all rules, time zones
    test_tick, test_misfire, test_jitter, test_job_name   ticks, misfires, jitter, names

Actions:
    test_outcome, test_retry, test_chain   completions, retries, settlement of children
    test_lane, test_ids                    lanes and ids

The rest:
    test_health, test_problems             rules of `duetime doctor`, and of what needs attention
    test_column, test_frozen               compressed columns, fast dataclasses
"""
