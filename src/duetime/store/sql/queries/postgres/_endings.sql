json_to_recordset(:rows) AS e (
    ending_id uuid, ending_token uuid, ending_state text, ending_outcome text,
    ending_result text, ending_error text, ending_started_at bigint,
    ending_cancelled_by text, ending_lost smallint, ending_lane text, ending_delay bigint,
    ending_refund integer
)
