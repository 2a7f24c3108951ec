(
    SELECT value ->> 'action_id' AS action_id, value ->> 'new_due_at' AS new_due_at
    FROM json_each(:rows)
) AS r
