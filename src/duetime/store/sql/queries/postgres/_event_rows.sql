json_to_recordset(:rows) AS n (
    id uuid, topic text, tenant text, subject text, data text, ended smallint
)
