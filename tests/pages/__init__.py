"""Tests of the pages for people.

Helpers:
    browser          a browser without scripts: reads pages, fills in forms, keeps cookies
    readers          readers who are signed in, with just some permissions
    notified         notifications, gathered at once; links of messages
    places           apps with pages, and keys and links to sign in with

    test_sign_in         signing in and out, by key and by link, and what ends a session
    test_sessions        cookies: their attributes, and where they count
    test_forms           forms of other sites, and what a form may hold
    test_next            where a reader is sent on to
    test_gate            who may read which page, and what the build refuses
    test_languages       English and French, and whose choice counts
    test_catalogue       every text is there in each language, and used
    test_headers         what every answer tells browsers
    test_static          the files that pages load
    test_outages         pages while the store is away
    test_hosts           pages inside of other applications, and behind proxies
    test_frame           what all pages share: places, choices, notices, the band
    test_live            the live parts of pages, and the snapshots that they show
    test_now_page        the start page: figures, problems, and the acts that solve them
    test_timeline_page   past and future on one axis, and zooming without scripts
    test_workers_page    who is alive, and who has stopped reporting
    test_alerts_page     problems of now, and notifications with the marks of their reader
    test_subscriptions_page  who hears of what: made, changed, muted, tried, removed
    test_message_links   confirming an address and unsubscribing, by the link of a message
    test_unread          the number in the navigation, and how rarely it is counted
    test_jobs_page       jobs: filtered, sorted, turned, several paused or resumed at once
    test_job_page        one job: its rule, runs and error, and the acts on it
    test_queues_page     queues: read, paused, resumed
    test_transitions_page    row transitions: backlog, last report, parked rows, sweeps
    test_audit_page      the audit log: its filter, its pages, before and after, its export
    test_schedule_page   the form that schedules an action of a kind, or repeats one
    test_payload_form    forms for payload types: their fields, and what is typed into them
    test_settings_page   the reader; API keys and grants, for administrators
"""
