(
    SELECT
        :each_id AS ending_id, :each_token AS ending_token, :each_state AS ending_state,
        :each_outcome AS ending_outcome, :each_result AS ending_result,
        :each_error AS ending_error, :each_error_group AS ending_error_group,
        :each_started_at AS ending_started_at,
        :each_cancelled_by AS ending_cancelled_by, coalesce(:each_lost, 0) AS ending_lost,
        :each_lane AS ending_lane, :each_delay AS ending_delay,
        coalesce(:each_refund, 0) AS ending_refund
    FROM unnest(:arrays) AS n (:columns)
) AS e
