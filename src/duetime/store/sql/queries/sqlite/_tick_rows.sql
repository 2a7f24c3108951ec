(
    SELECT value ->> 'job_name' AS job_name, value ->> 'job_tick' AS job_tick
    FROM json_each(:rows)
) AS n
