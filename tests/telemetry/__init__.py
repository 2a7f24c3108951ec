"""Metrics, spans and logs, read through the OpenTelemetry SDK.

conftest, exporters   the SDK with exporters in memory, as long as these tests run
test_spans            spans, their parents and links, on every store
test_ways_to_schedule every way to schedule stores the trace
test_tracing          traces across processes, transactions and requests
test_metrics          names, units, boundaries, attributes, gauges
test_trace_text       what is stored of a trace
test_chains           links of children and of durable subscribers
test_gauge_reader     which worker reads the figures of the store, and how often
test_no_lies          lost leases, killed workers, rolled back transactions
test_prometheus       the text for Prometheus, and who serves it
test_documented       the page against the code, the dashboard and the alerts
"""
