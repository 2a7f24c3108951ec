-- The newest :most matches among the first :window unfinished actions in the order of ids,
-- counted by a value, with the newest id of each and when its oldest was created; and a row without
-- value: how many were examined, how many of them match, and when the oldest was created.
-- Indexes: as find_unfinished_ids.
WITH examined AS MATERIALIZED (
    SELECT
        a.id,
        a.created_at,
        a.kind AS value, -- if :by_kind
        a.queue AS value, -- if :by_queue
        CASE WHEN a.token IS NULL THEN 'scheduled' ELSE 'running' END AS value, -- if :by_state
        row_number() OVER () AS place,
        CASE
            WHEN
                true
                {{action_matches}}
                THEN 1
            ELSE 0
        END AS fits
    FROM ({{actions_window}}) AS a
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
