json_to_recordset(:rows) AS n (
    minute bigint, queue text, kind text, tenant text, outcome text, lateness bigint,
    duration bigint, runs bigint
)
