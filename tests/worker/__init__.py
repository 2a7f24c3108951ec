"""Tests of the worker and its services.

    conftest                               fixtures for apps on every store

Claiming and starting:
    test_claimer, test_slots, test_fairness, test_look_ahead, test_suspects
    test_precise_timer, test_store_clock   times of starts
    test_expiry                            actions that expire before they start

Running handlers:
    test_handlers, test_injection, test_fastapi   handlers and their dependencies
    test_middleware                        middleware around them
    test_timeouts, test_retries, test_loop_monitor   timeouts, retries, blocked event loops

Storing and settling:
    test_completer, test_child_settler, test_job_completions
    test_rescue                            leases

Jobs:
    test_ticker, test_declarations, test_locked_jobs, test_job_processes

The worker as a whole:
    test_lifecycle, test_processes, test_housekeeping, test_gc_tuning, test_telemetry
"""
