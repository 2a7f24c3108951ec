"""Recurrences: cron rules, intervals and lists of instants, in time zones."""
