json_to_recordset(:rows) AS n (
    position integer, id uuid, kind text, version integer, payload text, queue text,
    priority smallint, tenant text, correlation_id text, key text, lane text,
    due_at bigint, delay bigint, created_by text, after uuid, after_on text, after_at bigint,
    after_delay bigint
)
