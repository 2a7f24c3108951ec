json_to_recordset(:rows) AS r (action_id uuid, new_due_at bigint)
