(
    SELECT
        value ->> 'minute' AS minute,
        value ->> 'queue' AS queue,
        value ->> 'kind' AS kind,
        value ->> 'tenant' AS tenant,
        value ->> 'outcome' AS outcome,
        value ->> 'lateness' AS lateness,
        value ->> 'duration' AS duration,
        value ->> 'runs' AS runs
    FROM json_each(:rows)
) AS n
