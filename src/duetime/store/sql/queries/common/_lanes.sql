-- The lanes of all actions, each found from the one before.
lanes AS (
    SELECT min(a.lane) AS lane FROM duetime_actions AS a
    UNION ALL
    SELECT (SELECT min(a.lane) FROM duetime_actions AS a WHERE a.lane > l.lane)
    FROM lanes AS l
    WHERE l.lane IS NOT NULL
)
