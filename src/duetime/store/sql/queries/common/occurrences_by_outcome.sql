-- The newest finished occurrences of a job that ended so, among the newest :examined of them.
-- Index: history_occurrences.
SELECT {{history_columns}}
FROM (
    SELECT n.*
    FROM duetime_history AS n
    WHERE
        n.job = :job_name
        AND (n.created_at, n.id) < (:follows_at, :follows_id) -- if :follows_at
    ORDER BY n.created_at DESC, n.id DESC
    LIMIT :examined
) AS h
WHERE
    h.outcome = :outcome
    OR (h.outcome IS NULL AND h.state = 'cancelled') -- if :cancelled
ORDER BY h.created_at DESC, h.id DESC
LIMIT :limit
