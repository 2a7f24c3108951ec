coalesce({{job_record}} ->> '$.consecutive_failures', 0)
