json_to_recordset(:rows) AS n (
    id uuid, kind text, version integer, payload text, queue text, priority smallint, tenant text,
    lane text, due_at bigint, delay bigint, created_by text, after uuid, after_on text,
    after_at bigint, after_delay bigint, job_name text, job_tick bigint, triggered_by text,
    skipped text
)
