(
    SELECT
        value ->> 'ending_id' AS ending_id,
        value ->> 'ending_token' AS ending_token,
        value ->> 'ending_state' AS ending_state,
        value ->> 'ending_outcome' AS ending_outcome,
        value ->> 'ending_result' AS ending_result,
        value ->> 'ending_error' AS ending_error,
        value ->> 'ending_started_at' AS ending_started_at,
        value ->> 'ending_cancelled_by' AS ending_cancelled_by,
        value ->> 'ending_lost' AS ending_lost,
        value ->> 'ending_lane' AS ending_lane,
        value ->> 'ending_delay' AS ending_delay,
        value ->> 'ending_refund' AS ending_refund
    FROM json_each(:rows)
) AS e
