"""Payloads: kinds and their types, the JSON codec, and the errors of both."""
