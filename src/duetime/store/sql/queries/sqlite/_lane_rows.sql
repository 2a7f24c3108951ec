(
    SELECT value ->> 'action_id' AS action_id, value ->> 'new_lane' AS new_lane
    FROM json_each(:rows)
) AS r
