(
    SELECT
        :rows_id AS ending_id,
        :rows_token AS ending_token,
        :rows_state AS ending_state,
        :rows_outcome AS ending_outcome,
        :rows_result AS ending_result,
        :rows_error AS ending_error,
        :rows_error_group AS ending_error_group,
        :rows_started_at AS ending_started_at,
        :rows_cancelled_by AS ending_cancelled_by,
        coalesce(:rows_lost, 0) AS ending_lost,
        :rows_lane AS ending_lane,
        :rows_delay AS ending_delay,
        coalesce(:rows_refund, 0) AS ending_refund
    FROM json_each(:rows)
) AS e
