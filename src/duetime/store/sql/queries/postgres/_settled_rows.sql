json_to_recordset(:rows) AS s (
    settled_id uuid, settled_after uuid, settled_on text, settled_due_at bigint,
    settled_lane text, settled_error text, settled_trace text
)
