(
    SELECT
        x.id AS ending_id, x.token AS ending_token, x.state AS ending_state,
        x.outcome AS ending_outcome, x.result AS ending_result, x.error AS ending_error,
        x.started_at AS ending_started_at, x.cancelled_by AS ending_cancelled_by,
        coalesce(x.lost, 0) AS ending_lost, x.lane AS ending_lane, x.delay AS ending_delay,
        coalesce(x.refund, 0) AS ending_refund
    FROM json_to_recordset(:rows) AS x (
        id uuid, token uuid, state text, outcome text, result text, error text,
        started_at bigint, cancelled_by text, lost smallint, lane text, delay bigint,
        refund integer
    )
) AS e
