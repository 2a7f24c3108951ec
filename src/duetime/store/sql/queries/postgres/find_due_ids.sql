-- Unfinished actions in the order of their due times: the first of each lane, as
-- many as make :window together; those that match, and the last one of each.
-- Index: actions_due.
WITH RECURSIVE {{lanes}},
ranges AS (
    SELECT l.lane AS name FROM lanes AS l WHERE l.lane IS NOT NULL
),
share AS MATERIALIZED (
    SELECT greatest(:window / greatest(count(*), 1), 2) AS size FROM ranges
)
SELECT CAST(x.id AS text), x.fits, CASE WHEN x.place = share.size THEN 1 ELSE 0 END, x.sorted_by
FROM ranges AS r
CROSS JOIN share
CROSS JOIN LATERAL (
    SELECT
        a.id,
        a.due_at AS sorted_by,
        row_number() OVER () AS place,
        CASE
            WHEN
                true
                {{action_matches}}
                THEN 1
            ELSE 0
        END AS fits
    FROM (
        SELECT b.*
        FROM duetime_actions AS b
        WHERE
            b.lane = r.name
            AND b.due_at >= :instant_from -- if :instant_from
            AND b.due_at <= :instant_to -- if :instant_to
        ORDER BY b.due_at DESC -- if :time_down
        ORDER BY b.due_at -- unless :time_down
        LIMIT (SELECT s.size FROM share AS s)
    ) AS a
) AS x
WHERE x.fits = 1 OR x.place = share.size
