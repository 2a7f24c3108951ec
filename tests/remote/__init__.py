"""Tests of apps that are connected to a server.

Helpers:
    serving          serves an app on a free port, and servers that answer as they like
    scenario         calls of every verb that HTTP carries, to be made in several ways
    conftest         an app, its server, and an app that is connected to it

    test_carried     every verb and member is carried, refused, or needs no server
    test_parity      the scenario gives the same where the store is and over HTTP
    test_journeys    what users do, on every store
    test_repeating   lost replies, servers that are away, limits
    test_refusals    errors of servers, and answers of strangers
    test_tokens      where tokens go, and where they do not
    test_payloads    payloads of known and unknown kinds
"""
