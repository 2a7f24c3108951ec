-- The newest :most matches among the first :window finished actions in the order of ids,
-- counted by a value, with the newest id of each and when its oldest was created; and a row without
-- value: how many were examined, how many of them match, and when the oldest was created.
-- Indexes: as find_finished_ids.
WITH examined AS MATERIALIZED (
    SELECT
        h.id,
        h.created_at,
        h.error_group AS value, -- if :by_error
        h.kind AS value, -- if :by_kind
        h.queue AS value, -- if :by_queue
        h.state AS value, -- if :by_state
        row_number() OVER () AS place,
        CASE
            WHEN
                true
                AND h.error_group IS NOT NULL -- if :by_error
                {{history_matches}}
                THEN 1
            ELSE 0
        END AS fits
    FROM ({{history_window}}) AS h
),
matched AS MATERIALIZED (
    SELECT x.id, x.value, x.place, x.created_at
    FROM examined AS x
    WHERE x.fits = 1
    ORDER BY x.place
    LIMIT :most
)
SELECT m.value, count(*), max(CAST(m.id AS text)), min(m.created_at)
FROM matched AS m
GROUP BY m.value
UNION ALL
SELECT NULL, count(*), CAST(coalesce(sum(x.fits), 0) AS text), min(x.created_at)
FROM examined AS x
