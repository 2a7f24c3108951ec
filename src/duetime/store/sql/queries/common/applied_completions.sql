-- Completions that took effect earlier. Indexes: primary keys of history and runs.
SELECT CAST(h.id AS text)
FROM {{completion_rows}}
INNER JOIN duetime_history AS h ON h.id = e.ending_id
WHERE h.token = e.ending_token AND h.outcome = e.ending_outcome
UNION ALL
SELECT CAST(r.action_id AS text)
FROM {{completion_rows}}
INNER JOIN duetime_runs AS r ON r.id = e.ending_token
WHERE r.action_id = e.ending_id AND r.outcome = e.ending_outcome
