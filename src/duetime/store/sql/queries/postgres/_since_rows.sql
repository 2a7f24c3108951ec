json_to_recordset(:rows) AS r (lane text, since bigint)
