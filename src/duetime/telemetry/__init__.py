"""Metrics and spans through the OpenTelemetry API."""
