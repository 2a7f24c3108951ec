-- Finished actions in the order in which they finished: the first of each state, or of a group, as
-- many as make :window together; those that match, and the last one of each.
-- Index: history_state, history_error_group.
WITH ranges AS (
    SELECT s.value AS name FROM ({{range_states}}) AS s -- unless :by_group
    SELECT 'failed' AS name -- if :by_group
),
share AS MATERIALIZED (
    SELECT greatest(:window / greatest(count(*), 1), 2) AS size FROM ranges
)
SELECT CAST(x.id AS text), x.fits, CASE WHEN x.place = share.size THEN 1 ELSE 0 END, x.sorted_by
FROM ranges AS r
CROSS JOIN share
CROSS JOIN LATERAL (
    SELECT
        h.id,
        h.finished_at AS sorted_by,
        row_number() OVER () AS place,
        CASE
            WHEN
                true
                {{history_matches}}
                THEN 1
            ELSE 0
        END AS fits
    FROM (
        SELECT b.*
        FROM duetime_history AS b
        WHERE
            b.state = r.name -- unless :by_group
            b.error_group = :error_group AND r.name = 'failed' -- if :by_group
            AND b.finished_at >= :instant_from -- if :instant_from
            AND b.finished_at <= :instant_to -- if :instant_to
        ORDER BY b.finished_at DESC -- if :time_down
        ORDER BY b.finished_at -- unless :time_down
        LIMIT (SELECT s.size FROM share AS s)
    ) AS h
) AS x
WHERE x.fits = 1 OR x.place = share.size
