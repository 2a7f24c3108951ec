({{job_record}} ->> '$.paused_at' IS NOT NULL AND coalesce({{job_paused_until}} > :now, true))
