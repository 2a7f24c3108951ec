-- The ids of finished actions whose data is to be erased, newest first, locked until commit; skips
-- rows that other transactions have locked.
-- Indexes: as find_finished, runs_action, primary key of tracebacks.
SELECT CAST(h.id AS text)
FROM duetime_history AS h
WHERE
    h.id IS NOT NULL
    {{history_matches}}
    {{not_wiped}}
    AND h.id < :before -- if :before
ORDER BY h.id DESC
LIMIT :limit
{{skip_locked_finished}}
