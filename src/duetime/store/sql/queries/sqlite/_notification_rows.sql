(
    SELECT
        value ->> 'id' AS id,
        value ->> 'subscription_id' AS subscription_id,
        value ->> 'minute' AS minute,
        value ->> 'part' AS part,
        value ->> 'tenant' AS tenant,
        value ->> 'everywhere' AS everywhere,
        value ->> 'in_app' AS in_app,
        value ->> 'due_at' AS due_at,
        value ->> 'record' AS record
    FROM json_each(:rows)
) AS n
