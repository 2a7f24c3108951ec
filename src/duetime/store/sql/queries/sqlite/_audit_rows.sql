(
    SELECT
        value ->> 'id' AS id,
        value ->> 'tenant' AS tenant,
        value ->> 'subject_id' AS subject_id,
        value ->> 'before' AS before,
        value ->> 'after' AS after
    FROM json_each(:rows)
) AS n
