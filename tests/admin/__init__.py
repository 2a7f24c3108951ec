"""Tests of the HTTP API, and of what pages are made of.

Helpers:
    client           a client of an app's API, who names the sender of each request
    chart_samples    samples of every chart; writes the golden files, or a page to look at
    svg_checks       reads a chart as XML

    test_refusals    who is refused, and in which order; what the build refuses
    test_cors        pages of other origins
    test_problems    problem documents, for every error
    test_bodies      what requests may hold
    test_charts      charts against their golden files, and for any values
    test_chart_styles   their colours, in both themes
    test_formats     numbers, durations and instants, in each language
    test_json_text   JSON as text to read
    test_actions_api, test_bulks_api, test_jobs_api, test_queues_api, test_health_api,
    test_transitions_api, test_series_api, test_access_api
                     the routes, by noun
    test_exports     how many exports may run at once
    test_idempotency, test_preconditions
                     acts that are done once, or only to what their sender has read
"""
