"""Tests of the app's public API, mostly on every store.

Helpers:
    apps             fixtures for apps on every store, payload types, a log of handlers
    chain_handlers   handlers for tests of chains
    hourly_job       a job that ticks every hour, with a fake clock
    log_lines        waits for a line of the worker's log

Actions:
    test_scheduling*, test_keys, test_reading, test_changing, test_stats   the verbs
    test_chaining*                       parents and children
    test_untyped_payloads                fields typed Any or object
    test_expiring                        actions that must not start after an instant
    test_kinds                           aliases, versions and unknown kinds
    test_audit                           the audit log
    test_tenants                         tenants and actors
    test_bad_*                           what is refused, and that nothing is written then

Jobs:
    test_jobs*                           declaring, ticking, operators' verbs, events, overlap

The rest of the API:
    test_events, test_event_filters      subscribers of a process, and which events they want
    test_durable                         durable subscribers
    test_settings, test_discovering      settings; `app.discover`
    test_routers                         declarations without an app
    test_sync                            blocking verbs
    test_importing, test_testing_kit     imports; `app.testing`
"""
