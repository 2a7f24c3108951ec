({{job_record}} ->> '$.definition.kind')
