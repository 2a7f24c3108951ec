unnest(
    :rows_id, :rows_kind, :rows_version, :rows_payload, :rows_queue, :rows_priority,
    :rows_tenant, :rows_lane, :rows_due_at, :rows_delay, :rows_created_by, :rows_after,
    :rows_after_on, :rows_after_at, :rows_after_delay, :rows_job_name, :rows_job_tick,
    :rows_triggered_by, :rows_skipped
) AS n (
    id, kind, version, payload, queue, priority, tenant, lane, due_at, delay, created_by, after,
    after_on, after_at, after_delay, job_name, job_tick, triggered_by, skipped
)
