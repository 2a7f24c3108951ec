"""What operators watch: counters and histograms through the OpenTelemetry API."""
