"""Tests of the HTTP API, and of what pages are made of.

Helpers:
    client           a client of an app's API, who names the sender of each request
    cases            a valid request to every route, about the rows of a tenant
    permission_table what each route needs, written by hand
    fuzzing          requests that Schemathesis makes up from the OpenAPI document
    breaking         what of a change to an OpenAPI document breaks clients

    test_refusals    who is refused, and in which order; what the build refuses
    test_permission_matrix   every route, for everybody, about everybody's rows
    test_foreign_ids what another tenant has is as if it never was
    test_problems    problem documents, for every error
    test_bodies      what requests may hold
    test_bad_input   what requests should not hold, sent to every route
    test_fuzzing     made-up requests
    test_acts        the audit entries of every act
    test_killed_acts the same, while the process is killed amid an act
    killed_acts      a process that sends acts, killed at every statement
    test_mounting    the API inside of other applications, and behind proxies
    test_openapi     the OpenAPI document
    test_generated_client, test_versions   other people's clients, and older packages
    chart_samples    samples of every chart; writes the golden files, or a page to look at
    svg_checks       reads a chart as XML
    test_cors        pages of other origins
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
