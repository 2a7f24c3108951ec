unnest(
    :rows_id, :rows_kind, :rows_version, :rows_payload, :rows_queue, :rows_priority,
    :rows_tenant, :rows_correlation_id, :rows_key, :rows_lane, :rows_due_at, :rows_delay,
    :rows_created_by, :rows_after, :rows_after_on, :rows_after_at, :rows_after_delay
) WITH ORDINALITY AS n (
    id, kind, version, payload, queue, priority, tenant, correlation_id, key, lane, due_at, delay,
    created_by, after, after_on, after_at, after_delay, position
)
