(
    SELECT value ->> 'lane' AS lane, value ->> 'since' AS since
    FROM json_each(:rows)
) AS r
