json_to_recordset(:rows) AS n (job_name text, job_tick bigint)
