-- Whether an earlier run belongs to an action. Index: primary key of runs.
SELECT 1
FROM duetime_runs AS r
WHERE r.id = :before AND r.action_id = :id
