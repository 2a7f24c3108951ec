json_to_recordset(:rows) AS n (
    id uuid, tenant text, subject_id text, before text, after text
)
