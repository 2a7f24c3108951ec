(
    SELECT
        value ->> 'settled_id' AS settled_id,
        value ->> 'settled_after' AS settled_after,
        value ->> 'settled_on' AS settled_on,
        value ->> 'settled_due_at' AS settled_due_at,
        value ->> 'settled_lane' AS settled_lane,
        value ->> 'settled_error' AS settled_error,
        value ->> 'settled_trace' AS settled_trace
    FROM json_each(:rows)
) AS s
