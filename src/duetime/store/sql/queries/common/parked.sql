-- Actions in a parking lane, held until we commit. Index: actions_due.
SELECT CAST(a.id AS text), a.queue, a.priority, a.tenant, a.losses
FROM duetime_actions AS a
WHERE a.lane = :lane AND a.token IS NULL
ORDER BY a.due_at
LIMIT :limit
{{skip_locked}}
