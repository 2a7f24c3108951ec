(
    SELECT
        value ->> 'id' AS id,
        value ->> 'topic' AS topic,
        value ->> 'tenant' AS tenant,
        value ->> 'subject' AS subject,
        value ->> 'data' AS data,
        value ->> 'ended' AS ended
    FROM json_each(:rows)
) AS n
