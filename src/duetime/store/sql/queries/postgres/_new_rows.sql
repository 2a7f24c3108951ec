(
    SELECT
        x.position, x.id, x.payload, x.correlation_id, x.key, x.after, x.after_on,
        x.after_at, x.after_delay, coalesce(x.kind, :all_kind) AS kind,
        coalesce(x.version, :all_version) AS version, coalesce(x.queue, :all_queue) AS queue,
        coalesce(x.priority, :all_priority) AS priority,
        coalesce(x.tenant, :all_tenant) AS tenant, coalesce(x.lane, :all_lane) AS lane,
        coalesce(x.due_at, :all_due_at) AS due_at, coalesce(x.delay, :all_delay) AS delay,
        coalesce(x.created_by, :all_created_by) AS created_by
    FROM unnest(
        :rows_id, :rows_kind, :rows_version, :rows_payload, :rows_queue, :rows_priority,
        :rows_tenant, :rows_correlation_id, :rows_key, :rows_lane, :rows_due_at, :rows_delay,
        :rows_created_by, :rows_after, :rows_after_on, :rows_after_at, :rows_after_delay
    ) WITH ORDINALITY AS x (
        id, kind, version, payload, queue, priority, tenant, correlation_id, key, lane, due_at,
        delay, created_by, after, after_on, after_at, after_delay, position
    )
) AS n
