"""Tests of the HTTP API.

Helpers:
    client           a client of an app's API, who names the sender of each request

    test_refusals    who is refused, and in which order; what the build refuses
    test_problems    problem documents, for every error
    test_bodies      what requests may hold
    test_actions_api, test_jobs_api, test_audit_api, test_health_api, test_transitions_api
                     the routes, by noun
"""
