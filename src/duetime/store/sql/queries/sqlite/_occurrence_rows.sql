(
    SELECT
        :rows_id AS id,
        :rows_kind AS kind,
        :rows_version AS version,
        :rows_payload AS payload,
        :rows_queue AS queue,
        :rows_priority AS priority,
        :rows_tenant AS tenant,
        :rows_lane AS lane,
        :rows_due_at AS due_at,
        :rows_delay AS delay,
        :rows_created_by AS created_by,
        :rows_trace AS trace, -- if :traced
        :rows_after AS after,
        :rows_after_on AS after_on,
        :rows_after_at AS after_at,
        :rows_after_delay AS after_delay,
        :rows_job_name AS job_name,
        :rows_job_tick AS job_tick,
        :rows_triggered_by AS triggered_by,
        :rows_skipped AS skipped
    FROM json_each(:rows)
) AS n
