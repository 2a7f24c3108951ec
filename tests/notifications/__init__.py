"""Tests of messages: how they are written, and what carries them.

Helpers:
    message_samples   subscriptions, notifications and messages; writes the golden files
    mail_server       a mail server that does what a test wants
    golden            every message in English and French

test_rendering     messages against their golden files, and what no value can do to them
test_templates     templates of users: over ours, in other languages, wrong ones
test_email         e-mails, to servers that take them, refuse, are slow, hang up
test_webhook       webhooks, to receivers that verify, redirect, are slow, busy, gone
test_targets       which addresses a webhook may reach
test_links         tokens of links, genuine and forged
test_notification_settings   by what an app notifies: arguments and settings
test_translate     translations of messages: what is written, kept and named
"""
