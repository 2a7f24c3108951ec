(
    SELECT
        x.id AS ending_id, x.token AS ending_token,
        coalesce(x.state, :all_state) AS ending_state,
        coalesce(x.outcome, :all_outcome) AS ending_outcome,
        x.result AS ending_result, x.error AS ending_error,
        x.started_at AS ending_started_at, x.cancelled_by AS ending_cancelled_by,
        coalesce(x.lost, 0) AS ending_lost, x.lane AS ending_lane, x.delay AS ending_delay,
        coalesce(x.refund, 0) AS ending_refund
    FROM unnest(
        :rows_id, :rows_token, :rows_state, :rows_outcome, :rows_result, :rows_error,
        :rows_started_at, :rows_cancelled_by, :rows_lost, :rows_lane, :rows_delay, :rows_refund
    ) AS x (
        id, token, state, outcome, result, error, started_at, cancelled_by, lost, lane, delay,
        refund
    )
) AS e
