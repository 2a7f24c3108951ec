{{job_record}} ->> '$.paused_until'
