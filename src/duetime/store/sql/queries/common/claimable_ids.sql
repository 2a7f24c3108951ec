-- The ids of what a claim of a span would take, by due time. Index: actions_due.
SELECT CAST(a.id AS text)
FROM duetime_actions AS a
WHERE
    a.lane = :lane AND a.due_at >= :since AND a.due_at <= :now + :ahead
    AND a.token IS NULL
ORDER BY a.due_at
LIMIT :limit
