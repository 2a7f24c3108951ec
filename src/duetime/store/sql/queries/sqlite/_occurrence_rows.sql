(
    SELECT
        value ->> 'id' AS id,
        value ->> 'kind' AS kind,
        value ->> 'version' AS version,
        value ->> 'payload' AS payload,
        value ->> 'queue' AS queue,
        value ->> 'priority' AS priority,
        value ->> 'tenant' AS tenant,
        value ->> 'lane' AS lane,
        value ->> 'due_at' AS due_at,
        value ->> 'delay' AS delay,
        value ->> 'created_by' AS created_by,
        value ->> 'after' AS after,
        value ->> 'after_on' AS after_on,
        value ->> 'after_at' AS after_at,
        value ->> 'after_delay' AS after_delay,
        value ->> 'job_name' AS job_name,
        value ->> 'job_tick' AS job_tick,
        value ->> 'triggered_by' AS triggered_by,
        value ->> 'skipped' AS skipped
    FROM json_each(:rows)
) AS n
