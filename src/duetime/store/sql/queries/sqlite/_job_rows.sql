(
    SELECT
        value ->> 'job_name' AS job_name,
        value ->> 'app' AS app,
        value ->> 'tenant' AS tenant,
        value ->> 'declared' AS declared,
        value ->> 'next_due_at' AS next_due_at,
        value ->> 'retired_at' AS retired_at,
        value ->> 'removed_at' AS removed_at,
        value ->> 'record' AS record
    FROM json_each(:rows)
) AS n
