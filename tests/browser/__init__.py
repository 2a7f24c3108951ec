"""Tests of the dashboard in a real browser: Debian's Chromium, driven by Playwright.

`make browser` runs them; `make browser ONLY=main` runs the main journeys, on SQLite alone, in less
than a minute.

Helpers:
    chromium     the browser, and tabs that fail a test whose page breaks a rule or logs an error
    shop         an app with something on every page, and its server
    screenshots  takes the pictures of the documentation, `make screenshots`
    page_paths   the paths of all pages, from the tables of the pages

    test_every_page      rules of every page: policy, accessibility, width, titles, no scripts
    test_signing_in      by key and by link, and signing out
    test_keyboard        shortcuts
    test_live_updates    focus, selection and scroll survive what is new
    test_polling         a page that is open for hours becomes no heavier
    test_layout          nothing jumps while a page loads, or when its numbers change
    test_timeline        zoom by dragging and by keys; what is merged is listed on focus
    test_stopping        open tabs do not keep a server from stopping
    test_hostile_texts   texts that try to be scripts stay texts
    test_long_texts      long names and notes widen no page
    test_hostile_sizes   ten thousand attempts, a payload of a megabyte, right-to-left names
    test_journeys        what operators come for, from end to end
    test_job_journeys    the same with jobs: many paused, a rule edited, runs of the past
    test_alert_journeys  subscribing, reading what has failed, muting, unsubscribing by a link
    test_other_journeys  the same with rights, the audit log and rows of transitions
    test_french_journey  the same in French
"""
