(
    SELECT
        value ->> 'action_id' AS action_id,
        value ->> 'run_id' AS run_id,
        value ->> 'traceback' AS traceback
    FROM json_each(:rows)
) AS n
