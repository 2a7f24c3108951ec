({{job_record}} ->> '$.definition.queue')
