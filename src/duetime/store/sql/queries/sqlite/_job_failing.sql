({{job_record}} ->> '$.failing_since' IS NOT NULL)
