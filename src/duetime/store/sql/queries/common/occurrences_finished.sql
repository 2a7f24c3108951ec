-- The newest finished occurrences of a job. Index: history_occurrences.
SELECT {{history_columns}}
FROM duetime_history AS h
WHERE
    h.job = :job_name
    AND (h.created_at, h.id) < (:follows_at, :follows_id) -- if :follows_at
ORDER BY h.created_at DESC, h.id DESC
LIMIT :limit
