(
    SELECT
        value ->> 'id' AS ending_id,
        value ->> 'token' AS ending_token,
        value ->> 'state' AS ending_state,
        value ->> 'outcome' AS ending_outcome,
        value ->> 'result' AS ending_result,
        value ->> 'error' AS ending_error,
        value ->> 'started_at' AS ending_started_at,
        value ->> 'cancelled_by' AS ending_cancelled_by,
        coalesce(value ->> 'lost', 0) AS ending_lost,
        value ->> 'lane' AS ending_lane,
        value ->> 'delay' AS ending_delay,
        coalesce(value ->> 'refund', 0) AS ending_refund
    FROM json_each(:rows)
) AS e
