json_to_recordset(:rows) AS n (
    job_name text, app text, tenant text, declared smallint, next_due_at bigint, retired_at bigint,
    removed_at bigint, record text
)
