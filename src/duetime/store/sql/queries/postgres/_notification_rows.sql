json_to_recordset(:rows) AS n (
    id uuid, subscription_id uuid, minute bigint, part smallint, tenant text, everywhere smallint,
    in_app smallint, due_at bigint, record text
)
